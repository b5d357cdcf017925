"""Code: edits that can be taken back, the workspace's index, symbols and checkers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.accesses import Location
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.files import Files

# ---- edits


@dataclass(frozen=True, slots=True)
class Stamp:
    """The version of a file's content: it changes with every write (``mtime`` in nanoseconds)."""

    inode: int
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A regular file at one moment. ``data`` is its begin, up to the limit asked for.

    Of a link ``data`` is the path that it leads to. ``unsaved_size`` are the bytes of the whole content
    if an editor has another than the file.
    """

    data: bytes
    stamp: Stamp
    mode: int
    unsaved_size: int | None = None

    @property
    def whole(self) -> bool:
        """Whether ``data`` is the complete file."""
        size = self.stamp.size if self.unsaved_size is None else self.unsaved_size
        return len(self.data) >= size


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole file. ``before`` is the snapshot that the new content was made from; None if no file
    exists.

    Mode bits of a replaced file stay; ``mode`` sets them, ``executable`` only those for running.
    ``link`` makes a symbolic link that leads to ``data``, where nothing is.
    """

    where: Location
    data: bytes
    before: Snapshot | None
    mode: int | None = None
    executable: bool | None = None
    link: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Give a file or folder another name, which must be free; ``prune`` as in ``Drop``."""

    source: Location
    target: Location
    prune: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete a file, or a link itself. With ``before`` only while it is still that.

    ``prune`` takes folders above it away that all steps together leave empty.
    """

    where: Location
    before: Snapshot | None
    prune: bool = False


EditStep = Put | Move | Drop


class EditableFiles(Files, Protocol):
    """Files that are changed all or none, and only if they are unchanged since they were read."""

    def snapshot(self, where: Location, *, limit: int) -> Snapshot:
        """A regular file at this moment, with at most ``limit`` bytes of content. Raises ``ToolError``."""
        ...

    def link(self, where: Location) -> Snapshot:
        """A symbolic link itself, not followed. Raises ``ToolError`` for anything else."""
        ...

    def apply(self, steps: Sequence[EditStep]) -> None:
        """Apply all steps in order; if one fails, the earlier ones are undone.

        Raises ``ToolError``, also for a file that is no longer as its ``before`` says.
        """
        ...

    async def edit(self, steps: Sequence[EditStep]) -> str:
        """``apply`` for an edit of the agent, which an editor may save. Remarks for the model, or empty.

        When cancelled, no step stays applied.
        """
        ...


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One edit that can be undone. ``at`` in seconds since the epoch; ``paths`` as shown."""

    id: int
    call: CallId
    operation: str
    at: float
    paths: tuple[str, ...]


class EditJournal(Protocol):
    """The content that edits of a conversation replaced, within a bounded store: the oldest go first."""

    def record(
        self,
        conversation: ConversationId,
        call: CallId,
        operation: str,
        steps: Sequence[EditStep],
    ) -> int | None:
        """Keep what an edit is about to replace; None when it could not be undone.

        Raises ``StorageError``.
        """
        ...

    def discard(self, entry: int) -> None:
        """The edit was not made after all."""
        ...

    def entries(self, conversation: ConversationId) -> Sequence[JournalEntry]:
        """Return the edits that can be undone, newest first. Raises ``StorageError``."""
        ...

    def undo(self, conversation: ConversationId, entry: int) -> JournalEntry:
        """Restore the content that the edit replaced, in full or not at all, and forget the entry.

        Raises ``ToolError`` if there is no such entry or a file changed after the edit.
        """
        ...


# ---- the index


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index after an update. ``waiting`` counts files whose text is not in it yet.

    ``cut`` says in words where listing the files stopped, when its time ran out.
    """

    files: int
    passages: int
    read: int
    removed: int
    waiting: int = 0
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a file that fit a query. Lines count from 1, ``last`` included."""

    path: str
    first: int
    last: int
    text: str
    symbols: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class FileFilter:
    """A filter on files of the index; zero and empty mean any. Times in seconds since the epoch."""

    name: str = ""
    extension: str = ""
    smallest: int = 0
    largest: int = 0
    after: float = 0.0
    before: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the index: path below the indexed folder, bytes, seconds since the epoch."""

    path: str
    size: int
    mtime: float


class CodeIndex(Protocol):
    """One index for each folder, stored on disk, updated with the files that changed.

    All raise ``ToolError``: the folder cannot be listed, the index cannot be used.
    """

    async def scan(self, where: Location, *, fresh: bool = False) -> IndexState:
        """Bring names, sizes and dates up to date; ``fresh`` forgets everything first."""
        ...

    async def update(self, where: Location, progress: Callable[[str], None]) -> IndexState:
        """Scan, then read what changed. Bounded: the rest waits for the next time."""
        ...

    async def passages(
        self, where: Location, query: str, *, paths: Collection[str] | None, limit: int
    ) -> Sequence[Passage]:
        """The best passages, best first; only of ``paths`` where they are given."""
        ...

    async def files(
        self, where: Location, file_filter: FileFilter, *, limit: int
    ) -> tuple[Sequence[IndexedFile], int]:
        """Files by path, and how many fit in all."""
        ...

    def close(self) -> None:
        """Close the index; nothing can be asked afterwards."""
        ...


# ---- symbols


UsageKind = Literal["definition", "declaration", "call", "reference", "text"]


@dataclass(frozen=True, slots=True)
class SymbolUsage:
    """One occurrence of a name. Line and column count from 1; ``within`` is what encloses it."""

    kind: UsageKind
    line: int
    column: int
    within: str


class Symbols(Protocol):
    """Finds names by the grammar of a language."""

    def usages(self, path: str, data: bytes, name: str) -> Sequence[SymbolUsage]:
        """The occurrences of a name outside strings and comments, in order; without a grammar, all."""
        ...


# ---- checkers


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. ``file`` is an absolute path; line and column count from 1, 0 for unknown."""

    file: str
    line: int
    column: int
    severity: Literal["error", "warning", "information"]
    code: str
    message: str
    source: str


@dataclass(frozen=True, slots=True)
class Check:
    """A checker that can be run now: a shell command and the real folder it runs in."""

    name: str
    command: str
    cwd: str


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """The checks that can run. ``missing`` names, in words, checkers of the project that are not
    installed."""

    checks: tuple[Check, ...]
    missing: tuple[str, ...]
    looked_for: tuple[str, ...]


class Checkers(Protocol):
    """The linters, type checkers and compilers of a workspace."""

    def plan(self, paths: Sequence[str]) -> CheckPlan:
        """The checks for these paths (as passed), or for the whole workspace if there are none."""
        ...

    def read(self, check: Check, output: str) -> Sequence[Diagnostic]:
        """Return the findings of a checker. Raises ``ToolError`` for output that is no report."""
        ...

    def inspect(self, path: str, data: bytes) -> Sequence[Diagnostic] | None:
        """The problems that a syntax check without a program finds; None if there is no check for such
        files."""
        ...


@dataclass(frozen=True, slots=True)
class Insight:
    """The code of one workspace: index, symbols and checkers."""

    index: CodeIndex
    symbols: Symbols
    checkers: Checkers
