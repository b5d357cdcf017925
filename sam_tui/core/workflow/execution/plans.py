"""A plan step's output becomes steps: a revision of a sub-graph, in the same schema.

What a revision repeats and had been completed stays completed: a step is the same when its id and
the hash of all that it was told are the same.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError

from sam_tui.core.ports.workflows import EdgeRow, StepRow
from sam_tui.core.workflow.definitions.model import Step, ancestors, cycle, sha256
from sam_tui.core.workflow.definitions.references import ReferenceMissing, references
from sam_tui.core.workflow.execution.case import ExecutionCase
from sam_tui.core.workflow.gate import covers
from sam_tui.core.workflow.refusals import WorkflowRefused

MOST_CHILDREN = 50
_FIELDS = {
    "id", "kind", "description", "persona", "needs", "parallel", "tools", "prompt", "inputs", "tool",
    "arguments", "output", "attempts", "timeout", "max_calls", "choices",
}  # fmt: skip
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
            steps.append(_read_child(item))
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
    retained = 0
    for index, step in enumerate(steps):
        text = step.model_dump_json(by_alias=True, exclude_defaults=True)
        id_ = f"{plan}/{step.id}"
        old = case.steps.get(id_)
        position = parent.position + index + 1
        if old is not None and old.status == "completed" and sha256(old.spec_json) == sha256(text):
            case.put(replace(old, revision=revision, position=position))
            retained += 1
            continue
        case.put(
            StepRow(
                case.row.id, id_, position, plan, revision, text, "pending",
                old.attempts if old else 0, 0, -1, "", "", None, None,
            )
        )  # fmt: skip
        for need in step.needs:
            case.unit.save_edge(EdgeRow(case.row.id, f"{plan}/{need}", id_, "needs", case.now))
    case.record("plan_adopted", plan, revision=revision, steps=len(steps), kept=retained)


def _read_child(item: Any) -> Step:
    if not isinstance(item, Mapping):
        raise ValueError("a step is an object")
    fields = {_TWINS.get(k, k): v for k, v in cast("Mapping[str, Any]", item).items()}
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise ValueError(f"unknown fields: {', '.join(unknown)}")
    step = Step.model_validate(fields)
    if step.kind == "plan":
        raise ValueError("a plan cannot contain plans")
    return step


def _child_faults(case: ExecutionCase, plan: str, steps: list[Step]) -> list[str]:
    ids = [step.id for step in steps]
    needs = {step.id: step.needs for step in steps}
    faults = [f"the id {i!r} is used twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    for step in steps:
        faults += [f"{step.id} needs {n!r}, which is no step" for n in step.needs if n not in ids]
        faults.extend(_permission_faults(case, plan, step))
        faults.extend(_reference_faults(step, needs))
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


def _reference_faults(step: Step, needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    before = ancestors(step.id, needs)
    try:
        targets = list(references([step.prompt, step.inputs, step.arguments]))
    except ReferenceMissing as error:
        return [f"{step.id}: {error}"]
    return [
        f"{step.id}: @{{{ref.text}}}: {ref.path[0]!r} is not before it"
        for ref in targets
        if ref.root == "outputs" and ref.path[0] in needs and ref.path[0] not in before
    ]


def _invalid(plan: str, faults: list[str]) -> WorkflowRefused:
    return WorkflowRefused(
        "output_invalid",
        f"The plan of step {plan} does not fit: {'; '.join(faults)}.",
        hint="Correct it and send it again with the same token.",
        details={"step": plan, "faults": faults},
    )
