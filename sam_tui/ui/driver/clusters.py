"""Writes characters that terminals draw in different widths so that the text around them does not move.

Each is drawn over blanks in its own cells, and the next text is written at its own column: a wider
drawing is cut, a narrower one leaves a blank. Where it might reach beyond the written text, only its
first character is drawn. Text with spacing marks would lose letters that way: it is written in one
piece where enough blanks follow for its greatest width.
"""

import re
from itertools import islice
from unicodedata import category, normalize

from rich.cells import cell_len, split_graphemes

from sam_tui.core.text.widths import DISPUTED

_PART = re.compile(
    r"\x1b\[(\d+);(\d+)H|(\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
    r"|[\x00-\x1f\x7f])|[^\x00-\x1f\x7f]+"
)
"""A move of the cursor, a sequence that takes no cell, or text."""
_FRAME = re.compile("[\u2500-\u259f]")
PLACEHOLDER = "\U0010eeee"
"""Kitty draws a cell of an image over this character; its marks name the cell, its colour the image."""
_PLACEHOLDERS = re.compile(f"((?:{PLACEHOLDER}[^\x00-\x7f]{{2}})+)")


def fitted(text: str, cells: int) -> str:
    """A character, or as much of it as is measured to fit, in exactly so many cells."""
    while (width := cell_len(text)) > cells:
        text = text[:-1]
    return text + " " * (cells - width)


def settled(frame: str) -> str:
    """Return a frame in which characters of disputed width do not shift the text around them."""
    if frame.isascii() or not DISPUTED.search(frame):
        return frame
    if PLACEHOLDER in frame:  # the cursor is moved explicitly after such cells
        parts = _PLACEHOLDERS.split(frame)
        return "".join(p if p.startswith(PLACEHOLDER) else settled(p) for p in parts)
    written: list[str] = []
    stretch: list[str] = []
    column = -1
    """The first column, from 0; unknown until a sequence moves the cursor to one."""
    for part in _PART.finditer(frame):
        if part[2] is not None or part[0] == "\n":
            written += _placed(stretch, column)
            stretch = []
            column = -1 if part[2] is None else int(part[2]) - 1
            written.append(part[0])
        else:
            stretch.append(part[0])
    return "".join(written + _placed(stretch, column))


def _placed(parts: list[str], column: int) -> list[str]:
    """The texts and the sequences between them, placed from ``column`` on."""
    if column < 0 or not any(map(DISPUTED.search, parts)):
        return parts
    widths = [0 if part[0] < " " else cell_len(part) for part in parts]
    end = column + sum(widths)
    placed: list[str] = []
    at = 0
    while at < len(parts):
        part, stop = parts[at], at + 1
        if not widths[at] or not DISPUTED.search(part):
            placed.append(part)
        elif spacing_marks(part) and (flow := _flow(parts, widths, at)) is not None:
            last, stop = flow
            after = column + sum(widths[at:stop])
            style = parts[at - 1] if at and not widths[at - 1] else ""
            blanks = (" " * w if w else p for p, w in zip(parts, widths, strict=True))
            placed += [*islice(blanks, at, stop), f"\x1b[{column + 1}G\x1b[m{style}"]
            visible = parts[last].rstrip(" ") or " "
            placed += [*parts[at:last], visible, f"\x1b[m\x1b[{after + 1}G"]
        else:
            placed += _pieces(part, column, end)
        column += sum(widths[at:stop])
        at = stop
    return placed


def _flow(parts: list[str], widths: list[int], at: int) -> tuple[int, int] | None:
    """The index behind the last text from ``at`` on that goes in one piece, and behind its blanks.

    Spacing marks with a cell of their own need more cells than were measured: as many blanks must
    follow, before any frame. One blank of another look right behind the text is the text cursor,
    which moves along.
    """
    text = last = at
    more = room = 0
    for number in range(at, len(parts)):
        if not widths[number]:
            continue
        part = parts[number]
        if part.strip(" "):
            if _FRAME.search(part):
                return None
            text = last = number
            more += _excess(part)
            room = len(part) - len(part.rstrip(" "))
        elif part == " " and text == last:
            last, room = number, 0
        else:
            room += widths[number]
        if room >= more:
            return last, number + 1
    return None


def spacing_marks(text: str) -> int:
    """The number of marks to which only some terminals give a cell."""
    return sum(category(mark) == "Mc" for mark in DISPUTED.findall(text))


def _excess(text: str) -> int:
    """The number of cells that a terminal may use beyond the measured ones."""
    spans, cells = split_graphemes(text)
    clusters = (text[first:last] for first, last, _ in spans)
    return sum(_widest(c) if DISPUTED.search(c) else cell_len(c) for c in clusters) - cells


def _pieces(text: str, column: int, end: int) -> list[str]:
    """Yield a text from a column on; the written part ends before ``end``."""
    pieces: list[str] = []
    spans, _ = split_graphemes(text)
    covered = False
    for number, (first, last, cells) in enumerate(spans, 1):
        # One character where there is one: some terminals put a mark elsewhere near the right edge.
        character = normalize("NFC", text[first:last])
        if covered or not cells:  # marks that were cut off from their letter would join another
            covered = False
        elif not DISPUTED.search(character):
            pieces.append(character)
        # Marks at the very end may combine with the text after it.
        elif column + max(cells, _widest(character)) + (len(character) > 1) <= end:
            # A blank after it may be one of its cells.
            covered = number < len(spans) and text[last] == " "
            blanks = " " * (cells + covered)
            pieces.append(f"{blanks}\x1b[{column + 1}G{character}")
            pieces.append(f"\x1b[{column + len(blanks) + 1}G")
        else:
            first_alone = "" if DISPUTED.match(character) else character[:1]
            pieces.append(fitted(first_alone, cells))
        column += cells
    return pieces


def _widest(text: str) -> int:
    """The most cells in which any terminal draws a character."""
    return sum(map(_part_width, text))


def _part_width(part: str) -> int:
    """The cells of one code point: two for an emoji part, one for a letter or spacing mark, else none."""
    if ord(part) >= 0x1F000 or part in "\ufe0f\u200d":
        return 2
    return 0 if category(part) == "Mn" else max(1, cell_len(part))
