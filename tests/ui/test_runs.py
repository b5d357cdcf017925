"""The screen of runs: begin, watch, read, pause, resume, retry, abandon; the phase in the status."""

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.app import App
from textual.widgets import Input, OptionList, TextArea

from sam_tui.adapters.fleet.steps import StepQueues
from sam_tui.assembly import Options, build
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import ExecutionView
from sam_tui.ui.screens.dialogs import Picker
from sam_tui.ui.screens.forms import ParamForm
from sam_tui.ui.screens.reader import Reader
from sam_tui.ui.screens.runs import RunsScreen
from sam_tui.ui.widgets.inquiries.question import InquiryPanel
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.workflow.test_bundled import thought

FLOW = """---
name: colours
description: Looks at colours.
params: {room: {required: true, description: which room}}
steps:
  - {id: look, prompt: "Look at @{params.room}", tools: [read]}
  - {id: agree, kind: human, prompt: "Which colour?", needs: [look]}
  - {id: paint, prompt: "Paint", needs: [agree], tools: [edit]}
---
Body.
"""


class Bench:
    """A driver on the screen of runs."""

    def __init__(self, me: Driver, stage: Stage) -> None:
        self.me = me
        self.stage = stage

    @property
    def workflows(self) -> Workflows:
        """The service that the screen looks at."""
        return self.stage.runtime.workflows.workflows()

    @property
    def view(self) -> ExecutionView:
        """The newest run."""
        return self.workflows.records.executions(limit=1)[0]

    @property
    def screen(self) -> RunsScreen:
        """The screen of runs, which is on top."""
        assert isinstance(self.me.app.screen, RunsScreen)
        return self.me.app.screen

    def text(self, selector: str) -> str:
        """What a part of the screen says."""
        return str(self.screen.query_one(selector).render())

    async def until(self, state: str) -> None:
        """Wait until the newest run is in a state."""
        await self.me.until(
            lambda: self.workflows.records.executions(limit=1) and self.view.state == state
        )


def define(stage: Stage, text: str = FLOW, name: str = "colours") -> None:
    """Write a workflow of the person's own."""
    folder = stage.workspace.parent / "settings" / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


async def begin(me: Driver, stage: Stage, room: str = "hall") -> Bench:
    """Begin the workflow from the screen, with its parameter."""
    await me.ready()
    await me.send("/workflow colours")
    await me.until(lambda: isinstance(me.app.screen, ParamForm))
    me.app.screen.query_one(Input).value = room
    await me.pilot.press("enter")
    await me.until(lambda: isinstance(me.app.screen, RunsScreen))
    return Bench(me, stage)


@pytest.mark.requirement("ui:runs")
async def test_a_workflow_begun_on_the_screen_asks_the_person_and_runs_to_its_end(
    stage: Stage, model: RawModel
) -> None:
    define(stage)
    going = asyncio.Event()
    model.answers += [
        [TextDelta("seen"), going],
        calls(("create_file", {"filePath": "wall.txt", "content": "blue"})),
        [TextDelta("painted")],
    ]
    async with driven(app_over(stage)) as me:
        bench = await begin(me, stage)
        await me.until(lambda: "look: file_operations" in bench.text("#run-head") or model.seen)
        assert "Look at hall" in model.seen[0][-1].text
        await me.until(lambda: "gate" in bench.text("#run-head"))
        assert "read" in bench.text("#run-head") and "room hall" in bench.text("#run-head")
        steps = bench.text("#run-steps Static")
        assert ["◐ look" in steps, "after look" in steps, "○ paint" in steps] == [True] * 3
        assert "colours/look: read" in me.app.chat.status.standing.phase
        going.set()
        await me.until(lambda: "Esc shows it" in bench.text("#run-keys"))
        await me.pilot.press("escape")
        await me.until(lambda: me.app.chat.query(InquiryPanel))
        await me.pilot.press(*"blue", "enter")
        await me.until(lambda: "colours is completed (3/3 steps)" in me.transcript())
        assert (stage.workspace / "wall.txt").read_text() == "blue"
        assert me.app.chat.status.standing.phase == ""
        await me.send("/workflow")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        assert "✓ paint" in bench.text("#run-steps Static")
        events = bench.text("#run-events Static")
        assert "workflow_completed" in events and "None" not in events


