"""Wrapped lines as strips that mark their content, so that copied text has no decoration."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sam_tui.ui.driver.clusters import spacing_marks
from sam_tui.ui.transcript.render.palette import Palette

Span = tuple[str, Style]

NARROWEST = 16
"""The cells that remain for content however deep containers nest."""

_NARROW = re.compile(
    "[ -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u20a0-\u20bf"
    "\u2190-\u21ff\u2200-\u22ff\u2400-\u2421\u2500-\u25fc]*"
).fullmatch


@dataclass(frozen=True, slots=True)
class Row:
    """One line on the screen.

    ``text`` is the strip's text without padding; its characters from ``start`` on are content, and
    ``prefix`` replaces those before it, the decoration, in a copy. ``glue`` is None at the start of a
    source line, else the text that the wrap dropped between the row above and this one. An
    ``ornament`` has no content at all.
    """

    strip: Strip
    text: str
    start: int = 0
    prefix: str = ""
    glue: str | None = None
    ornament: bool = False


def wrap(text: str, width: int) -> list[tuple[int, int, str]]:
    """Return where to break one line: ``(start, end, glue)`` per row, in characters.

    Breaks at spaces; a word wider than ``width`` cells is cut. Linear in the length of the text.
    """
    width = max(1, width)
    if not _NARROW(text):
        return _wrap_wide(text, width)
    rows: list[tuple[int, int, str]] = []
    position, length, glue = 0, len(text), ""
    while length - position > width:
        cut = text.rfind(" ", position, position + width + 1)
        end = position + len(text[position : max(cut, position)].rstrip(" "))
        if end == position:
            rows.append((position, position + width, glue))
            position, glue = position + width, ""
            continue
        rows.append((position, end, glue))
        position = cut + 1
        while position < length and text[position] == " ":
            position += 1
        glue = text[end:position]
    if position < length or not rows:
        rows.append((position, length, glue))
    return rows


def _wrap_wide(text: str, width: int) -> list[tuple[int, int, str]]:
    rows: list[tuple[int, int, str]] = []
    start, glue, cells = 0, "", 0
    space, after = -1, 0  # the row's last space, and the cells up to and including it
    skipping = False
    for first, last, measured in split_graphemes(text)[0]:
        character = text[first:last]
        # Leave room for marks that some terminals draw in a cell of their own.
        size = measured + (0 if character.isascii() else spacing_marks(character))
        if skipping and character == " ":
            start = last
            continue
        if skipping:
            glue = text[rows[-1][1] : start]
            skipping = False
        if cells + size > width and first > start:
            if character == " ":
                rows.append((start, first, glue))
                start, cells, space, skipping = last, 0, -1, True
                continue
            end = space
            while end > start and text[end - 1] == " ":
                end -= 1
            if end > start:
                rows.append((start, end, glue))
                glue, start, cells = text[end : space + 1], space + 1, cells - after
            else:
                rows.append((start, first, glue))
                glue, start, cells = "", first, 0
            space = -1
        cells += size
        if character == " ":
            space, after = first, cells
    if start < len(text) or not rows:
        rows.append((start, len(text), glue))
    return rows


def cut_spans(spans: Sequence[Span], ranges: Sequence[tuple[int, int, str]]) -> list[list[Span]]:
    """The spans that lie in each of the ascending character ranges."""
    if len(spans) == 1:
        text, style = spans[0]
        return [[(text[a:b], style)] for a, b, _ in ranges]
    pieces: list[list[Span]] = []
    index, offset = 0, 0
    for start, end, _ in ranges:
        piece: list[Span] = []
        while index < len(spans):
            text, style = spans[index]
            after = offset + len(text)
            if after > start and offset < end:
                piece.append((text[max(0, start - offset) : end - offset], style))
            if after > end:
                break
            offset, index = after, index + 1
        pieces.append(piece)
    return pieces


@dataclass(slots=True)
class Lead:
    """The decoration left of content: bullets, bars and indents, for the first row and the rest."""

    first: Span
    following: Span
    first_copy: str = ""
    rest_copy: str = ""
    used: bool = False


@dataclass(slots=True)
class Canvas:
    """Collects rows of one width, inside the containers that ``leads`` describe."""

    width: int
    palette: Palette
    rows: list[Row] = field(default_factory=list[Row])
    leads: list[Lead] = field(default_factory=list[Lead])

    @property
    def room(self) -> int:
        """The cells for content next to the leads."""
        return max(1, self.width - 1 - sum(cell_len(lead.following[0]) for lead in self.leads))

    def push(self, lead: Lead) -> bool:
        """Enter a container; returns False without entering it if that would leave no room."""
        if self.room - cell_len(lead.following[0]) < NARROWEST and len(self.leads) > 2:
            return False
        self.leads.append(lead)
        return True

    def pop(self) -> None:
        """Leave the innermost container."""
        self.leads.pop()

    def line(
        self, spans: Sequence[Span], *, fill: Style | None = None, wrapped: bool = True
    ) -> None:
        """One source line, wrapped to as many rows as it needs, or clipped where not ``wrapped``."""
        text = "".join([span[0] for span in spans])
        room = self.room
        if len(text) <= room and _NARROW(text):
            self._row(spans, text, len(text), None, fill)
            return
        ranges = wrap(text, room)
        if not wrapped and len(ranges) > 1:
            ranges = ranges[:1]
        glue: str | None = None
        for (start, end, joined), piece in zip(ranges, cut_spans(spans, ranges), strict=True):
            part = text[start:end]
            glue = None if glue is None else joined
            self._row(piece, part, cell_len(part), glue, fill)
            glue = ""

    def ornament(self, *spans: Span) -> None:
        """Add a row of decoration, which a copy does not contain."""
        self.line(spans, wrapped=False)
        self.rows[-1] = replace(self.rows[-1], ornament=True)

    def blank(self) -> None:
        """An empty row."""
        self._row((), "", 0, None, None)

    def _row(
        self, spans: Sequence[Span], text: str, cells: int, glue: str | None, fill: Style | None
    ) -> None:
        segments: list[Segment] = []
        before, prefix, used = "", "", 0
        for lead in self.leads:
            lead_spans = lead.following if lead.used else lead.first
            copied = lead.rest_copy if lead.used or glue is not None else lead.first_copy
            lead.used = True
            before += lead_spans[0]
            prefix += copied
            segments.append(Segment(*lead_spans))
        used = cell_len(before) + cells
        segments += [Segment(t, s) for t, s in spans if t]
        margin = self.width - used
        if fill is not None and margin > 1:
            segments.append(Segment(" " * (margin - 1), fill))
            margin = 1
        if margin > 0:
            segments.append(Segment(" " * margin, self.palette.text))
        self.rows.append(
            Row(Strip(segments, max(used, self.width)), before + text, len(before), prefix, glue)
        )


def margin(palette: Palette) -> Lead:
    """The two cells that every block keeps free at its left, for the cursor."""
    return Lead(("  ", palette.text), ("  ", palette.text))
