"""MCP servers that the agent may use: how they stand, for people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sam_tui.core.accesses import Access
from sam_tui.core.ids import NO_CONVERSATION, ConversationId

ServerSource = Literal["user", "project", "flag", "client", "bundle"]
"""Who configured it: the person, the project, ``--mcp-config``, a client (an editor) or a bundle."""
ServerStanding = Literal["waiting", "starting", "ready", "ended", "failed", "untrusted", "disabled"]
"""``waiting``: not yet started. An ``ended`` server is started again by the next call."""


@dataclass(frozen=True, slots=True)
class ServerReport:
    """One server. ``target`` is its command line or URL, with no value that may be secret.

    ``tools`` are the names the model knows, ``left_out`` says why others are not offered; ``log`` is
    the end of its standard error and its log. ``version`` is the protocol's, once known;
    ``instructions`` are the server's own; ``login`` says whether a login is stored.
    """

    name: str
    source: ServerSource
    file: str
    kind: Literal["stdio", "http"]
    target: str
    standing: ServerStanding
    tools: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    error: str = ""
    log: str = ""
    version: str = ""
    instructions: str = ""
    login: bool = False
    destructive: tuple[str, ...] = ()
    """The tools that the server declares destructive."""

    @property
    def marked_tools(self) -> tuple[str, ...]:
        """The tools, with a remark at those that the server calls destructive."""
        remark = "  (the server calls it destructive)"
        return tuple(name + remark * (name in self.destructive) for name in self.tools)


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt of a server, and the names of its arguments in their order."""

    server: str
    name: str
    about: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerNames:
    """The names of servers in messages: ``SERVER:URI`` of resources and templates, and prompts."""

    resources: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value that a person types for an argument of a prompt, or of a template of resources."""

    server: str
    kind: Literal["prompt", "template"]
    name: str
    argument: str
    value: str
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    """The values of the arguments before it, by name."""


class McpServers(Protocol):
    """All MCP servers of one runtime."""

    def begin(self, name: str = "") -> None:
        """Start the server of this name, or every server that may start, in the background. Running servers
        stay."""
        ...

    def learn_secrets(self) -> None:
        """Know the secrets in the settings of all servers, so that they are masked; starts none."""
        ...

    async def arrive(self, conversation: ConversationId = NO_CONVERSATION) -> None:
        """Add the tools of servers that have started meanwhile, before a person's message is answered."""
        ...

    async def settled(self, seconds: float) -> bool:
        """Wait until none is starting; False when the time was too short."""
        ...

    async def names(self) -> ServerNames:
        """The resources and prompts that messages may name, of the servers that answer in time."""
        ...

    async def complete(self, typed: TypedValue) -> Sequence[str]:
        """Return the values that the server proposes for the typed text; empty if it proposes none."""
        ...

    def accesses(self, name: str) -> Sequence[Access]:
        """Return the accesses of a call, by the server's last tool list; empty if no usable server has
        the tool. Starts no server."""
        ...

    async def log_in(self, name: str, browse: Callable[[str], None]) -> None:
        """Have the person log in at a server, and connect to it.

        ``browse`` is called with the address of the page, in a thread. Raises ``ToolError``; if it is
        cancelled, nothing has changed.
        """
        ...

    def forget_login(self, name: str) -> bool:
        """Delete the login at a server; whether there was one. Raises ``ToolError``."""
        ...

    def reports(self) -> Sequence[ServerReport]:
        """The state of every server that a file names, sorted by name."""
        ...

    async def close(self) -> None:
        """End all, at the same time."""
        ...
