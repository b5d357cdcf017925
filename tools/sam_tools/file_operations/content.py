"""Whole files as text, through the ``Files`` port."""

from dataclasses import dataclass

from sam_tools.file_operations.document import Document, decoded, kind_of
from sam_tools.file_operations.names import printable, sized
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports import Files

MOST_READ = 10_000_000
"""Bytes of one file that are held in memory."""


@dataclass(frozen=True, slots=True)
class Content:
    """What was read: the text, its size on disk, and whether that is all of it."""

    document: Document
    size: int
    whole: bool


def text_of(files: Files, where: Location, name: str, *, whole: bool) -> Content:
    """A file decoded. Raises ``ToolError`` for a binary one, and with ``whole`` for a longer one.

    Without ``whole`` only the first 10 MB of a longer file are there.
    """
    data = files.read(where, limit=MOST_READ + 1)
    size, complete = len(data), len(data) <= MOST_READ
    if not complete:
        found = files.stat(where)
        size = found.size if found else size
        if whole:
            raise ToolError(
                f"{name} is {sized(size)} long; files over {sized(MOST_READ)} are not edited.",
                hint="Change it with a command in the terminal.",
            )
        data = data[:MOST_READ]
    document = decoded(data, whole=complete)
    if document is None:
        kind = kind_of(data) or "unknown kind"
        raise ToolError(
            f"{name} is a binary file ({kind}, {sized(size)}), not text.",
            hint="Look at it with a command in the terminal, such as `file` or `xxd`.",
        )
    return Content(document, size, complete)


def old_text(files: Files, where: Location) -> str | None:
    """The text that a write would replace; None when nothing is there, empty when it is no text."""
    found = files.stat(where)
    if found is None:
        return None
    if found.kind == "directory":
        raise ToolError(f"{printable(where.shown)} is a folder.", hint="Name a file.")
    try:
        return text_of(files, where, printable(where.shown), whole=True).document.text
    except ToolError:
        return ""
