"""Worker roles: persona files that name tools, and what of them a planner may count on."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sam_tui.core.errors import UsageError

LLM_STEP = "LLMStepExecutor"
"""The action that is a step of the model itself: kind ``llm``."""
AGENT_STEP = "AgentStepExecutor"
"""A step that a role does with its persona and tools as an agent: kind ``agent``."""
ORCHESTRATOR = "Orchestrator"
_ENGINE = {
    LLM_STEP: (
        "asks the model: {prompt} or {prompt_template, prompt_params} or {messages: [{role, content}]} or "
        "{data_from_previous_step: true}; model, temperature and maxTokens where they matter; "
        "isFinalAnswer true on the last step makes it the answer"
    ),
    AGENT_STEP: "works on {prompt} by itself with the tools of its role",
}


@dataclass(frozen=True, slots=True)
class WorkerRole:
    """Who may be assigned a step, and the tools it has, by the names that the registry knows."""

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
    """What a planner may name; ``callable_tools`` are descriptions by name, None: not known here."""
    capabilities: list[Capability] = []
    for role in roles:
        tools: dict[str, str] = {}
        missing: list[str] = []
        for name in role.tools:
            if name == LLM_STEP and role.name == ORCHESTRATOR:
                tools[name] = _ENGINE[name]
            elif callable_tools is None or name in callable_tools:
                tools[name] = (callable_tools or {}).get(name, "")
            else:
                missing.append(name)
        if role.name != ORCHESTRATOR:
            tools[AGENT_STEP] = _ENGINE[AGENT_STEP]
        capabilities.append(Capability(role.name, role.description, tools, tuple(missing)))
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
        raise UsageError(f"The steps of {ORCHESTRATOR} are done here.")
    if unknown := [role for role in roles if role not in registered]:
        names = ", ".join(sorted(role for role in registered if role != ORCHESTRATOR))
        raise UsageError(f"There is no role {unknown[0]!r}.", hint=f"There are: {names}.")
