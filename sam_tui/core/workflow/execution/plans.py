"""A plan step's output becomes steps: a revision of a sub-graph, in the same schema.

What a revision repeats and had been completed stays completed: a step is the same when its id, its
text and the outputs that it was told are the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError

from sam_tui.core.ports.workflows import EdgeRow, StepRow
from sam_tui.core.workflow.definitions.model import Step, ancestors, cycle
from sam_tui.core.workflow.definitions.references import ReferenceMissing, references
from sam_tui.core.workflow.execution.case import ExecutionCase
from sam_tui.core.workflow.gate import covers
from sam_tui.core.workflow.refusals import WorkflowRefused

MOST_CHILDREN = 50
_TOLD = ("agent", "llm")
"""Kinds whose prompt says what the steps came to that they need."""
_FIELDS = {
    "id", "kind", "description", "persona", "needs", "parallel", "tools", "prompt", "inputs", "tool",
    "arguments", "output", "attempts", "timeout", "max_calls", "choices", "on_fail",
}  # fmt: skip
_ACTIONS = ("replan", "retry", "ask", "abort")
"""What may follow the failure of a planned step: it cannot roll back what it was not told of."""
_TWINS = {
    "stepId": "id", "phase": "id", "title": "description", "narrative_step": "description",
    "agent": "persona", "dependsOn": "needs", "allowParallel": "parallel",
}  # fmt: skip


def read_plan(case: ExecutionCase, plan: str, items_given: Any) -> tuple[Step, ...]:
    """The steps of a plan. Raises ``WorkflowRefused`` (``output_invalid``) with every fault."""
    if not isinstance(items_given, list) or not items_given:
        raise _invalid(plan, ["steps must be a list that is not empty"])
    items = cast("list[Any]", items_given)
    if len(items) > MOST_CHILDREN:
        raise _invalid(plan, [f"{len(items)} steps are more than {MOST_CHILDREN}"])
    faults: list[str] = []
    steps: list[Step] = []
    for index, item in enumerate(items):
        try:
            steps.append(_read_child(item, case.spec(plan).child_tools))
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_input=False):
                where = ".".join(map(str, fault["loc"])) or "step"
                faults.append(f"steps[{index}].{where}: {fault['msg']}")
        except ValueError as error:
            faults.append(f"steps[{index}]: {error}")
    faults.extend(_child_faults(case, plan, steps))
    if faults:
        raise _invalid(plan, faults)
    return tuple(steps)


def adopt(case: ExecutionCase, plan: str, items_given: Any) -> None:
    """Make the steps of a plan that was read before; what is unchanged and done stays done."""
    steps = read_plan(case, plan, items_given)
    parent = case.steps[plan]
    revision = parent.revision + 1
    case.put(replace(parent, revision=revision))
    retained = _reusable(case, plan, steps)
    for index, step in enumerate(steps):
        text = _spec_text(step)
        id_ = f"{plan}/{step.id}"
        old = case.steps.get(id_)
        position = parent.position + index + 1
        if old is not None and step.id in retained:
            case.put(replace(old, revision=revision, position=position))
            continue
        case.put(
            StepRow(
                case.row.id, id_, position, plan, revision, text, "pending",
                old.attempts if old else 0, 0, -1, "", "", None, None,
            )
        )  # fmt: skip
        for need in step.needs:
            case.unit.save_edge(EdgeRow(case.row.id, f"{plan}/{need}", id_, "needs", case.now))
    case.record("plan_adopted", plan, revision=revision, steps=len(steps), kept=len(retained))


def _reusable(case: ExecutionCase, plan: str, steps: Sequence[Step]) -> set[str]:
    """The steps that are done already: the same text, over the same outputs of other steps.

    An agent is told what the steps before it came to; any other step is told what it refers to.
    """
    before: dict[str, set[str]] = {}
    for step in steps:
        old = case.steps.get(f"{plan}/{step.id}")
        if old is not None and old.status == "completed" and old.spec_json == _spec_text(step):
            named = {r.path[0] for r in references(_filled_parts(step)) if r.root == "outputs"}
            before[step.id] = named | set(step.needs if step.kind in _TOLD else ())
    ids = {step.id for step in steps}
    while stale := {id_ for id_, named in before.items() if (named & ids) - before.keys()}:
        before = {id_: named for id_, named in before.items() if id_ not in stale}
    return set(before)


def _spec_text(step: Step) -> str:
    return step.model_dump_json(by_alias=True, exclude_defaults=True)


def _filled_parts(step: Step) -> list[object]:
    """Where a step may hold references."""
    return [step.prompt, step.inputs, step.arguments]


def _read_child(item: Any, limits: tuple[str, ...] | None) -> Step:
    """One step: what it does not say of tools and of failures is the plan's."""
    if not isinstance(item, Mapping):
        raise ValueError("a step is an object")
    fields = {_TWINS.get(k, k): v for k, v in cast("Mapping[str, Any]", item).items()}
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


def _child_faults(case: ExecutionCase, plan: str, steps: list[Step]) -> list[str]:
    ids = [step.id for step in steps]
    needs = {step.id: step.needs for step in steps}
    outside = ancestors(plan, case.needs())
    faults = [f"the id {i!r} is used twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    for step in steps:
        faults += [f"{step.id} needs {n!r}, which is no step" for n in step.needs if n not in ids]
        faults.extend(_permission_faults(case, plan, step))
        faults.extend(_reference_faults(step, needs, outside))
    if circle := cycle(needs):
        faults.append(f"steps wait for each other: {' > '.join(circle)}")
    return faults


def _permission_faults(case: ExecutionCase, plan: str, step: Step) -> list[str]:
    """Tools beyond those of the plan, and personas that the execution does not have."""
    faults: list[str] = []
    limits = case.spec(plan).child_tools
    if step.kind in ("agent", "tool") and not covers(limits, step.allowed):
        faults.append(f"{step.id} may use no more than: {', '.join(limits or ()) or 'no tools'}")
    if step.persona and step.persona not in case.personas:
        personas = ", ".join(sorted(case.personas))
        faults.append(f"{step.id}: there is no persona {step.persona!r} here; there are {personas}")
    return faults


def _reference_faults(
    step: Step, needs: Mapping[str, tuple[str, ...]], outside: Collection[str]
) -> list[str]:
    before = ancestors(step.id, needs)
    try:
        targets = [r for r in references(_filled_parts(step)) if r.root == "outputs"]
    except ReferenceMissing as error:
        return [f"{step.id}: {error}"]
    faults: list[str] = []
    for ref in targets:
        name = ref.path[0]
        if name in needs and name not in before:
            faults.append(f"{step.id}: @{{{ref.text}}}: {name!r} is not before it")
        elif name not in needs and name not in outside and not ref.optional:
            faults.append(f"{step.id}: @{{{ref.text}}}: there is no step {name!r}")
    return faults


def _invalid(plan: str, faults: list[str]) -> WorkflowRefused:
    return WorkflowRefused(
        "output_invalid",
        f"The plan of step {plan} does not fit: {'; '.join(faults)}.",
        hint="Correct it and send it again with the same token.",
        details={"step": plan, "faults": faults},
    )
