"""The steps of a definition as a graph: their order, and faults of order, names and references."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    nearest = {step}
    while nearest := {n for s in nearest for n in needs.get(s, ()) if n in needs} - above:
        above |= nearest
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
    while more := {s for s, n in needs.items() if open_.issuperset(n)} - open_:
        open_ |= more
    return [s for s in needs if s not in open_]


Place = tuple[str | int, ...]
DefinitionFault = tuple[Place, str]
"""A place of the definition, and what is wrong there."""


def definition_faults(
    definition: WorkflowDefinition, personas: Mapping[str, object]
) -> Iterator[DefinitionFault]:
    """Every fault of a definition; ``personas`` are the existing ones by name."""
    yield from _order_faults(definition.steps)
    for index, step in enumerate(definition.steps):
        for path, faults in _StepCheck(definition, step).faults(personas):
            for fault in faults:
                yield ("steps", index, *path), fault


def _order_faults(steps: Sequence[Step]) -> Iterator[DefinitionFault]:
    needs = {step.id: step.needs for step in steps}
    order = [step.id for step in steps]
    for index, step in enumerate(steps):
        if step.id in order[:index]:
            yield ("steps", index, "id"), f"the id {step.id!r} is used twice"
        for number, need in enumerate(step.needs):
            if need not in needs:
                fault = f"step {step.id!r} needs {need!r}, which is not a step"
                yield ("steps", index, "needs", number), fault
    circle = cycle(needs)
    if circle:
        fault = f"steps wait for each other: {' > '.join(circle)}"
        yield ("steps", order.index(circle[0]), "needs"), fault
    for id_ in unreachable(needs):
        if id_ not in circle and needs.keys() >= set(needs[id_]):
            yield ("steps", order.index(id_), "needs"), f"step {id_!r} can never begin"


class _StepCheck:
    """Checks one step of a definition."""

    def __init__(self, definition: WorkflowDefinition, step: Step) -> None:
        self._definition, self._step = definition, step
        self._before = ancestors(step.id, {s.id: s.needs for s in definition.steps}) | {step.id}

    def faults(self, personas: Mapping[str, object]) -> Iterator[tuple[Place, Iterable[str]]]:
        """Yield the places of the step, each with its faults."""
        step = self._step
        yield ("persona",), self._persona(personas)
        yield ("on_fail",), self._actions(step.on_fail)
        yield ("output",), schema_faults(step.output) if step.output is not None else ()
        for name, guards in (("when", step.when), ("guards", step.guards)):
            for number, guard in enumerate(guards):
                yield (name, number), self._guard(guard)
        for name in ("prompt", "inputs", "arguments", "each"):
            yield (name,), self._references(getattr(step, name))
        yield ("when",), self._references([[g.value, g.to] for g in step.when])
        values = [[g.value, g.to, g.contains] for g in step.guards]
        yield ("guards",), self._references(values, output=True)

    def _persona(self, personas: Mapping[str, object]) -> Iterator[str]:
        step, params = self._step, self._definition.params
        try:
            named = list(references(step.persona))
        except ReferenceMissing:
            named = []
        names: Iterable[object] = filter(None, (step.persona,))
        if named:
            parameter = params.get(named[0].path[0]) if named[0].root == "params" else None
            names = parameter.choices if parameter else ()
            if parameter is None:
                yield "a persona can only refer to a parameter"
            elif not names:
                yield "a persona by parameter needs the parameter's choices"
        for name in map(str, names):
            if name not in personas:
                yield f"there is no persona {name!r}"

    def _actions(self, on_fail: OnFail | None) -> Iterator[str]:
        texts = [on_fail] if isinstance(on_fail, str) else [band.do for band in on_fail or ()]
        yield from filter(None, map(self._action, texts))

    def _action(self, text: str) -> str:
        """Return the fault of an action; empty if there is none."""
        action, step = parse_action(text), self._step.id
        plans = {s.id for s in self._definition.steps if s.kind == "plan"}
        if action.kind == "replan" and not plans & self._before:
            return f"step {step!r} replans, but no plan step comes before it"
        if action.kind != "rollback":
            return ""
        target = self._definition.step(action.target)
        if target is None:
            return f"step {step!r} rolls back to {action.target!r}, which is not a step"
        if action.target not in self._before:
            return f"step {step!r} rolls back to {action.target!r}, which is not before it"
        if action.previous and not target.each:
            return f"{text!r}: {action.target!r} has no items to go back in"
        return ""

    def _guard(self, guard: StepGuard) -> Iterator[str]:
        for action in (guard.on_fail, *guard.rules.values()):
            yield from self._actions(action)
        other = self._definition.step(guard.tasks)
        if guard.tasks and (other is None or not other.each):
            yield f"{guard.tasks!r} is not a step with “each”, so it has no tasks"

    def _references(self, value: object, *, output: bool = False) -> Iterator[str]:
        """Malformed references, unknown parameters, and outputs of steps that are not before this one."""
        try:
            targets = list(references(value))
        except ReferenceMissing as error:
            yield str(error)
            return
        for reference in targets:
            if output and reference.root == "output":
                continue
            if fault := self._reference(reference):
                yield f"@{{{reference.text}}}: {fault}"

    def _reference(self, reference: Reference) -> str:
        """Return the fault of one reference, or empty. A planned step may be named if it is optional."""
        root, first = reference.root, reference.path[0]
        owner, planned, _ = first.partition("/")
        match root:
            case "params" if first not in self._definition.params:
                return f"there is no parameter {first!r}"
            case "item" if not self._step.each:
                return "the step has no each"
            case "inputs" if first not in self._step.inputs:
                return f"there is no input {first!r}"
            case "output":
                return "only guards see the output"
            case "outputs" if owner not in self._before:
                if reference.optional and self._definition.step(owner) is not None:
                    return ""
                return f"{first!r} is not before {self._step.id!r}"
            case "outputs" if planned and not reference.optional:
                return "what a plan may add must be optional: end it with ?"
            case _:
                return ""
