"""A plan step's output becomes steps: a revision of a sub-graph, in the same schema.

A completed step that a revision repeats stays completed: a step is the same if its id, its text and the
outputs that it read are the same.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from pydantic import ValidationError

from sam_tui.core.ports.workflows import StepRow
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.workflow.definitions.graph import ancestors, cycle
from sam_tui.core.workflow.definitions.model import PHASE_FIELDS, Step
from sam_tui.core.workflow.definitions.references import ReferenceMissing, references
from sam_tui.core.workflow.definitions.stages import StageReader, is_stages
from sam_tui.core.workflow.execution.case import CAPABILITIES, ExecutionCase
from sam_tui.core.workflow.gate import covers
from sam_tui.core.workflow.views import output_refused

MOST_CHILDREN = 50
_TOLD = ("agent", "llm")
"""Kinds of steps whose prompt contains the outputs of the steps that they need."""
_FIELDS = {
    "id", "kind", "description", "persona", "needs", "parallel", "tools", "prompt", "inputs", "tool",
    "arguments", "output", "attempts", "timeout", "max_calls", "choices", "on_fail",
}  # fmt: skip


_ACTIONS = ("replan", "retry", "ask", "abort")
"""Possible actions after the failure of a planned step; a rollback could leave its plan."""
_TWINS = {
    **PHASE_FIELDS, "stepId": "id", "title": "description", "narrative_step": "description",
}  # fmt: skip


def plan_items(output: Mapping[str, object]) -> object:
    """The steps or stages of a planner's output."""
    return next((output[name] for name in ("steps", "stages", "plan") if name in output), None)


def read_plan(case: ExecutionCase, plan: str, items_given: object) -> tuple[Step, ...]:
    """The steps of a plan in either form. Raises ``WorkflowRefused`` (``output_invalid``), every fault."""
    items = cast("list[object]", items_given) if isinstance(items_given, list) else []
    reader = StageReader(case.capabilities)
    if is_stages(items):
        reader.read(items)
    else:
        _read_steps(case, plan, items, reader)
    count = len(reader.steps)
    if not items:
        lead = "there is no plan in the answer: " if items_given is None else ""
        faults = [f"{lead}steps must be a list that is not empty"]
    elif not count and not reader.faults:
        faults = ["there is no sub-task in any stage"]
    elif count > MOST_CHILDREN:
        faults = [f"{count} steps are more than {MOST_CHILDREN}"]
    else:
        faults = [*reader.faults, *_child_faults(case, plan, reader)]
    if faults:
        raise output_refused("plan", plan, faults)
    return tuple(step for _, step in reader.steps)


def _read_steps(case: ExecutionCase, plan: str, items: list[object], reader: StageReader) -> None:
    """Take steps as the engine's definitions have them."""
    for index, item in enumerate(items):
        try:
            step = _read_child(item, case.spec(plan).child_tools)
            reader.steps.append((step.id, step))
            reader.ids.add(step.id)
        except ValidationError as error:
            reader.faults += faults_of(error, f"steps[{index}]")
        except ValueError as error:
            reader.faults.append(f"steps[{index}]: {error}")


def adopt(case: ExecutionCase, plan: str, steps: Sequence[Step]) -> None:
    """Make the steps of a plan that was read; steps that are unchanged and done stay done."""
    parent = case.steps[plan]
    revision = parent.revision + 1
    output = json.dumps({**(parent.output or {}), **_final(steps)}, ensure_ascii=False)
    case.put(parent, revision=revision, output_json=output)
    retained = _reusable(case, plan, steps)
    for index, step in enumerate(steps):
        id_ = f"{plan}/{step.id}"
        old = case.steps.get(id_)
        position = parent.position + index + 1
        if old is not None and step.id in retained:
            case.put(old, revision=revision, position=position)
            continue
        row = StepRow(case.row.id, id_, position, plan, revision, _spec_text(step))
        case.put(row, attempts=old.attempts if old else 0)
    case.record("plan_adopted", plan, revision=revision, steps=len(steps), kept=len(retained))


