"""Files and search: every location was decided before it comes here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.accesses import Location


@dataclass(frozen=True, slots=True)
class FileStat:
    """One directory entry, not followed. ``mtime`` in seconds since the epoch, ``mode`` as st_mode."""

    name: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    mtime: float
    mode: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file's bytes, of a link where it leads; a ``program`` can be run."""

    data: bytes
    kind: Literal["file", "program", "link"] = "file"


FilesByPath = Mapping[str, StoredFile]
"""Files by their paths relative to one folder."""


class Files(Protocol):
    """The only way to files. Every location was decided before; no link is followed in use.

    All raise ``errors.ToolError`` with a text for the model: not found, is a folder, changed under
    the check, refused by the system.
    """

    def stat(self, where: Location) -> FileStat | None:
        """Kind, size and time of the file or folder, or None if there is none."""
        ...

    def read(self, where: Location, *, limit: int) -> bytes:
        """At most ``limit`` bytes from the start of a regular file."""
        ...

    def list(self, where: Location) -> Sequence[FileStat]:
        """The entries of a folder, sorted by name."""
        ...

    def write(self, where: Location, data: bytes, *, replace: bool) -> None:
        """An atomic write of the whole file; folders above are created; a replaced file keeps its mode
        bits.

        Without ``replace`` an existing file is an error.
        """
        ...

    def rename(self, source: Location, target: Location) -> None:
        """Move a file or folder; an existing target is an error; folders above it are made."""
        ...

    def delete(self, where: Location) -> None:
        """Delete a file (or a link itself), never a folder."""
        ...

    def make_directory(self, where: Location) -> bool:
        """Make a folder and its parents. False if it existed."""
        ...

    def remove_directory(self, where: Location) -> None:
        """Remove an empty folder, never a link to one."""
        ...


class EditorBuffers(Protocol):
    """Files as an editor has them open, saved or not."""

    @property
    def reachable(self) -> bool:
        """Whether ``read`` can be called from this thread."""
        ...

    @property
    def writes(self) -> bool:
        """Whether the person lets the editor save edits, and this thread is the event loop's."""
        ...

    def read(self, path: str) -> str | None:
        """The text of a file by its real path; None where the editor does not say."""
        ...

    async def fetch(self, path: str) -> str | None:
        """The same, on the event loop."""
        ...

    async def write(self, path: str, text: str) -> str:
        """Have the editor change its buffer and save it; why it did not, empty when it says it did.

        When cancelled, it waits a moment for an answer that is on its way.
        """
        ...


@dataclass(frozen=True, slots=True)
class GrepHit:
    """One matching line. ``path`` is relative to the searched folder, ``line`` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """A search for text. ``include`` is a glob on paths; empty for all files."""

    where: Location
    pattern: str
    regex: bool
    case_sensitive: bool = False
    include: str = ""
    limit: int = 200


@dataclass(frozen=True, slots=True)
class GrepResult:
    """Hits in path order; ``truncated`` when the limit or the time cut the list.

    ``cut`` says in words where the search was when its time ran out; empty when it did not.
    """

    hits: tuple[GrepHit, ...]
    truncated: bool
    cut: str = ""


@dataclass(frozen=True, slots=True)
class FileMatches:
    """A page of matching paths, sorted, and how many match in all.

    ``cut`` says in words where the search was when its time ran out: then there may be more, and
    others may come before these. Empty when all was looked through.
    """

    paths: Sequence[str]
    total: int
    cut: str = ""


Hear = Callable[[str], None]
"""Receives a line of progress for people."""


def unheard(_: str) -> None:
    """Ignores progress if nobody listens."""


class Search(Protocol):
    """Looking through a folder, fast, honouring .gitignore."""

    async def files(
        self, where: Location, pattern: str, *, limit: int, offset: int, on_count: Hear = unheard
    ) -> FileMatches:
        """Paths below ``where`` matching a glob (``**`` crosses folders).

        ``on_count`` is called with their number so far as they come.
        """
        ...

    async def grep(self, request: GrepRequest, *, on_count: Hear = unheard) -> GrepResult:
        """Matching lines; ``on_count`` is called with their number so far as they come.

        An invalid regular expression raises ``errors.ToolError``.
        """
        ...
