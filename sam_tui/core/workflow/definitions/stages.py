"""The worker roles that a planner may assign, with their tools, and the plan JSON of seed 002.

A worker role is a persona file that names tools. A plan is stages of sub-tasks:
``[[{stepId, assigned_agent_role, tool_name, sub_task_input, narrative_step}, ...], ...]``. The sub-tasks of
a stage run side by side, each stage waits for the one before it. Spec C1 has the rules of the original.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sam_tui.core.errors import UsageError
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.workflow.definitions.model import STEP_ID, Step, SubTask

LLM_STEP = "LLMStepExecutor"
"""The action of a step in which a model answers without tools: kind ``llm``."""
AGENT_STEP = "AgentStepExecutor"
"""The action of a step in which an agent works with the persona and tools of a role: kind ``agent``."""
ORCHESTRATOR = "Orchestrator"
_ENGINE = {
    LLM_STEP: (
        "asks the model: {prompt} or {prompt_template, prompt_params} or {messages: [{role, content}]} or "
        "{data_from_previous_step: true}; model, temperature and maxTokens where they matter; "
        "isFinalAnswer true on the last step makes it the answer"
    ),
    AGENT_STEP: "works on {prompt} by itself with the tools of its role",
}
Fields = Mapping[str, object]
FORM = """\
Answer with a JSON array of stages; each stage is an array of sub-tasks that run side by side, and each \
stage waits for the one before it. A sub-task is {"stepId": "unique", "assigned_agent_role": "a role", \
"tool_name": "a tool of that role", "sub_task_input": {...}, "narrative_step": "what it does and why"}. \
An input uses what an earlier stage came to as @{outputs.STEP_ID.result_data}, also inside a text and \
with a path below it, such as @{outputs.STEP_ID.result_data.results.0.title}; processed_result_data is \
the same, shortened. Name only steps of earlier stages. If the task cannot be achieved, answer \
{"steps": [], "summary": "not achievable, because ..."}."""
_KEYS = {"stepId", "assigned_agent_role", "tool_name", "sub_task_input", "narrative_step"}
_LIMITS = {"timeout", "attempts", "max_calls", "on_fail"}
"""Further fields of a sub-task, as those of a step."""
_PREVIOUS = "{previous_step_output}"
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_]\w{0,63})\s*\}\}|\{(previous_step_output)\}")


@dataclass(frozen=True, slots=True)
class WorkerRole:
    """A role that a step may be assigned to, and its tools, by the names that the registry knows."""

    name: str
    description: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Capability:
    """A role with the tools of it that can be called, each with a description; and those that cannot."""

    role: str
    description: str
    tools: Mapping[str, str]
    missing: tuple[str, ...] = ()


def capabilities_of(
    roles: Sequence[WorkerRole], callable_tools: Mapping[str, str] | None
) -> tuple[Capability, ...]:
    """Return what a planner may name; ``callable_tools`` are descriptions by name, None if unknown."""
    capabilities: list[Capability] = []
    for role in roles:
        about = dict.fromkeys(role.tools, "") if callable_tools is None else dict(callable_tools)
        if role.name == ORCHESTRATOR:
            about[LLM_STEP] = _ENGINE[LLM_STEP]
        tools = {n: about.get(n, "") for n in role.tools if n in about}
        missing = tuple(name for name in role.tools if name not in about)
        if role.name != ORCHESTRATOR:
            tools[AGENT_STEP] = _ENGINE[AGENT_STEP]
        capabilities.append(Capability(role.name, role.description, tools, missing))
    return tuple(capabilities)


def capabilities_json(capabilities: Sequence[Capability]) -> str:
    """The seed's ``agentCapabilities.json``: a list of role, description and tools."""
    rows = [
        {
            "role": capability.role,
            "description": capability.description,
            "tools": [{"name": n, "description": d} for n, d in capability.tools.items()],
        }
        | ({"missing": list(capability.missing)} if capability.missing else {})
        for capability in capabilities
    ]
    return json.dumps(rows, ensure_ascii=False, indent=2)


def read_capabilities(text: str) -> tuple[Capability, ...]:
    """Capabilities as ``capabilities_json`` wrote them."""
    return tuple(
        Capability(
            row["role"],
            row["description"],
            {tool["name"]: tool["description"] for tool in row["tools"]},
            tuple(row.get("missing", ())),
        )
        for row in json.loads(text)
    )


