"""Commands on a branch of the workspace, whose changes are shown before they are made or dropped."""

from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult

ChangeKind = Literal["created", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file or folder of the workspace by a rehearsed command.

    ``path`` is relative to the workspace. ``diff`` is unified; for folders, links, binary and very
    large files it is empty and ``note`` describes the change. Modes are permission bits, None where
    there is no such file.
    """

    path: str
    kind: ChangeKind
    diff: str
    note: str = ""
    old_mode: int | None = None
    new_mode: int | None = None


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The result of a rehearsed command, and the changes it would make, in the order of paths."""

    result: CommandResult
    changes: tuple[FileChange, ...]


class Rehearsal(Protocol):
    """A copy-on-write branch of the workspace, on which commands run until it is committed or dropped."""

    @property
    def detail(self) -> str:
        """How the branch is made, in words for people."""
        ...

    async def run(self, request: CommandRequest) -> Rehearsed:
        """Run a command on the branch, always confined. The changes are all since the branch began.

        It raises no questions: accesses outside of the workspace are refused.
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
        """Return a branch of a folder in its present state. Raises ``ToolError`` if none can be made."""
        ...
