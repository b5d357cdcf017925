"""Texts of the screen of runs: a line per run, the tree of steps, the gate, artifacts and findings."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.ports.workflows import ArtifactRow, EventRow, FindingRow
    from sam_tui.core.workflow.views import ExecutionView, StepView

_STATES = {
    "idle": ("○", "$text-muted"),
    "running": ("◐", "bold $accent"),
    "paused": ("‖", "$warning"),
    "completed": ("✓", "$success"),
    "failed": ("✗", "$error"),
    "abandoned": ("–", "$text-muted"),
    "diverged": ("↯", "$error"),
}
_STEPS = {
    "pending": ("○", "$foreground"),
    "running": ("◐", "bold $accent"),
    "completed": ("✓", "$text-muted"),
    "failed": ("✗", "$error"),
    "skipped": ("–", "$text-disabled"),
}
_GRAVE = frozenset({"high", "critical"})


def tools_words(tools: Sequence[str] | None) -> str:
    """An allow-list in words."""
    return "any tool" if tools is None else ", ".join(tools) or "no tool"


def gate_words(workflow: str, steps: "Sequence[StepView]") -> str:
    """The open steps and what each allows, for one line; empty when nothing is open."""
    open_ = [step for step in steps if step.status == "running"]
    if not open_:
        return ""
    more = f" (+{len(open_) - 1})" if len(open_) > 1 else ""
    return f"{workflow}/{open_[0].id}{more}: {tools_words(open_[0].tools)}"


def run_line(view: "ExecutionView") -> Content:
    """A run in the list."""
    glyph, style = _STATES[view.state]
    asks = ("  asks you", "$warning") if view.question is not None else ""
    return Content.assemble(
        (f"{glyph} ", style),
        (one_line(view.workflow, 24), style),
        (f"  {view.progress}  {view.state}", "$text-muted"),
        asks,
    )


def head_lines(view: "ExecutionView", steps: "Sequence[StepView]") -> Content:
    """The state of a run: its inputs, gate, budgets, and the question that it asks."""
    _, style = _STATES[view.state]
    lines = [
        Content.assemble(
            (f"{view.state} ", style),
            (f"{view.progress} steps · {one_line(view.id, 40)}", "$text-muted"),
        )
    ]
    if view.params_json != "{}":
        lines.append(Content(_words(view.params_json)).stylize("$text-muted"))
    if view.reason:
        lines.append(Content(one_line(view.reason)).stylize("$warning"))
    for step in steps:
        if step.status == "running":
            tools = one_line(tools_words(step.tools), 120)
            lines.append(Content.assemble("gate  ", (step.id, "bold"), (f": {tools}", "$primary")))
    left = f"{view.rollbacks_left} rollbacks and {view.replans_left} new plans left"
    lines.append(Content(f"{left} · effectiveness {view.effectiveness:.1f}").stylize("$text-muted"))
    if view.question is not None:
        lines.append(Content(f"It asks: {one_line(view.question.prompt)}").stylize("$warning"))
        choices = ", ".join(view.question.choices)
        lines.append(Content(f"r answers it, with one of: {one_line(choices)}"))
    return Content("\n").join(lines)


def step_lines(steps: "Sequence[StepView]") -> Content:
    """The tree: every step with its state, the steps of a plan and the items of a list below it."""
    lines: list[Content] = []
    for step in steps:
        glyph, style = _STEPS[step.status]
        about = [step.kind]
        about += [f"by {one_line(step.persona, 24)}"] if step.persona else []
        about += [f"after {', '.join(step.needs)}"] if step.needs else []
        about += [f"attempt {step.attempts}"] if step.attempts > 1 else []
        indent = "    " if step.parent else ""
        lines.append(
            Content.assemble(
                (f"{indent}{glyph} {one_line(step.id, 40)}", style),
                (f"  {' · '.join(about)}", "$text-muted"),
            )
        )
        if step.parent and step.description:
            lines.append(
                Content(f"{indent}    {one_line(step.description)}").stylize("$text-muted")
            )
        if step.error:
            lines.append(Content(f"{indent}    {one_line(step.error)}").stylize("$error"))
        for task in step.tasks:
            mark, tone = _STEPS[task.status]
            lines.append(Content.assemble((f"{indent}    {mark} {one_line(task.title)}", tone)))
    return Content("\n").join(lines)


def artifact_line(row: "ArtifactRow") -> Content:
    """The line of an artifact in the list of stored content."""
    about = f"  {one_line(row.step, 24)} · {row.type} · {row.size:,} bytes"
    return Content.assemble("▤ ", one_line(row.name, 60), (about, "$text-muted"))


def finding_line(row: "FindingRow") -> Content:
    """The line of a finding in the list of stored content."""
    style = "$error" if row.severity in _GRAVE else "$warning"
    return Content.assemble(
        ("! ", style), one_line(row.title, 60), (f"  {row.severity} · {row.review}", "$text-muted")
    )


def event_lines(events: "Sequence[EventRow]") -> Content:
    """The events of a run, oldest first."""
    lines = [
        Content.assemble(
            (f"{datetime.fromtimestamp(event.at):%H:%M:%S} ", "$text-disabled"),
            event.type,
            (f" {one_line(event.step, 30)}", "$accent"),
            (f"  {_words(event.data_json)}", "$text-muted"),
        )
        for event in events
    ]
    return Content("\n").join(lines)


def _words(data: str) -> str:
    fields: dict[str, object] = json.loads(data)
    words = (f"{name} {value}" for name, value in fields.items() if value not in (None, ""))
    return one_line("  ".join(words), 80)