def _final(steps: Sequence[Step]) -> dict[str, object]:
    """Whether the last step is the answer (``isFinalAnswer`` of seed 002), or one is to be written."""
    needed = {need for step in steps for need in step.needs}
    last = [step for step in steps if step.id not in needed and step.task is not None]
    final = [s.id for s in last if s.task is not None and s.task.input.get("isFinalAnswer") is True]
    return {"final_step": final[0] if len(final) == 1 else "", "synthesise": len(final) != 1}


def _reusable(case: ExecutionCase, plan: str, steps: Sequence[Step]) -> set[str]:
    """The steps that are done already: the same text, over the same outputs of other steps.

    An agent reads the results of the steps before it; any other step gets the outputs it refers to.
    """
    done = {r.id: r.spec_json for r in case.steps.values() if r.status == "completed"}
    before = {s.id: _sources(s) for s in steps if done.get(f"{plan}/{s.id}") == _spec_text(s)}
    ids = {step.id for step in steps}
    while stale := {id_ for id_, named in before.items() if (named & ids) - before.keys()}:
        before = {id_: named for id_, named in before.items() if id_ not in stale}
    return set(before)


def _sources(step: Step) -> set[str]:
    """The steps whose outputs a step reads."""
    named = {r.path[0] for r in references(step.filled) if r.root == "outputs"}
    return named | set(step.needs if step.kind in _TOLD else ())


def _spec_text(step: Step) -> str:
    return step.model_dump_json(by_alias=True, exclude_defaults=True)


def _read_child(item: object, limits: tuple[str, ...] | None) -> Step:
    """Read one step: fields about tools and failures that it lacks come from the plan."""
    if not isinstance(item, Mapping):
        raise ValueError("a step is an object")
    fields = {_TWINS.get(k, k): v for k, v in cast("Mapping[str, object]", item).items()}
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise ValueError(f"unknown fields: {', '.join(unknown)}")
    fields.setdefault("on_fail", "replan")
    step = Step.model_validate(fields)
    if step.kind == "plan":
        raise ValueError("a plan cannot contain plans")
    if step.on_fail not in _ACTIONS:
        raise ValueError(f"on_fail must be one of {', '.join(_ACTIONS)}")
    if step.kind == "agent" and step.tools is None:
        return step.model_copy(update={"tools": limits})
    return step


def _child_faults(case: ExecutionCase, plan: str, text: StageReader) -> list[str]:
    ids = [step.id for _, step in text.steps]
    needs = {step.id: step.needs for _, step in text.steps}
    outside = ancestors(plan, case.needs()) | text.ids
    faults = [f"the id {i!r} is used twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    for where, step in text.steps:
        missing = [n for n in step.needs if n not in ids]
        faults += [
            f"{where} needs {n!r}, which is not a step" for n in missing if step.task is None
        ]
        local = [*_permission_faults(case, plan, step), *_reference_faults(step, needs, outside)]
        faults += [f"{where}: {fault}" for fault in local]
    if circle := cycle(needs):
        faults.append(f"steps wait for each other: {' > '.join(circle)}")
    return faults


def _permission_faults(case: ExecutionCase, plan: str, step: Step) -> list[str]:
    """Tools beyond those of the plan, and personas that the execution does not have."""
    faults: list[str] = []
    limits = case.spec(plan).child_tools
    # A role has the tools that its file names; that a sub-task's tool is one of them was checked.
    bounded = step.kind in ("agent", "tool") and step.task is None
    if bounded and not covers(limits, step.allowed):
        faults.append(f"it may use no more than: {', '.join(limits or ()) or 'no tools'}")
    personas = case.pins.keys() - {CAPABILITIES}
    if step.persona and step.persona not in personas:
        names = ", ".join(sorted(personas))
        faults.append(f"there is no persona {step.persona!r} here; there are {names}")
    return faults


def _reference_faults(
    step: Step, needs: Mapping[str, tuple[str, ...]], outside: Collection[str]
) -> list[str]:
    before = ancestors(step.id, needs)
    try:
        targets = [r for r in references(step.filled) if r.root == "outputs"]
    except ReferenceMissing as error:
        return [str(error)]
    faults: list[str] = []
    for ref in targets:
        name = ref.path[0]
        if name in needs and name not in before:
            faults.append(f"@{{{ref.text}}}: {name!r} is not before it")
        elif name not in needs and name not in outside and not ref.optional:
            faults.append(f"@{{{ref.text}}}: there is no step {name!r}")
    return faults