def require_roles(roles: Sequence[str], registered: Collection[str]) -> None:
    """Raise ``UsageError`` for a role that cannot be handed out."""
    if ORCHESTRATOR in roles:
        raise UsageError(
            f"{ORCHESTRATOR} cannot be handed out: the process that runs a plan does its steps.",
            hint=f"Leave {ORCHESTRATOR} out of the roles.",
        )
    if unknown := [role for role in roles if role not in registered]:
        names = ", ".join(sorted(role for role in registered if role != ORCHESTRATOR))
        raise UsageError(f"There is no role {unknown[0]!r}.", hint=f"There are: {names}.")


class Sampling(BaseModel):
    """The model options in the input of an ``LLMStepExecutor``."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    model: Annotated[str, Field(max_length=200, pattern=r"^[\w./:@+-]*$")] = ""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000, alias="maxTokens")

    @property
    def options(self) -> dict[str, object]:
        """The fields of requests to a model, those that are set."""
        return self.model_dump(exclude={"model"}, exclude_none=True)


def sampling_of(step: Step) -> Sampling | None:
    """The model options in the input of an llm step that a plan has; None for any other step."""
    task = step.task if step.kind == "llm" else None
    return Sampling.model_validate(task.input) if task else None


def is_stages(value: object) -> bool:
    """Whether a value has the form of stages: a list of lists, or of sub-tasks one after the other."""
    return isinstance(value, list) and any(
        isinstance(part, list) or (isinstance(part, Mapping) and "stepId" in part)
        for part in cast("list[object]", value)
    )


class StageReader:
    """Reads one plan: ``steps`` by their places, every fault, and all ids, also of faulty ones."""

    def __init__(self, capabilities: Sequence[Capability]) -> None:
        self._roles = {capability.role: capability for capability in capabilities}
        self.ids: set[str] = set()
        self.steps: list[tuple[str, Step]] = []
        self.faults: list[str] = []

    def read(self, stages: Sequence[object]) -> None:
        """Take every stage in its order."""
        before: list[str] = []
        for number, item in enumerate(stages):
            stage = [cast("object", item)] if isinstance(item, Mapping) else item
            if not isinstance(stage, list):
                self.faults.append(f"stages[{number}]: a stage is a list of sub-tasks")
                continue
            names: list[str] = []
            for index, task in enumerate(cast("list[object]", stage)):
                position = f"stages[{number}][{index}]"
                faults = list(self._faults(task))
                self.faults += [f"{position}{fault}" for fault in faults]
                if isinstance(task, Mapping):
                    fields = cast("Fields", task)
                    if isinstance(fields.get("stepId"), str):
                        names.append(str(fields["stepId"]))
                    if not faults:
                        self._take(position, fields, before)
            before = names or before

    def _faults(self, item: object) -> Iterator[str]:
        """Yield the faults of a sub-task by itself, each beginning with its field."""
        if not isinstance(item, Mapping):
            yield ": a sub-task is an object"
            return
        fields = cast("Fields", item)
        for name in sorted(_KEYS - fields.keys()):
            yield f".{name}: is missing"
        for name in sorted(fields.keys() - _KEYS - _LIMITS):
            yield f".{name}: is not known"
        if "stepId" in fields:
            yield from self._id_faults(fields["stepId"])
        if "narrative_step" in fields and not _text(fields["narrative_step"]):
            yield ".narrative_step: must say what the step does"
        if "sub_task_input" in fields and not isinstance(fields["sub_task_input"], Mapping):
            yield ".sub_task_input: must be an object"
        if "assigned_agent_role" in fields and "tool_name" in fields:
            yield from self._assignment_faults(fields)

    def _id_faults(self, id_: object) -> Iterator[str]:
        if not isinstance(id_, str) or not STEP_ID.fullmatch(id_):
            yield ".stepId: an id is up to 64 letters, digits, dashes and underscores"
        elif id_ in self.ids:
            yield f".stepId: {id_!r} is used twice"
        else:
            self.ids.add(id_)

    def _assignment_faults(self, fields: Fields) -> Iterator[str]:
        role, tool = _text(fields["assigned_agent_role"]), _text(fields["tool_name"])
        capability = self._roles.get(role)
        if capability is None:
            names = ", ".join(self._roles) or "none"
            yield f".assigned_agent_role: there is no role {role!r}; there are {names}"
        elif tool not in capability.tools:
            tools = ", ".join(capability.tools) or "none"
            yield f".tool_name: {role} has no tool {tool!r}; it has {tools}"
        elif tool in (LLM_STEP, AGENT_STEP):
            payload = fields.get("sub_task_input")
            if isinstance(payload, Mapping):
                yield from _prompt_faults(tool, cast("Fields", payload))

    def _take(self, position: str, fields: Fields, before: Sequence[str]) -> None:
        role, tool = _text(fields["assigned_agent_role"]), _text(fields["tool_name"])
        payload = cast("Fields", fields["sub_task_input"])
        values: dict[str, object] = {name: fields[name] for name in _LIMITS & fields.keys()}
        values |= {
            "id": fields["stepId"],
            "description": _text(fields["narrative_step"])[:2000],
            "needs": list(before),
            "task": SubTask(role=role, tool=tool, input=dict(payload)),
            "on_fail": values.get("on_fail", "replan"),
        }
        if tool == LLM_STEP:
            values |= {"kind": "llm", "prompt": prompt_of(payload, before)}
        elif tool == AGENT_STEP:
            tools = [t for t in self._roles[role].tools if t != AGENT_STEP]
            values |= {"persona": role, "prompt": prompt_of(payload, before), "tools": tools}
        else:
            values |= {"kind": "tool", "tool": tool, "arguments": dict(payload), "persona": role}
        try:
            self.steps.append((position, Step.model_validate(values)))
        except ValidationError as error:
            self.faults += faults_of(error, position)


def _prompt_faults(tool: str, payload: Fields) -> Iterator[str]:
    """Yield the faults in the input of a step that asks a model."""
    if not prompt_of(payload, ()):
        yield ".sub_task_input: needs a prompt, a prompt_template or messages"
    if tool == LLM_STEP:
        try:
            Sampling.model_validate(dict(payload))
        except ValidationError as error:
            yield from faults_of(error, ".sub_task_input")


def prompt_of(payload: Fields, before: Sequence[str]) -> str:
    """Return the model's prompt: messages, else a template, else a prompt, else the previous outputs."""
    previous = "\n\n".join(f"@{{outputs.{step}.processed_result_data?}}" for step in before)
    previous = previous or "(there is no earlier step)"
    return (
        _messages(payload.get("messages"))
        or _template(payload, previous)
        or _text(payload.get("prompt"))
        or (previous if payload.get("data_from_previous_step") else "")
    )


