"""Beginning an execution: what it is given is checked, and all it will need is pinned."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sam_tui.core.ids import mint
from sam_tui.core.ports.workflows import EdgeRow, ExecutionRow, StepRow, WorkflowUnit
from sam_tui.core.workflow.definitions.model import WorkflowDefinition, sha256
from sam_tui.core.workflow.definitions.references import fill
from sam_tui.core.workflow.execution.case import CAPABILITIES, ExecutionCase, Transaction
from sam_tui.core.workflow.refusals import WorkflowRefused

SPACING = 1000
"""Positions between two steps of a definition: room for what plans add."""
_NAMEABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LARGEST = 200_000


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be started: the definition, the personas at hand by name, and what is given."""

    definition: WorkflowDefinition
    personas: Mapping[str, str]
    params: Mapping[str, object]
    capabilities: str = ""
    """What a planner may name, as JSON; empty where nothing is planned."""


def create(
    transaction: Transaction, order: Order, *, execution: str, conversation: str
) -> ExecutionCase:
    """An idle execution with its steps, edges and pins. Raises ``WorkflowRefused``."""
    unit, now, definition = transaction.unit, transaction.now, order.definition
    identifier = _identifier(unit, execution)
    values = checked_params(definition, order.params)
    if conversation and (other := unit.driven_by(conversation)) is not None:
        raise WorkflowRefused(
            "conversation_busy",
            f"This conversation drives workflow {other.workflow} already ({other.id}).",
            hint="Finish or abandon that one first.",
            details={"execution_id": other.id},
        )
    pins = _pin_personas(unit, definition, order.personas, values)
    if order.capabilities:
        pins[CAPABILITIES] = sha256(order.capabilities)
        unit.pin(pins[CAPABILITIES], order.capabilities)
    unit.pin(definition.fingerprint, definition.canonical)
    row = ExecutionRow(
        identifier, definition.name, definition.fingerprint, json.dumps(pins),
        json.dumps(values, ensure_ascii=False), "idle", "", conversation, 0, 0, "", now, None, now,
        None,
    )  # fmt: skip
    unit.save_execution(row)
    for index, step in enumerate(definition.steps):
        unit.save_step(StepRow(identifier, step.id, (index + 1) * SPACING))
        for need in step.needs:
            unit.save_edge(EdgeRow(identifier, need, step.id, "needs", now))
    case = ExecutionCase(transaction, row)
    case.record("workflow_created", workflow=definition.name, version=definition.fingerprint)
    return case


def checked_params(
    definition: WorkflowDefinition, params: Mapping[str, object]
) -> dict[str, object]:
    """Every parameter with its value or default. Raises ``WorkflowRefused`` (``params_invalid``)."""
    faults = [f"there is no parameter {name!r}" for name in params if name not in definition.params]
    values: dict[str, object] = {}
    for name, parameter in definition.params.items():
        value = params.get(name, parameter.default)
        if parameter.required and value in (None, ""):
            faults.append(f"{name} is missing" + _about(parameter.description))
        if parameter.choices and value is not None and value not in parameter.choices:
            choices = ", ".join(map(str, parameter.choices))
            faults.append(f"{name} must be one of {choices}")
        values[name] = value
    try:
        too_long = len(json.dumps(values, allow_nan=False)) > _LARGEST
    except (TypeError, ValueError, RecursionError):
        raise _params(definition, ["parameters must be plain JSON"]) from None
    if too_long:
        faults.append(f"parameters are longer than {_LARGEST} characters")
    if faults:
        raise _params(definition, faults)
    return values


def _params(definition: WorkflowDefinition, faults: list[str]) -> WorkflowRefused:
    names = ", ".join(definition.params) or "none"
    return WorkflowRefused(
        "params_invalid",
        f"Workflow {definition.name}: {'; '.join(faults)}.",
        hint=f"Parameters: {names}.",
        details={"faults": faults},
    )


def _about(description: str) -> str:
    return f" ({description})" if description else ""


def _identifier(unit: WorkflowUnit, requested: str) -> str:
    if not requested:
        return mint("exec")
    if not _NAMEABLE.fullmatch(requested):
        raise WorkflowRefused(
            "execution_id_invalid",
            f"{requested!r} cannot name an execution.",
            hint="Use 1 to 128 letters, digits, dots, dashes and underscores.",
        )
    if unit.execution(requested) is not None:
        raise WorkflowRefused(
            "execution_exists",
            f"There is an execution {requested} already.",
            details={"execution_id": requested},
        )
    return requested


def _pin_personas(
    unit: WorkflowUnit,
    definition: WorkflowDefinition,
    personas: Mapping[str, str],
    params: Mapping[str, object],
) -> dict[str, str]:
    """The hashes of all personas that may be needed. Raises ``persona_unknown``."""
    named = [
        str(fill(step.persona, {"params": params})) for step in definition.steps if step.persona
    ]
    missing = sorted({name for name in named if name not in personas})
    if missing:
        raise WorkflowRefused(
            "persona_unknown",
            f"Workflow {definition.name} needs the persona {missing[0]!r}, which does not exist.",
            hint=f"There are: {', '.join(sorted(personas)) or 'none'}.",
            details={"missing": missing},
        )
    if definition.plans:
        named = list(personas)  # a plan may name any of them
    pins: dict[str, str] = {}
    for name in sorted(set(named)):
        pins[name] = sha256(personas[name])
        unit.pin(pins[name], personas[name])
    return pins
