"""Whole files as text, through the ``Files`` port."""

from dataclasses import dataclass, replace
from difflib import get_close_matches

from sam_tools.file_operations.document import Document, decoded, kind_of
from sam_tools.file_operations.names import sized
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditableFiles, Snapshot
from sam_tui.core.text.plain import printable

MOST_READ = 10_000_000
"""Bytes of one file that are held in memory."""
_MOST_NAMES = 5_000
_WRAPPING = " \t\"'`@"


@dataclass(frozen=True, slots=True)
class Content:
    """What was read: the text, and the file it was read from."""

    document: Document
    snapshot: Snapshot

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return max(self.snapshot.stamp.size, len(self.snapshot.data))

    @property
    def whole(self) -> bool:
        """Whether the text is all of it."""
        return len(self.snapshot.data) <= MOST_READ


def text_of(files: EditableFiles, where: Location, name: str, *, whole: bool) -> Content:
    """A file decoded. Raises ``ToolError`` for a binary one, and with ``whole`` for a longer one.

    Without ``whole`` only the first 10 MB of a longer file are there.
    """
    return text_in(snapshot_of(files, where), name, whole=whole)


def snapshot_of(files: EditableFiles, where: Location) -> Snapshot:
    """A file as it is, with a little more than what is edited. Raises ``ToolError``."""
    try:
        return files.snapshot(where, limit=MOST_READ + 1)
    except ToolError as error:
        raise ToolError(str(error), hint=_alike(files, where) or error.hint) from error


def text_in(snapshot: Snapshot, name: str, *, whole: bool) -> Content:
    """What was read of a file, decoded, as ``text_of`` does."""
    data, complete = snapshot.data, len(snapshot.data) <= MOST_READ
    if not complete:
        if whole:
            raise ToolError(
                f"{name} is {sized(snapshot.stamp.size)} long; files over {sized(MOST_READ)} are "
                "not edited.",
                hint="Change it with a command in the terminal.",
            )
        data = data[:MOST_READ]
    document = decoded(data, whole=complete)
    if document is None:
        kind = kind_of(data) or "unknown kind"
        size = max(snapshot.stamp.size, len(data))
        raise ToolError(
            f"{name} is a binary file ({kind}, {sized(size)}), not text.",
            hint="Look at it with a command in the terminal, such as `file` or `xxd`.",
        )
    return Content(document, snapshot)


def _alike(files: EditableFiles, where: Location) -> str:
    """Names in the same folder that a missing one may have been meant as; empty for none."""
    if where.root is None or where.real == where.root:
        return ""
    folder, _, name = where.real.rpartition("/")
    try:
        if files.stat(where) is not None:
            return ""
        beside = files.list(replace(where, real=folder))
    except ToolError:
        return ""
    names = [entry.name for entry in beside[:_MOST_NAMES] if entry.kind != "directory"]
    close = get_close_matches(name.strip(_WRAPPING), names, n=3)
    shown_names = [
        printable(replace(where, real=f"{folder}/{name}").display_path) for name in close
    ]
    return f"Did you mean {' or '.join(shown_names)}?" if shown_names else ""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a write would replace. ``text`` is empty when it is no text, or too much of it."""

    text: str
    snapshot: Snapshot


def standing(files: EditableFiles, where: Location) -> Replaced | None:
    """What is there now; None when nothing is. Raises ``ToolError`` for all but regular files."""
    entry = files.stat(where)
    if entry is None:
        return None
    if entry.kind == "directory":
        raise ToolError(f"{printable(where.display_path)} is a folder.", hint="Name a file.")
    snapshot = files.snapshot(where, limit=MOST_READ + 1)
    document = decoded(snapshot.data) if len(snapshot.data) <= MOST_READ else None
    return Replaced(document.text if document else "", snapshot)