def _messages(messages: object) -> str:
    if not isinstance(messages, list):
        return ""
    parts = [cast("Fields", m) for m in cast("list[object]", messages) if isinstance(m, Mapping)]
    return "\n\n".join(f"{m.get('role', 'user')}: {m.get('content', '')}" for m in parts)


def _template(payload: Fields, previous: str) -> str:
    """The template with ``{{ name }}`` and ``{previous_step_output}`` filled in, once."""
    params = payload.get("prompt_params")
    values: Fields = cast("Fields", params) if isinstance(params, Mapping) else {}

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        filled = values.get(name, _PREVIOUS if name == "previous_step_output" else match[0])
        return previous if filled == _PREVIOUS else str(filled)

    return _PLACEHOLDER.sub(value, _text(payload.get("prompt_template")))


def to_stages(steps: Sequence[Step]) -> list[list[dict[str, object]]]:
    """Steps as the seed's stages: each in the first stage after everything that it needs."""
    needs = {step.id: step.needs for step in steps}
    level: dict[str, int] = {}
    for id_ in TopologicalSorter(needs).static_order():
        level[id_] = max((level[need] + 1 for need in needs[id_]), default=0)
    stages: list[list[dict[str, object]]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for step in steps:
        stages[level[step.id]].append(sub_task(step))
    return stages


def sub_task(step: Step) -> dict[str, object]:
    """A step as the seed writes it; one of the engine's own form as the nearest action."""
    task = step.task
    if task is None:
        payload: dict[str, object] = dict(step.arguments) if step.tool else {"prompt": step.prompt}
        tool = step.tool or (LLM_STEP if step.kind == "llm" else AGENT_STEP)
        task = SubTask(role=step.persona or ORCHESTRATOR, tool=tool, input=payload)
    return {
        "stepId": step.id,
        "assigned_agent_role": task.role,
        "tool_name": task.tool,
        "sub_task_input": task.input,
        "narrative_step": step.description or step.prompt[:200] or step.id,
    }


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
