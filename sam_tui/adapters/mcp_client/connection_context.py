"""The program's services for a connection: starting and reaching servers, asking, and storing logins."""

import hashlib
import importlib
import json
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.adapters.mcp_client.tool_descriptions import (
    RawTool,
    RememberedTools,
    plain,
    without_secrets,
)
from sam_tui.core.agent.drivers.sampling import Sampled, SamplingRequest
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Question
from sam_tui.core.ports.processes.piped import PipedPrograms, PipedRequest
from sam_tui.core.ports.processes.sandbox import AskOutside, Network
from sam_tui.core.ports.web import UrlGuard
from sam_tui.core.tooling.questions import HostQuestions


@dataclass(frozen=True, slots=True)
class Caller:
    """The conversation and the call for which a server acts."""

    conversation: ConversationId
    call: CallId


NO_OUTPUT = "(no output)"
"""The text of a result that has none."""
Callers = Callable[[], Caller]


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """The terms for starting a server. ``writable`` and ``readable`` are real paths."""

    confined: bool
    writable: tuple[str, ...]
    network: Network
    ask: AskOutside | None
    readable: tuple[str, ...] = ()


def program_request(
    settings: ServerSettings, terms: ServerTerms, root: str, on_error: Callable[[str], None]
) -> PipedRequest:
    """The program of a server with its sandbox, environment and network; ``on_error`` gets its errors."""
    return PipedRequest(
        (settings.command, *settings.args),
        settings.cwd or root,
        terms.confined,
        terms.writable,
        on_error,
        environment=settings.env,
        network=terms.network,
        ask=terms.ask,
        readable=terms.readable,
    )


def load_lifetime() -> ModuleType:
    """Import the module of a server's run and the SDK below it: half a second, so on a thread, with
    garbage collection off."""
    import gc

    enabled = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module("sam_tui.adapters.mcp_client.lifetime")
    finally:
        if enabled:
            gc.enable()


class LoginTexts(Protocol):
    """Stores private texts by file path. Each call may block on the keyring.

    ``read`` raises ``PermissionError`` for a text that the keyring does not hand out now.
    """

    def read(self, path: str, most: int) -> str: ...
    def write(self, path: str, text: str) -> None: ...
    def remove(self, path: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request that requires a login: its HTTP status, and its ``WWW-Authenticate``."""

    status: int
    header: str


@dataclass(frozen=True, slots=True)
class Logins:
    """Logins at servers, each in a file of a private folder.

    ``browse`` opens a page for the person; None if nobody may log in now. ``learn`` gets every
    token, so that none is shown; ``texts`` keeps one text for each file. ``refusal`` is the
    server's refusal that the login answers; None: the stored one.
    """

    folder: str
    browse: Callable[[str], None] | None
    learn: Callable[[Mapping[str, str]], None]
    texts: LoginTexts
    refusal: Refusal | None = None

    def path(self, settings: ServerSettings) -> str:
        """The file of the login at a server."""
        names = json.dumps([settings.name, settings.file, settings.url])
        return os.path.join(self.folder, f"{hashlib.sha256(names.encode()).hexdigest()[:32]}.json")

    def has(self, settings: ServerSettings) -> bool:
        """Whether a login of this server is stored."""
        return bool(settings.url) and os.path.exists(self.path(settings))

    def forget(self, settings: ServerSettings) -> bool:
        """Delete the login of a server; true if one was stored. Raises ``OSError``."""
        path = self.path(settings)
        with suppress(FileNotFoundError):
            os.unlink(challenge_path(path))
        return self.texts.remove(path)


def challenge_path(path: str) -> str:
    """Return the file of a refused request's challenge, next to the file of the server's login."""
    return f"{path}.challenge"


@dataclass(frozen=True, slots=True)
class ServerSurroundings:
    """``admit`` raises ``ToolError`` for a server that may not be started or reached.

    ``ask`` puts a question to the person; None if nobody answers. ``sample`` has the model answer a
    server, and raises ``SamError`` if it may not; None if no server is offered that. ``believes``
    says whether the file that names a server is still trusted, ``confines`` whether programs are
    confined now. ``mask`` masks the secrets in a text and changes nothing else.
    """

    remembered: RememberedTools
    root: str
    roots: tuple[str, ...]
    programs: Callable[[], PipedPrograms]
    url_guard: Callable[[ServerSettings], UrlGuard]
    admit: Callable[[ServerSettings, Callers], Awaitable[ServerTerms]]
    ask: Callable[[Caller, Question], Coroutine[Any, Any, str | None]]
    sample: Callable[[ConversationId, CallId, SamplingRequest], Awaitable[Sampled]] | None
    believes: Callable[[ServerSettings], bool]
    confines: Callable[[], bool]
    monotonic: Callable[[], float]
    logins: Logins
    mask: Callable[[str], str]

    def masked(self, tools: Sequence[RawTool]) -> list[RawTool]:
        """The tools that a server lists, without secrets."""
        return without_secrets(tools, self.mask)


async def agrees_to_change(server: str, tool: str, now: str, host: HostQuestions | None) -> bool:
    """Whether the person agrees to a tool whose description has the digest ``now``."""
    if host is None or host.approves_all:
        return host is not None
    name = plain(tool, 64)
    revision = f"{now[:32]}{now[-16:]}" or "0" * 48  # of a tool that is gone
    decision = await host.confirm(
        f"the MCP server {server} changed the description, arguments or hints of "
        f"{name} since it was allowed: earlier grants do not apply (changed: {revision})",
        once=f"use {name} as {server} describes it now",
        rule="changed-tool",
        revision=revision,
    )
    return decision.allowed
