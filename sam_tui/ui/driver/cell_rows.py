"""Rows of cells, as strips are drawn: their texts, and one pen for each look."""

from dataclasses import dataclass
from functools import lru_cache
from operator import ne
from typing import Protocol

from rich.cells import split_graphemes
from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

from sam_tui.core.text.widths import DISPUTED

_SEEN_ON_BLANKS = frozenset(["4", "5", "6", "7", "9", "21", "51", "52", "53"])
"""The attributes (SGR) that a blank shows."""
_ENDS = {
    "1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28", "9": "29",
    "21": "24", "51": "54", "52": "54", "53": "55", "58": "59",
}  # fmt: skip
"""The SGR codes that reset attributes; some codes reset a second attribute too."""
_PENS = 4096
_STRIPS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Pen:
    """The look of cells: SGR codes of attributes, text colour and ground, each empty where plain.

    There is one object for each look that was used lately, so that looks are compared by identity.
    """

    attributes: str
    colour: str
    ground: str

    @property
    def blank(self) -> "Pen":
        """The pen for blanks of this look, without attributes that blanks do not show."""
        codes = (code.partition(":")[0] for code in self.attributes.split(";"))
        if _SEEN_ON_BLANKS.isdisjoint(codes):
            return _pen("", "", self.ground)
        return self

    def after(self, last: "Pen") -> str:
        """The escape sequence that changes the pen ``last`` to this pen."""
        return "" if self is last else _change(last, self)


@lru_cache(maxsize=_PENS)
def _change(last: Pen, pen: Pen) -> str:
    """The shorter of two codes for a change of pen: a reset with everything, or only the differences."""
    colours = [
        now or default
        for now, before, default in (
            (pen.colour, last.colour, "39"),
            (pen.ground, last.ground, "49"),
        )
        if now != before
    ]
    anew = ["" if pen is PLAIN else "0", pen.attributes, pen.colour, pen.ground]
    ways = [";".join(code for code in anew if code)]
    attributes, before = _codes(pen), _codes(last)
    ends = [_ENDS.get(code.partition(":")[0], "") for code in before if code not in attributes]
    if "" not in ends:
        fresh = [
            code
            for code in attributes
            if code not in before or _ENDS.get(code.partition(":")[0]) in ends
        ]
        steps = [*dict.fromkeys(ends), *fresh, *colours]
        if not steps:  # the same look, parsed again after the cache had dropped it
            return ""
        ways.append(";".join(steps))
    return f"\x1b[{min(ways, key=len)}m"


def _codes(pen: Pen) -> list[str]:
    return pen.attributes.split(";") if pen.attributes else []


PLAIN = Pen("", "", "")


@lru_cache(maxsize=_PENS)
def _pen(attributes: str, colour: str, ground: str) -> Pen:
    return Pen(attributes, colour, ground) if attributes or colour or ground else PLAIN


@lru_cache(maxsize=_PENS)
def _split(style: Style, ansi: str, colours: ColorSystem) -> Pen:
    """The pen of a style: its colours apart, and every other code as an attribute."""
    colour, ground = (
        ";".join(c.downgrade(colours).get_ansi_codes(foreground=foreground)) if c else ""
        for c, foreground in ((style.color, True), (style.bgcolor, False))
    )
    both = ";".join(filter(None, (colour, ground)))
    before, _, behind = f";{ansi};".partition(f";{both};" if both else ";")
    return _pen(f"{before};{behind}".strip(";").replace(";;", ";"), colour, ground)


def pen_of_colour(red: int, green: int, blue: int) -> Pen:
    """The pen for text of exactly this colour."""
    return _pen("", f"38;2;{red};{green};{blue}", "")


def _pen_of(style: Style, colours: ColorSystem) -> Pen:
    """The pen that draws a style."""
    ansi = style._ansi  # pyright: ignore[reportPrivateUsage]
    return _split(style, Strip.render_ansi(style, colours) if ansi is None else ansi, colours)


class PictureCells(Protocol):
    """Resolves the texts of picture cells to cells."""

    def cells(self, text: str, style: Style | None, pen: Pen) -> list[tuple[str, Pen]] | None:
        """The cells of a text that consists of a picture's; None for any other."""
        ...


