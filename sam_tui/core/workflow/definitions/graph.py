"""The steps of a definition as a graph: their order, and faults of order, names and references."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from sam_tui.core.workflow.definitions.model import (
    OnFail,
    Step,
    StepGuard,
    WorkflowDefinition,
    parse_action,
)
from sam_tui.core.workflow.definitions.references import Reference, ReferenceMissing, references
from sam_tui.core.workflow.definitions.schema import schema_faults


def ancestors(step: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Return all steps that must be done before a step; unknown names are left out."""
    above: set[str] = set()
    waiting = [n for n in needs.get(step, ()) if n in needs]
    while waiting:
        current = waiting.pop()
        if current not in above:
            above.add(current)
            waiting.extend(n for n in needs[current] if n in needs)
    return above


def dependents(step: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    """The steps that depend on ``step``, directly or through others."""
    return {other for other in needs if other != step and step in ancestors(other, needs)}


def cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """One circle of steps that wait for each other, first step repeated at its end; else nothing."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def unreachable(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return steps that can never begin, because they wait for a circle or for a missing step."""
    open_: set[str] = set()
    while True:
        more = {s for s, n in needs.items() if s not in open_ and all(x in open_ for x in n)}
        if not more:
            return [s for s in needs if s not in open_]
        open_ |= more


Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class DefinitionFault:
    """Something wrong at a place of the definition."""

    path: Place
    message: str


def definition_faults(
    definition: WorkflowDefinition, personas: Mapping[str, object]
) -> Iterator[DefinitionFault]:
    """Every fault of a definition; ``personas`` are the existing ones by name."""
    yield from _order_faults(definition)
    needs = {step.id: step.needs for step in definition.steps}
    for index, step in enumerate(definition.steps):
        path: Place = ("steps", index)
        yield from _persona_faults(step, definition, personas, path)
        yield from _action_faults(step, definition, (*path, "on_fail"), step.on_fail)
        if step.output is not None:
            for text in schema_faults(step.output):
                yield DefinitionFault((*path, "output"), text)
        for name in ("when", "guards"):
            for number, guard in enumerate(getattr(step, name)):
                yield from _guard_faults(guard, step, definition, (*path, name, number))
        yield from _reference_faults(step, definition, needs, path)


def _order_faults(definition: WorkflowDefinition) -> Iterator[DefinitionFault]:
    seen: set[str] = set()
    needs: dict[str, tuple[str, ...]] = {}
    ids = {step.id for step in definition.steps}
    for index, step in enumerate(definition.steps):
        path: Place = ("steps", index, "id")
        if step.id in seen:
            yield DefinitionFault(path, f"the id {step.id!r} is used twice")
        seen.add(step.id)
        needs[step.id] = step.needs
        for number, need in enumerate(step.needs):
            if need not in ids:
                yield DefinitionFault(
                    ("steps", index, "needs", number),
                    f"step {step.id!r} needs {need!r}, which is not a step",
                )
    order = [step.id for step in definition.steps]
    circle = cycle(needs)
    if circle:
        path = ("steps", order.index(circle[0]), "needs")
        yield DefinitionFault(path, f"steps wait for each other: {' > '.join(circle)}")
    for step in unreachable(needs):
        if step not in circle and all(need in ids for need in needs[step]):
            path = ("steps", order.index(step), "needs")
            yield DefinitionFault(path, f"step {step!r} can never begin")


def _persona_faults(
    step: Step, definition: WorkflowDefinition, personas: Mapping[str, object], path: Place
) -> Iterator[DefinitionFault]:
    if not step.persona:
        return
    try:
        named = list(references(step.persona))
    except ReferenceMissing:
        named = []
    if not named:
        names = (step.persona,)
    elif named[0].root == "params" and named[0].path[0] in definition.params:
        parameter = definition.params[named[0].path[0]]
        names = tuple(str(c) for c in parameter.choices)
        if not names:
            yield DefinitionFault(
                (*path, "persona"), "a persona by parameter needs the parameter's choices"
            )
    else:
        names = ()
        yield DefinitionFault((*path, "persona"), "a persona can only refer to a parameter")
    for name in names:
        if name not in personas:
            yield DefinitionFault((*path, "persona"), f"there is no persona {name!r}")


def _action_faults(
    step: Step, definition: WorkflowDefinition, path: Place, on_fail: OnFail | None
) -> Iterator[DefinitionFault]:
    texts = [on_fail] if isinstance(on_fail, str) else [band.do for band in on_fail or ()]
    for text in texts:
        if fault := _action_fault(step, definition, text):
            yield DefinitionFault(path, fault)


def _action_fault(step: Step, definition: WorkflowDefinition, text: str) -> str:
    """Return the fault of a step's action; empty if there is none."""
    action = parse_action(text)
    before = ancestors(step.id, {s.id: s.needs for s in definition.steps})
    if action.kind == "replan":
        plans = {s.id for s in definition.steps if s.kind == "plan"}
        if not plans & {*before, step.id}:
            return f"step {step.id!r} replans, but no plan step comes before it"
    if action.kind != "rollback":
        return ""
    target = definition.step(action.target)
    if target is None:
        return f"step {step.id!r} rolls back to {action.target!r}, which is not a step"
    if action.target not in {*before, step.id}:
        return f"step {step.id!r} rolls back to {action.target!r}, which is not before it"
    if action.previous and not target.each:
        return f"{text!r}: {action.target!r} has no items to go back in"
    return ""


def _guard_faults(
    guard: StepGuard, step: Step, definition: WorkflowDefinition, path: Place
) -> Iterator[DefinitionFault]:
    yield from _action_faults(step, definition, path, guard.on_fail)
    for action in guard.rules.values():
        yield from _action_faults(step, definition, path, action)
    if guard.tasks:
        other = definition.step(guard.tasks)
        if other is None or not other.each:
            yield DefinitionFault(
                path, f"{guard.tasks!r} is not a step with “each”, so it has no tasks"
            )


def _reference_faults(
    step: Step, definition: WorkflowDefinition, needs: Mapping[str, tuple[str, ...]], path: Place
) -> Iterator[DefinitionFault]:
    """Malformed references, unknown parameters, and outputs of steps that are not before this one."""
    before = ancestors(step.id, needs) | {step.id}
    parts: list[tuple[str, object]] = [
        ("prompt", step.prompt), ("inputs", step.inputs), ("arguments", step.arguments),
        ("each", step.each),
        ("when", [[g.value, g.to] for g in step.when]),
        ("guards", [[g.value, g.to, g.contains] for g in step.guards]),
    ]  # fmt: skip
    for name, value in parts:
        try:
            targets = list(references(value))
        except ReferenceMissing as error:
            yield DefinitionFault((*path, name), str(error))
            continue
        for reference in targets:
            text = _reference_fault(reference, step, definition, before)
            if text and not (name == "guards" and reference.root == "output"):
                yield DefinitionFault((*path, name), f"@{{{reference.text}}}: {text}")


def _reference_fault(
    reference: Reference, step: Step, definition: WorkflowDefinition, before: Collection[str]
) -> str:
    """Return the fault of one reference, or empty. A planned step may be named if it is optional."""
    root, first = reference.root, reference.path[0]
    owner, planned, _ = first.partition("/")
    match root:
        case "params" if first not in definition.params:
            return f"there is no parameter {first!r}"
        case "item" if not step.each:
            return "the step has no each"
        case "inputs" if first not in step.inputs:
            return f"there is no input {first!r}"
        case "output":
            return "only guards see the output"
        case "outputs" if owner not in before:
            if reference.optional and definition.step(owner) is not None:
                return ""
            return f"{first!r} is not before {step.id!r}"
        case "outputs" if planned and not reference.optional:
            return "what a plan may add must be optional: end it with ?"
        case _:
            return ""
