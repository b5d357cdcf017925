"""The options of a front end."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sam_tui.adapters.llm.choice import Route
    from sam_tui.core.authorization.policy.policy import PermissionMode
    from sam_tui.core.authorization.rules.rule import Rule
    from sam_tui.core.inquiries import Attends, Responder
    from sam_tui.core.ports.files import EditorBuffers
    from sam_tui.core.ports.processes.sandbox import Network, SandboxChoice

DEFAULT_TIMEOUT = 300.0
"""Seconds for which a model may be silent between two bytes."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a front end: paths as typed; an empty ``model`` is chosen by the program.

    ``attended`` says whether a person can answer questions, for all or for each one; ``responder``
    answers before they do. ``request_timeout`` is in seconds between bytes. ``context_tokens`` is the
    model's context size, if the person knows it better than the model. ``mode`` None leaves it to the
    policy files, and without them to ``ask``. ``topic`` names the memory that new conversations share;
    ``system_prompt`` and ``personality`` are ids of ``list_system_prompts``. ``profile`` adds the tools
    of one of ``sam_tools.PROFILES``.
    """

    workspace: str
    data_dir: str
    model: str = ""
    api_base: str = ""
    api_key: str = ""
    provider: "Route" = "auto"
    fallback_models: tuple[str, ...] = ()
    """Models in place of ``model`` while that is overloaded or gone, in this order."""
    mode: "PermissionMode | None" = None
    add_dirs: tuple[str, ...] = ()
    offline: bool = False
    """Whether no model may be opened."""
    max_turns: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    """The budget of a turn in US dollars."""
    attended: "bool | Attends" = False
    responder: "Responder | None" = None
    request_timeout: float | None = None
    context_tokens: int | None = None
    system_prompt: str = "built-in:default"
    prompt_text: str = ""
    """The text of the system prompt, in place of a stored prompt."""
    prompt_appended: str = ""
    """Text appended to the system prompt."""
    personality: str = ""
    topic: str = ""
    workflow_mode: bool = False
    hand_out: tuple[str, ...] = ()
    """Roles whose plan steps are done by workers."""
    disabled_tools: tuple[str, ...] = ()
    named_tools: tuple[str, ...] = ()
    """Tools and operations that must exist."""
    denied: "tuple[Rule, ...]" = ()
    """Rules besides those of files: the parts of tools that options refuse."""
    sandbox: "SandboxChoice | None" = None
    """The confinement of commands; None leaves it to the policy files."""
    rehearse: bool = False
    """Whether commands that do more than read are tried on a copy of the workspace first."""
    network: "Network | None" = None
    """The network of commands; None leaves it to the policy files."""
    profile: str = ""
    mcp_config: tuple[str, ...] = ()
    """Files that name MCP servers, or JSON in their place; they precede all others."""
    strict_mcp_config: bool = False
    """Whether ``mcp_config`` replaces all other files."""
    client_servers: str = ""
    """Servers of a client, as JSON of a servers file; each needs an approval."""
    buffers: "EditorBuffers | None" = None
    """The editor's access to files, if an editor runs this program."""
    browse: "Callable[[str], None] | None" = None
    """Opens the page of a login at an MCP server; None if nobody may log in now."""
    agent: str | None = None
    """The command line of another agent (ACP) that answers in place of a model."""
    program: str = "sam-tui"
    """The name of this program in the lease of a conversation."""
    reads: bool = False
    """Whether stored conversations are only read, also from a full or read-only disk."""
    keeps_terminals: bool = False
    """Whether agents' terminal sessions outlive the program."""
    believed: "Mapping[str, str] | None" = None
    """Files of the workspace that instruct the model, with their SHA-256: these count, and nothing else
    that needs trust in a folder; None leaves it to the person's trust."""
    notes: tuple[str, ...] = ()
    """Settings of the folder that have no effect, in words."""