@pytest.mark.requirement("ui:runs")
async def test_a_run_is_paused_resumed_and_abandoned_by_keys(stage: Stage, model: RawModel) -> None:
    define(stage)
    never = asyncio.Event()
    model.answers += [[never], [never], [never]]
    async with driven(app_over(stage)) as me:
        bench = await begin(me, stage)
        await me.until(lambda: len(model.seen) == 1)
        await me.pilot.press("p")
        await bench.until("paused")
        await me.until(lambda: "paused by you" in bench.text("#run-head"))
        await me.pilot.press("r")
        await bench.until("running")
        await me.until(lambda: len(model.seen) == 2)
        attempts = bench.workflows.records.history(bench.view.id)
        assert [(a.step, a.number, a.status) for a in attempts] == [("look", 1, "open")]
        await me.pilot.press("o")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        assert "Look at hall" in me.app.screen.query_one(TextArea).text
        await me.pilot.press("escape")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        await me.pilot.press("t")
        await me.until(lambda: len(model.seen) == 3)
        attempts = bench.workflows.records.history(bench.view.id)
        assert [(a.number, a.status) for a in attempts] == [(1, "cancelled"), (2, "open")]
        await me.pilot.press("x")
        assert bench.view.state == "running"
        assert "Press x again" in bench.text("#run-keys")
        await me.pilot.press("x")
        await bench.until("abandoned")
        await me.until(
            lambda: (
                "– colours"
                in str(me.app.screen.query_one(OptionList).get_option_at_index(0).prompt)
            )
        )


@pytest.mark.requirement("ui:runs")
async def test_what_another_program_does_is_seen_and_its_artifacts_are_read(stage: Stage) -> None:
    define(stage)
    async with driven(app_over(stage)) as me:
        await me.ready()
        other = stage.runtime.workflows.workflows()
        done = other.start("colours", {"room": "[red]den[/red]"})
        await me.send("/workflow")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        bench = Bench(me, stage)
        await me.until(lambda: "gate" in bench.text("#run-head"))
        assert "g lets it continue" in bench.text("#run-head")
        artifacts = [{"type": "file", "name": "[b]notes", "content": "a\x1b[31mb" + "c" * 60_000}]
        other.advance(done.opened[0].token, {"summary": "s", "artifacts": artifacts})
        shelf = bench.screen.query_one("#run-kept", OptionList)
        await me.until(lambda: shelf.option_count)
        assert "▤ [b]notes" in str(shelf.get_option_at_index(0).prompt)
        shelf.focus()
        await me.pilot.press("down", "enter")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        area = me.app.screen.query_one(TextArea)
        assert area.text.startswith("a\\x1b[31mbcc")
        await me.pilot.press("right_square_bracket")
        await me.until(lambda: area.text == "c" * 10_007)
        await me.pilot.press("escape", "escape")
        await me.until(lambda: me.app.screen is me.app.chat)


@pytest.mark.requirement("ui:phase")
async def test_the_phase_of_the_conversation_stands_in_the_status(
    stage: Stage, model: RawModel
) -> None:
    define(stage)
    start = {"operation": "start", "name": "colours", "params": {"room": "hall"}}
    model.answers += [
        calls(("workflow", start)),
        calls(("create_file", {"filePath": "a.txt", "content": "x"})),
        [TextDelta("stuck")],
    ]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("begin")
        await me.until(lambda: "stuck" in me.transcript())
        await me.until(lambda: me.app.chat.status.standing.phase == "colours/look: read")
        assert not (stage.workspace / "a.txt").exists()
        reminders = [m.text for m in model.seen[1] if m.kind == "reminder"]
        assert any("<workflowPhase>" in text and "Phase: look" in text for text in reminders)
        assert "is not allowed in phase look" in model.seen[2][-2].text + model.seen[2][-1].text
        await me.pilot.press("ctrl+n")
        await me.until(lambda: me.app.chat.status.standing.phase == "")


@pytest.mark.requirement("ui:runs")
async def test_workflows_are_offered_and_an_unknown_one_is_refused_by_name(stage: Stage) -> None:
    define(stage)
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/workflow colors")
        await me.until(lambda: me.app.query("Toast") or len(me.app._notifications))  # pyright: ignore[reportPrivateUsage] # what is on show
        assert me.app.screen is me.app.chat
        await me.send("/workflow")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        await me.pilot.press("n")
        await me.until(lambda: isinstance(me.app.screen, Picker))
        await me.until(lambda: me.app.screen.query_one(OptionList).option_count >= 8)


@pytest.mark.requirement("ui:runs")
async def test_a_run_s_transcript_opens_in_the_chat(stage: Stage, model: RawModel) -> None:
    define(stage)
    model.answers += [[TextDelta("seen it all")]]
    async with driven(app_over(stage)) as me:
        bench = await begin(me, stage)
        await me.until(lambda: "question waits" in bench.text("#run-keys"))
        await me.pilot.press("o")
        await me.until(lambda: "seen it all" in me.transcript())
        step = bench.workflows.records.history(bench.view.id)[0]
        session = me.bench.current.session
        assert session is not None
        assert session.conversation == ConversationId(step.conversation)