class CellRow:
    """One row: a text and a pen for each cell.

    The second cell of a wide character has an empty text; None is an unknown cell. ``strips`` are the
    last ones put into the row, by column.
    """

    __slots__ = ("pens", "strips", "texts", "whole")

    def __init__(self, columns: int) -> None:
        self.texts: list[str | None] = [None] * columns
        self.pens = [PLAIN] * columns
        self.strips: dict[int, Strip] = {}
        self.whole: dict[int, Strip] = {}
        """Strips that Textual's own renderer writes: those with links, or characters of disputed width."""

    def copy(self) -> "CellRow":
        """Another, which may be changed."""
        row = CellRow(0)
        row.texts, row.pens = self.texts.copy(), self.pens.copy()
        row.strips, row.whole = self.strips.copy(), self.whole.copy()
        return row

    def put(self, column: int, strip: Strip, cells: "Cells | None") -> None:
        """Place a strip; ``cells`` are its cells, or None if it is written as Textual does."""
        if cells is None:
            name = hash(tuple(strip))
            width = strip.cell_length
            cells = [f"\x1b{name} {at}" for at in range(width)], [PLAIN] * width
        end = min(column + len(cells[0]), len(self.texts))
        for strips in (self.strips, self.whole):
            for at, old in tuple(strips.items()):
                if at < end and column < at + old.cell_length:
                    del strips[at]
        self.strips[column] = strip
        if cells[0] and (cells[0][0] or "").startswith("\x1b"):
            self.whole[column] = strip
        self.texts[column:end] = cells[0][: end - column]
        self.pens[column:end] = cells[1][: end - column]

    def changed(self, old: "CellRow") -> list[int]:
        """The columns that look other than in an earlier row, and are known."""
        if self.texts == old.texts and self.pens == old.pens:
            return []
        both = zip(self.texts, old.texts, self.pens, old.pens, strict=True)
        return [
            at
            for at, (text, before, pen, last) in enumerate(both)
            if (text != before or pen is not last) and text is not None
        ]

    def distance(self, old: "CellRow") -> int:
        """The number of cells that differ from those of another row."""
        return sum(map(ne, self.texts, old.texts))


Cells = tuple[list[str | None], list[Pen]]


class StripCells:
    """The cells of strips, computed once for each: rows that scroll are the same strips again."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, ColorSystem], tuple[Strip, Cells | None]] = {}
        """Cached by the identity of a strip; the strip is stored so that no other one gets its identity."""

    def of(
        self, strip: Strip, colours: ColorSystem, pictures: "PictureCells | None"
    ) -> Cells | None:
        """The cells of a strip; None if it is written as Textual does. Not to be changed."""
        if pictures is not None:  # what its cells are changes with the images that the terminal has
            return _cells(strip, colours, pictures)
        name = (id(strip), colours)
        if (entry := self._entries.get(name)) is not None:
            return entry[1]
        if len(self._entries) >= _STRIPS:
            self._entries.clear()
        cells = _cells(strip, colours, None)
        self._entries[name] = (strip, cells)
        return cells


def _cells(strip: Strip, colours: ColorSystem, pictures: "PictureCells | None") -> Cells | None:
    """The cells of a strip; None if it is written as Textual does."""
    texts: list[str | None] = []
    pens: list[Pen] = []
    for text, style, _ in strip:
        if _stands_for_more(text):
            drawn = _picture(text, style, colours, pictures)
            if drawn is None:
                return None
            texts += (cell for cell, _ in drawn)
            pens += (pen for _, pen in drawn)
            continue
        if style is not None and style.link:
            return None
        pen = PLAIN if style is None else _pen_of(style, colours)
        cells = list(text) if text.isascii() else _graphemes(text)
        texts += cells
        if " " not in text or pen.blank is pen:
            pens += [pen] * len(cells)
        else:
            blank = pen.blank
            pens += (blank if cell == " " else pen for cell in cells)
    return (texts, pens) if len(texts) == strip.cell_length else None


def _stands_for_more(text: str) -> bool:
    """Whether a text has control characters, or characters of disputed width."""
    return not text.isprintable() or (not text.isascii() and bool(DISPUTED.search(text)))


def _picture(
    text: str, style: Style | None, colours: ColorSystem, pictures: PictureCells | None
) -> list[tuple[str, Pen]] | None:
    """The cells of a picture; None for any other text, and where none is drawn."""
    if pictures is None:
        return None
    return pictures.cells(text, style, PLAIN if style is None else _pen_of(style, colours))


def _graphemes(text: str) -> list[str]:
    """One for each cell; the second cell of a wide one is empty."""
    cells: list[str] = []
    for start, end, width in split_graphemes(text)[0]:
        cells += [text[start:end], ""][:width]
    return cells
