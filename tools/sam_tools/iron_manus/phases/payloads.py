"""The payload of each phase: one typed model for each, and the names of the fields that were ignored.

A payload is whitelisted: a field that its phase does not have changes nothing, and the answer names it.
The answer says so of fields that the engine owns (indexes, statuses, counts).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)

from sam_tools.iron_manus.phases.meta_prompt import MetaPrompt, MetaPromptError, read_meta_prompt
from sam_tools.iron_manus.phases.roles import RoleChoice, model_choice, named_choice
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.workflow.views import WorkflowRefused

MOST_TODOS = 50
"""The most todos of a plan; seed 000 warns from so many on."""
ENGINE_OWNED = frozenset({
    "session_id", "current_phase", "current_task_index", "current_todos", "phase_transition_count",
    "reasoning_effectiveness", "detected_role", "more_tasks_pending", "completion_percentage",
    "last_completion_percentage", "verification_failure_reason", "current_objective",
    "initial_objective", "session_workspace", "awaiting_role_selection", "last_activity",
})  # fmt: skip

Text = Field(min_length=1, max_length=100_000)


class _Payload(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, str_strip_whitespace=True)


class Handoff(_Payload):
    """A text that a role leaves for the others, in that role's file of the session folder."""

    role: str = Field(min_length=1, max_length=40)
    content: str = Text


class QueryPayload(_Payload):
    """The goal as understood; the role, named or as a model's answer with a JSON object."""

    interpreted_goal: str = Text
    selected_role: str = Field(default="", max_length=40)
    claude_response: str = Field(default="", max_length=100_000)


class EnhancePayload(_Payload):
    """The goal, completed by its unstated parts."""

    enhanced_goal: str = Text


class StatementSource(_Payload):
    """The source of a piece of knowledge, and its confidence: 0 to 1."""

    source: str = Field(min_length=1, max_length=2000)
    confidence: float = Field(ge=0, le=1)
    note: str = Field(default="", max_length=2000)


def _listed_knowledge(value: object) -> object:
    """A list, as the seed has it, is a text of points."""
    if not isinstance(value, list):
        return value
    points = cast("list[object]", value)
    texts = (p if isinstance(p, str) else json.dumps(p, ensure_ascii=False) for p in points)
    return "\n".join(f"- {text}" for text in texts)


class KnowledgePayload(_Payload):
    """The collected knowledge; without it, ``synthesized_knowledge.md`` of the session folder is used."""

    knowledge_gathered: Annotated[str, BeforeValidator(_listed_knowledge)] = Field(
        default="", max_length=200_000
    )
    sources: tuple[StatementSource, ...] = Field(default=(), max_length=100)
    handoffs: tuple[Handoff, ...] = Field(default=(), max_length=20)


class TodoItem(_Payload):
    """One todo. ``content`` may be a meta-prompt; ``meta_prompt`` may hold it apart."""

    id: str = Field(default="", max_length=100)
    content: str = Field(min_length=1, max_length=40_000)
    priority: Literal["low", "medium", "high"] = "medium"
    meta_prompt: str | dict[str, object] | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, data: object) -> object:
        """Accept a text alone as the content; ``title`` and ``task`` are other names of it."""
        if isinstance(data, str):
            return {"content": data}
        if not isinstance(data, Mapping):
            return data
        fields = dict(cast("Mapping[str, Any]", data))
        for other in ("title", "task"):
            if not fields.get("content") and fields.get(other):
                fields["content"] = fields[other]
        if fields.get("id") is not None:
            fields["id"] = str(fields["id"])
        return fields


class PlanPayload(_Payload):
    """A plan: its todos in order."""

    plan_created: Literal[True]
    todos_with_metaprompts: tuple[TodoItem, ...] = Field(min_length=1, max_length=MOST_TODOS)


class Evidence(_Payload):
    """The evidence of a success: files that were made or changed, by their paths."""

    files: tuple[str, ...] = Field(default=(), max_length=20)


class ExecutePayload(_Payload):
    """The outcome of the current todo. ``handoff`` is stored in the role's file of the session folder."""

    execution_success: StrictBool
    summary: str = Field(default="", max_length=20_000)
    evidence: Evidence = Evidence()
    handoff: str = Field(default="", max_length=200_000)


class VerifyPayload(_Payload):
    """The verdict on the whole."""

    verification_passed: StrictBool
    reason: str = Field(default="", max_length=20_000)