@pytest.mark.requirement("ui:runs")
async def test_a_run_that_failed_or_waits_for_approval_is_reported_with_the_way_on(
    stage: Stage, model: RawModel
) -> None:
    define(stage, FLOW.replace("tools: [read]", "kind: llm, attempts: 1, output: {type: array}"))
    model.answers += [[TextDelta("no list")] for _ in range(4)]
    async with driven(app_over(stage)) as me:
        await begin(me, stage)
        await me.until(lambda: "colours is failed" in me.transcript())
        assert "To try again: /workflow, then t" in me.transcript()
        await me.pilot.press("escape")
        await me.send("/plan what is 5*3?")
        await me.until(lambda: "To approve and run it: /workflow, then r" in me.transcript())
        assert "✗ Workflow calculate" not in me.transcript()


@pytest.mark.requirement("ui:runs")
async def test_the_keys_of_the_screen_fit_and_say_how_to_leave(stage: Stage) -> None:
    async with driven(app_over(stage), (40, 12)) as me:
        await me.ready()
        for size in ((40, 12), (80, 24), (120, 40)):
            await me.pilot.resize_terminal(*size)
            await me.send("/workflow")
            await me.until(lambda: isinstance(me.app.screen, RunsScreen))
            await me.until(lambda size=size: tuple(me.app.screen.size) == size)
            await me.until(lambda: me.drawn().rstrip().endswith("Esc closes"))
            await me.pilot.press("escape")
            await me.until(lambda: me.app.screen is me.app.chat)


@pytest.mark.requirement("plans:workbench")
async def test_a_plan_is_made_changed_in_the_editor_approved_and_carried_out(
    stage: Stage, model: RawModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = stage.workspace.parent / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/bees/wasps/g "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setattr(App, "suspend", nullcontext)
    going = asyncio.Event()
    step = thought("look") | {"sub_task_input": {"prompt": "look at bees"}}
    model.answers += [
        [TextDelta(json.dumps([[step]]))], [going, TextDelta("seen")],
        [TextDelta("the context in other words")], [TextDelta("They see ultraviolet.")],
    ]  # fmt: skip
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/plan how do bees see")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        bench = Bench(me, stage)
        await me.until(lambda: "think look" in bench.text("#run-steps Static"))
        assert "approve, retry, abort" in bench.text("#run-head")
        await me.pilot.press("v")
        plan = bench.workflows.records.plan
        await me.until(lambda: "wasps" in plan(bench.view.id)[0].prompt)
        await me.pilot.press("r")
        await me.until(lambda: me.app.screen is me.app.chat and me.app.chat.query(InquiryPanel))
        await me.pilot.press(*"approve", "enter")
        await me.until(lambda: len(model.seen) == 2)
        assert "look at wasps" in model.seen[1][-1].text
        await me.send("/workflow")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        await me.until(lambda: "◐ plan/look" in bench.text("#run-steps Static"))
        going.set()
        await me.until(lambda: "✓ answer" in bench.text("#run-steps Static"))
        assert bench.workflows.records.execution(bench.view.id).state == "completed"
        await me.pilot.press("escape")
        await me.until(lambda: "is completed (3/3 steps)" in me.transcript())
        assert "They see ultraviolet." in me.transcript()


@pytest.mark.requirement("plans:workbench", "plans:workers")
async def test_a_plan_of_the_workbench_is_handed_out_to_workers_where_it_is_told_so(
    stage: Stage, model: RawModel, tmp_path: Path
) -> None:
    step = {"stepId": "sum", "assigned_agent_role": "UtilityAgent", "tool_name": "CalculatorTool",
            "sub_task_input": {"expression": "6*7"}, "narrative_step": "add"}  # fmt: skip
    model.answers += [[TextDelta(json.dumps([[step]]))]]
    root, data = str(stage.workspace), str(tmp_path / "queues")
    options = Options(root, data, attended=True, hand_out=("UtilityAgent",))
    runtime = build(options, {"HOME": str(tmp_path)})
    runtime.use_model(model)
    async with driven(app_over(Stage(runtime, model, stage.workspace))) as me:
        await me.ready()
        await me.send("/plan how much is it")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        bench = Bench(me, Stage(runtime, model, stage.workspace))
        await me.until(lambda: "approve, retry, abort" in bench.text("#run-head"))
        await me.pilot.press("r")
        await me.until(lambda: me.app.screen is me.app.chat and me.app.chat.query(InquiryPanel))
        await me.pilot.press(*"approve", "enter")
        queues = runtime.hand_out
        assert isinstance(queues, StepQueues)
        listed = queues.database.client.list_workflows
        await me.until(lambda: listed(workflow_id_prefix="plan-", load_output=False))
        (work,) = listed(workflow_id_prefix="plan-", load_output=False)
        assert "UtilityAgent" in str(work.queue_name)
