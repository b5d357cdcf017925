"""What a confined command may reach outside of its folders, and how a person is asked for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from sam_tui.core.ports.terminals import CommandRequest, CommandResult

OutsideKind = Literal["write", "delete", "rename", "metadata", "connect"]
Network = Literal["on", "off"]
"""Whether confined commands reach the internet, loopback included."""
Shield = Literal["writes", "metadata", "signals", "sockets", "network", "secrets", "kernel"]


@dataclass(frozen=True, slots=True)
class OutsideAccess:
    """One thing that a confined command tried outside of what it may change.

    ``path`` is real and absolute; for a connection the socket's path, ``@name`` of an abstract one,
    or ``the network``. ``to`` is the new path of a rename. ``process``, ``pid`` and ``syscall`` say
    who tried and how; they are empty or 0 where that is only guessed from what was printed.
    """

    kind: OutsideKind
    path: str
    process: str = ""
    pid: int = 0
    syscall: str = ""
    to: str = ""


AskOutside = Callable[[OutsideAccess], Awaitable[bool]]
"""Asks for exactly one access, while the system call waits. True lets it happen.

Cancelled when the command ended meanwhile. The same access is not asked for twice in one run.
"""


@dataclass(frozen=True, slots=True)
class Protection:
    """One of the things that can be protected, whether it is here, and how or why not."""

    shield: Shield
    held: bool
    detail: str


ChangeKind = Literal["created", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a rehearsed command did to one file or folder of the workspace.

    ``path`` is relative to the workspace. ``diff`` is unified; it is empty for folders, links, binary
    or very large files, of which ``note`` says what there is to say. Modes are permission bits, None
    where there is no such file.
    """

    path: str
    kind: ChangeKind
    diff: str
    note: str = ""
    old_mode: int | None = None
    new_mode: int | None = None


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How a rehearsed command ended, and what it would change, in the order of paths."""

    result: "CommandResult"
    changes: tuple[FileChange, ...]


class Rehearsal(Protocol):
    """A copy-on-write branch of the workspace, on which commands run until it is committed or dropped."""

    @property
    def detail(self) -> str:
        """How the branch is made, in words for people."""
        ...

    async def run(self, request: "CommandRequest") -> Rehearsed:
        """Run a command on the branch, always confined. The changes are all since the branch began.

        Nothing is asked for: what the command tries outside of the workspace is refused.
        """
        ...

    def commit(self) -> None:
        """Make the changes real. Raises ``ToolError``, changing nothing, when the workspace changed."""
        ...

    def drop(self) -> None:
        """Forget the branch; nothing when it was committed."""
        ...


class Rehearsals(Protocol):
    """Begins rehearsals."""

    def open(self, workspace: str) -> Rehearsal:
        """A branch of a folder as it is now. Raises ``ToolError`` where none can be made."""
        ...
