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
"""Seconds a model may be silent between two bytes."""


@dataclass(frozen=True, slots=True)
class Options:
    """Paths as typed; empty ``model`` leaves it to be chosen.

    ``attended`` says whether a person can answer questions (or, for each one, who is asked that);
    ``responder`` answers before they do.
    ``request_timeout`` is in seconds between bytes. ``context_tokens`` is how much the model takes,
    where the person knows it better than the model says. ``mode`` None leaves it to the policy
    files, and to ``ask`` where those say nothing. ``topic`` is whose memory new
    conversations share; ``system_prompt`` and ``personality`` are ids of ``list_system_prompts``.
    ``profile`` adds the tools of one of ``sam_tools.PROFILES``.
    """

    workspace: str
    data_dir: str
    model: str = ""
    api_base: str = ""
    api_key: str = ""
    provider: "Route" = "auto"
    fallback_models: tuple[str, ...] = ()
    """Models that answer while ``model`` is overloaded or gone, in this order."""
    mode: "PermissionMode | None" = None
    add_dirs: tuple[str, ...] = ()
    offline: bool = False
    """Whether opening any model is refused."""
    max_turns: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    """In US dollars."""
    attended: "bool | Attends" = False
    responder: "Responder | None" = None
    request_timeout: float | None = None
    context_tokens: int | None = None
    system_prompt: str = "built-in:default"
    prompt_text: str = ""
    """The system prompt in words, in place of the one of that id."""
    prompt_appended: str = ""
    """Text appended to the system prompt."""
    personality: str = ""
    topic: str = ""
    workflow_mode: bool = False
    hand_out: tuple[str, ...] = ()
    """Roles whose steps of plans workers do."""
    disabled_tools: tuple[str, ...] = ()
    named_tools: tuple[str, ...] = ()
    """Tools and operations that there have to be."""
    denied: "tuple[Rule, ...]" = ()
    """Rules beside those of files: the parts of tools that options refuse."""
    sandbox: "SandboxChoice | None" = None
    """How commands are held; None leaves it to the policy files."""
    rehearse: bool = False
    """Whether commands that do more than read are tried on a copy of the workspace first."""
    network: "Network | None" = None
    """Whether they reach the internet; None leaves it to the policy files."""
    profile: str = ""
    mcp_config: tuple[str, ...] = ()
    """Files that name MCP servers, or their JSON, before all others."""
    strict_mcp_config: bool = False
    """Whether no other file counts."""
    client_servers: str = ""
    """Servers that a client hands in, as a file of them has it; each is asked for."""
    buffers: "EditorBuffers | None" = None
    """The editor's access to files, if an editor runs this program."""
    browse: "Callable[[str], None] | None" = None
    """Opens the page of a login at an MCP server; None if nobody may log in now."""
    agent: str | None = None
    """The command line of another agent (ACP) that answers in place of a model."""
    program: str = "sam-tui"
    """The name of this program in the lease of a conversation."""
    reads: bool = False
    """Whether stored conversations are only looked at, also on a disk that is full or read-only."""
    keeps_terminals: bool = False
    """Whether agents' terminal sessions outlive the program."""
    believed: "Mapping[str, str] | None" = None
    """Files of the workspace that tell the model something, with their SHA-256: these count, and
    nothing else that trust in a folder is about; None leaves it to the person's trust."""
    notes: tuple[str, ...] = ()
    """What of the folder's settings does not count, in words."""
