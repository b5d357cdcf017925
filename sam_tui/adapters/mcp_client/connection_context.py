"""What a connection is given: how servers are started, reached and asked for, all of it guarded."""

import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.adapters.mcp_client.tool_cache import RememberedTools
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Question
from sam_tui.core.ports.processes.piped import PipedPrograms
from sam_tui.core.ports.processes.sandbox import AskOutside, Network
from sam_tui.core.ports.web import WebDoor


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a server does what it does."""

    conversation: ConversationId
    call: CallId


NO_OUTPUT = "(no output)"
"""What a result without a text says."""
Callers = Callable[[], Caller]


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """How a server may be started. ``writable`` and ``readable`` are real paths."""

    confined: bool
    writable: tuple[str, ...]
    network: Network
    ask: AskOutside | None
    readable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Logins:
    """Where logins at servers are kept: a private folder.

    ``browse`` opens a page for the person; None where nobody may log in now. ``learn`` is told every
    token, so that none is shown; ``write`` writes a file for its owner alone.
    """

    folder: str
    browse: Callable[[str], None] | None
    learn: Callable[[Mapping[str, str]], None]
    write: Callable[[str, str], None]

    def path(self, settings: ServerSettings) -> str:
        """The file of the login at a server."""
        names = json.dumps([settings.name, settings.file, settings.url])
        return os.path.join(self.folder, f"{hashlib.sha256(names.encode()).hexdigest()[:32]}.json")

    def has(self, settings: ServerSettings) -> bool:
        """Whether there is one."""
        return bool(settings.url) and os.path.exists(self.path(settings))

    def forget(self, settings: ServerSettings) -> bool:
        """Delete one; whether there was one. Raises ``OSError``."""
        try:
            os.unlink(self.path(settings))
        except FileNotFoundError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class ServerSurroundings:
    """``admit`` raises ``ToolError`` for a server that may not be started or reached.

    ``ask`` puts a question to the person; None where nobody answers. ``believes`` says whether the
    file that names a server is still trusted, ``confines`` whether programs are held now.
    """

    remembered: RememberedTools
    root: str
    roots: tuple[str, ...]
    programs: Callable[[], PipedPrograms]
    door: Callable[[ServerSettings], WebDoor]
    admit: Callable[[ServerSettings, Callers], Awaitable[ServerTerms]]
    ask: Callable[[Caller, Question], Awaitable[str | None]]
    believes: Callable[[ServerSettings], bool]
    confines: Callable[[], bool]
    monotonic: Callable[[], float]
    logins: Logins
