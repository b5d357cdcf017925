"""Replaces exact text in a document as often as expected, or hints at places that nearly match."""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from heapq import nlargest

from sam_tools.file_operations.document import Document
from sam_tools.file_operations.names import counted
from sam_tui.core.errors import ToolError

_MOST_LINES = 20_000
_WIDTH = 200
_ENOUGH = 0.6
_SHOWN_LINES = 8
_MOST_COMPARED = 60
_MOST = 3


def nearest(text: str, sought: str) -> str:
    """A few places that resemble ``sought``, with line numbers; empty when nothing does.

    First places that differ in white space only, then those whose first line is most alike.
    """
    lines = _lines(text)[:_MOST_LINES]
    block = _lines(sought)
    while len(block) > 1 and not block[-1].strip():
        block.pop()
    while len(block) > 1 and not block[0].strip():
        block.pop(0)
    spots = _same_but_space(lines, block)
    if spots:
        return _with_excerpts("It occurs with other white space at", lines, spots, len(block))
    spots = _alike(lines, block)
    return _with_excerpts("The nearest is at", lines, spots, len(block)) if spots else ""


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _same_but_space(lines: Sequence[str], block: Sequence[str]) -> list[int]:
    needles = ["".join(line.split()) for line in block]
    if not any(needles):
        return []
    indices: list[int] = []
    squeezed = ["".join(line.split()) for line in lines]
    single = len(needles) == 1
    for index in range(len(squeezed) - len(needles) + 1):
        fits = needles[0] in squeezed[index] if single else squeezed[index] == needles[0]
        if fits and (single or squeezed[index : index + len(needles)] == needles):
            indices.append(index)
            if len(indices) == _MOST:
                break
    return indices


def _alike(lines: Sequence[str], block: Sequence[str]) -> list[int]:
    """Starts of the most similar blocks, judged by their first line, then by the whole."""
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(block[0].strip()[:_WIDTH])
    scored: list[tuple[float, int]] = []
    seen: dict[str, float] = {}
    for index, line in enumerate(lines):
        key = line.strip()[:_WIDTH]
        if key not in seen:
            matcher.set_seq1(key)
            alike = key and matcher.real_quick_ratio() >= _ENOUGH
            seen[key] = matcher.quick_ratio() if alike else 0.0
        if seen[key] >= _ENOUGH:
            scored.append((seen[key], index))
    # The quick ratio only counts characters; a look at their order is for the best of those.
    best = [
        (_whole(lines, index, block), index)
        for _, index in nlargest(_MOST_COMPARED, scored, key=lambda item: item[0])
    ]
    best = [item for item in best if item[0] >= _ENOUGH]
    best.sort(key=lambda item: (-item[0], item[1]))
    return [index for _, index in best[: 1 if len(block) > 1 else _MOST]]


def _whole(lines: Sequence[str], index: int, block: Sequence[str]) -> float:
    size = min(len(block), _SHOWN_LINES)
    candidate = "\n".join(line[:_WIDTH] for line in lines[index : index + size])
    sought = "\n".join(line[:_WIDTH] for line in block[:size])
    return SequenceMatcher(None, candidate, sought, autojunk=False).ratio()


def _with_excerpts(lead: str, lines: Sequence[str], spots: Sequence[int], size: int) -> str:
    excerpts: list[str] = []
    for index in spots:
        height = min(size, _SHOWN_LINES)
        where = f"line {index + 1}" if size == 1 else f"lines {index + 1}-{index + size}"
        excerpt = [line[:_WIDTH] for line in lines[index : index + height]]
        more = ["…"] if size > height else []
        excerpts.append("\n".join([f"{lead} {where}:", *excerpt, *more]))
    return "\n".join(excerpts)


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
    """The text as files contain it: without the backslash that makes reminder tags harmless."""
    return re.sub(r"<\\(\s*/?\s*system-reminder)", r"<\1", text, flags=re.IGNORECASE)


def _spots(
    document: Document, old: str, new: str
) -> tuple[list[tuple[int, int]], Callable[[str], str]]:
    """Return the places of the old text, and the replacement of each.

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
    """The first line ending in a text; empty if there is none."""
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
