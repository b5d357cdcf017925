"""Exact text replaced in a document: as often as was expected, or not at all."""

import re
from collections.abc import Callable, Sequence

from sam_tools.file_operations.candidates import nearest
from sam_tools.file_operations.document import Document
from sam_tools.file_operations.names import counted
from sam_tui.core.errors import ToolError

_MOST_NAMED = 20


def replaced(document: Document, old: str, new: str, *, expected: int, name: str) -> str:
    """The text with ``old`` replaced everywhere.

    Raises ``ToolError`` unless it occurs exactly ``expected`` times: with the nearest place when it
    does not occur, with the lines when it occurs more or less often.
    """
    if not old:
        raise ToolError(
            "oldString is empty.", hint="Use insert_edit to add lines, or create_file for a file."
        )
    if old == new:
        raise ToolError("oldString and newString are the same; nothing would change.")
    text = document.text
    spots, replacement = _spots(document, old, new)
    if not spots:
        raise ToolError(
            f"oldString does not occur in {name}; nothing was changed.",
            hint=nearest(text, old)
            or "Read the file and copy the text exactly, white space included.",
        )
    if len(spots) != expected:
        raise _miscounted(text, spots, name, expected)
    pieces: list[str] = []
    at = 0
    for begin, end in spots:
        pieces += (text[at:begin], replacement(text[begin:end]))
        at = end
    return "".join([*pieces, text[at:]])


def with_ends(text: str, end: str) -> str:
    """A text with all line ends as ``end``."""
    return re.sub(r"\r\n|\n|\r", lambda _: end, text)


def as_stored(text: str) -> str:
    """Text that the host made harmless before showing it, as files have it."""
    return re.sub(r"<\\(\s*/?\s*system-reminder)", r"<\1", text, flags=re.IGNORECASE)


def _spots(
    document: Document, old: str, new: str
) -> tuple[list[tuple[int, int]], Callable[[str], str]]:
    """Where the old text stands, and what takes the place of each find.

    Newlines in it match whatever line ends the file has. Text that the host made harmless before
    showing it (``<\\system-reminder``) is looked for as the file has it, too.
    """
    usual = document.newline
    for search, instead in ((old, new), (as_stored(old), as_stored(new))):
        lines = re.split(r"\r\n|\n|\r", search)
        ends = re.escape(document.separator) if document.separator == "\r" else r"\r?\n"
        pattern = re.compile(ends.join(re.escape(line) for line in lines))
        spots = [match.span() for match in pattern.finditer(document.text)]
        if spots:
            return spots, lambda match, text=instead: with_ends(text, _end_in(match) or usual)
    return [], str


def _end_in(text: str) -> str:
    """The line end that is replaced; empty where there is none."""
    match = re.search(r"\r\n|\n|\r", text)
    return match[0] if match else ""


def _miscounted(text: str, spots: Sequence[tuple[int, int]], name: str, expected: int) -> ToolError:
    separator = "\r" if "\n" not in text else "\n"
    lines: list[str] = []
    line, at = 1, 0
    for begin, _ in spots[:_MOST_NAMED]:
        line, at = line + text.count(separator, at, begin), begin
        lines.append(str(line))
    more = ", …" if len(spots) > _MOST_NAMED else ""
    return ToolError(
        f"oldString occurs {counted(len(spots), 'time')} in {name}, not {expected}: "
        f"{'line' if len(spots) == 1 else 'lines'} {', '.join(lines)}{more}. Nothing was changed.",
        hint="Add lines around it to name one place, or pass "
        f"expectedReplacements: {len(spots)} to replace all.",
    )