Payload = (
    QueryPayload | EnhancePayload | KnowledgePayload | PlanPayload | ExecutePayload | VerifyPayload
)
MODELS: dict[str, type[Payload]] = {
    "QUERY": QueryPayload,
    "ENHANCE": EnhancePayload,
    "KNOWLEDGE": KnowledgePayload,
    "PLAN": PlanPayload,
    "EXECUTE": ExecutePayload,
    "VERIFY": VerifyPayload,
}


@dataclass(frozen=True, slots=True)
class Received:
    """A payload as read. ``ignored`` says of each field that was left out why."""

    payload: Payload
    ignored: tuple[str, ...]


def read_payload(phase: str, value: Mapping[str, object] | None) -> Received:
    """The payload of a phase. Raises ``WorkflowRefused`` (``payload_invalid``) naming every fault."""
    model = MODELS[phase]
    fields = dict(value or {})
    try:
        payload = model.model_validate(fields)
    except ValidationError as error:
        raise invalid(phase, faults_of(error, "payload")) from None
    unknown = [name for name in fields if name not in model.model_fields]
    return Received(payload, tuple(f"{name[:60]} ({_why(name, phase)})" for name in unknown))


def _why(name: str, phase: str) -> str:
    return "the engine keeps that itself" if name in ENGINE_OWNED else f"no field of {phase}"


def invalid(phase: str, faults: list[str]) -> WorkflowRefused:
    """The refusal of a payload."""
    names = [
        f"{name}{'' if field.is_required() else '?'}"
        for name, field in MODELS[phase].model_fields.items()
    ]
    return WorkflowRefused(
        "payload_invalid",
        f"The payload of {phase} does not fit: {'; '.join(faults[:20])}.",
        hint=f"It has: {', '.join(names)}. Nothing has moved; send it again.",
        phase=phase,
        faults=faults[:20],
    )


def chosen_role(payload: QueryPayload) -> tuple[RoleChoice | None, str]:
    """Return the role that came with the goal, and why another one was not taken."""
    if payload.selected_role:
        choice = named_choice(payload.selected_role)
    elif payload.claude_response:
        choice = model_choice(payload.claude_response)
    else:
        return None, ""
    return (None, choice) if isinstance(choice, str) else (choice, "")


def plan_tasks(payload: PlanPayload) -> tuple[list[dict[str, object]], list[str]]:
    """The todos as items of the engine, and warnings. Raises ``WorkflowRefused``.

    Every todo begins as pending, with any status given; a delegated one carries its meta-prompt.
    """
    faults: list[str] = []
    warnings: list[str] = []
    tasks: list[dict[str, object]] = []
    used_ids: set[str] = set()
    for position, todo in enumerate(payload.todos_with_metaprompts):
        where = f"payload.todos_with_metaprompts.{position}"
        identifier = todo.id or str(position + 1)
        if identifier in used_ids:
            faults.append(f"{where}.id: {identifier!r} is there twice")
        used_ids.add(identifier)
        task: dict[str, object] = {
            "id": identifier,
            "title": todo.content,
            "priority": todo.priority,
            "type": "DirectExecution",
        }
        try:
            meta = _meta_prompt(todo)
        except MetaPromptError as error:
            faults.append(f"{where}: {error}")
            continue
        if meta is not None:
            warnings += [f"todo {identifier}: {warning}" for warning in meta.warnings]
            task |= {"type": "TaskAgent", "role": meta.role, "meta_prompt": meta.text()}
        tasks.append(task)
    if faults:
        raise invalid("PLAN", faults)
    return tasks, warnings


def _meta_prompt(todo: TodoItem) -> MetaPrompt | None:
    """The meta-prompt of a todo, from its content or apart, as text or as the seed's object."""
    declared = todo.meta_prompt
    if declared is None:
        return read_meta_prompt(todo.content)
    prompt = read_meta_prompt(declared if isinstance(declared, str) else _of_object(declared))
    if prompt is None:
        raise MetaPromptError("incomplete", "meta_prompt needs a ROLE and a PROMPT")
    return prompt


def _of_object(fields: Mapping[str, object]) -> str:
    """The seed's object {role_specification, context_parameters, instruction_block ...} as text."""

    def text(name: str) -> str:
        value = fields.get(name)
        return value.strip() if isinstance(value, str) else ""

    context = fields.get("context_parameters")
    domain: object = (
        cast("Mapping[str, Any]", context).get("domain") if isinstance(context, Mapping) else ""
    )
    role = text("role_specification").removeprefix("(ROLE:").removesuffix(")").strip()
    meta = MetaPrompt(
        role,
        text("instruction_block"),
        domain if isinstance(domain, str) else "",
        text("output_requirements"),
    )
    return meta.text()
