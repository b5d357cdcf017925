"""Screen rows as strips: the styles of cells, the targets of links, and overlays of a row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, split_graphemes
from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sam_tui.core.text.underlines import KINDS, codes
from sam_tui.ui.driver.clusters import fitted
from sam_tui.ui.widgets.terminal.underlines import with_codes

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import CellRun, CursorShape

_KEPT_STYLES = 8192
"""The most cached styles; a true-colour picture has one per cell, so the cache is emptied beyond that."""
_RICH_NAMES = {"hidden": "conceal", "blink": "bold"}
"""Rich's names of attributes. Blinking text is drawn bold instead."""

Colour = int | tuple[int, int, int] | None
Link = tuple[int, int, str]
"""The first column, the column after the last one, and the address."""


def _colour(value: Colour) -> Color | None:
    if value is None:
        return None
    if isinstance(value, int):
        return Color.from_ansi(value)
    red, green, blue = value
    # As Color.from_rgb, without a name: a picture has thousands.
    return Color("", ColorType.TRUECOLOR, None, ColorTriplet(red, green, blue))


class Painter:
    """Turns runs of cells into strips over one ground, whose colours default cells have.

    With ``underlines`` they keep their kind and colour, for ``underlined`` to write; else all are plain.
    """

    def __init__(self, ground: Style, *, underlines: bool = False) -> None:
        self.ground = ground
        self._underlines = underlines
        self._styles: dict[tuple[Colour, Colour, frozenset[str], Colour], Style] = {}

    def style(self, run: "CellRun") -> Style:
        """The style of a run of cells."""
        key = (run.foreground, run.background, run.attributes, run.underline)
        cached = self._styles.get(key)
        if cached is None:
            if len(self._styles) >= _KEPT_STYLES:
                self._styles.clear()
            cached = self._styles[key] = self._made(run)
        return cached

    def strip(self, runs: "Sequence[CellRun]", width: int) -> Strip:
        """A screen row as a strip of exactly ``width`` cells."""
        styles = self._styles
        segments: list[Segment] = []
        cells = 0
        for run in runs:
            style = styles.get((run.foreground, run.background, run.attributes, run.underline))
            if style is None:
                style = self.style(run)
            text = fitted(run.text, run.cells) if run.cells else run.text
            segments.append(Segment(text, style))
            cells += len(text) if text.isascii() else cell_len(text)
        strip = Strip(segments, cells)
        return strip if cells == width else strip.adjust_cell_length(width, self.ground)

    def _made(self, run: "CellRun") -> Style:
        color = self.ground.color if run.foreground is None else _colour(run.foreground)
        bgcolor = self.ground.bgcolor if run.background is None else _colour(run.background)
        plain = Style.from_color(color, bgcolor)
        if not run.attributes:
            return plain
        names = sorted(run.attributes.difference(KINDS))
        style = Style.combine([
            plain,
            *(Style.parse(_RICH_NAMES.get(name, name)) for name in names),
        ])
        underline = codes(run.attributes, run.underline) if self._underlines else ()
        return with_codes(style, underline) if underline else style


def links_of(runs: "Sequence[CellRun]") -> list[Link]:
    """Return the places of a row's links; neighbours with one address are one link."""
    links: list[Link] = []
    column = 0
    for run in runs:
        end = column + (run.cells or cell_len(run.text))
        if run.link:
            if links and links[-1][1:] == (column, run.link):
                links[-1] = (links[-1][0], end, run.link)
            else:
                links.append((column, end, run.link))
        column = end
    return links


def laid_over(strip: Strip, start: int, stop: int, style: Style) -> Strip:
    """The strip with a style over the cells from ``start`` to before ``stop``."""
    width = strip.cell_length
    start, stop = max(0, start), min(stop, width)
    if start >= stop:
        return strip
    middle = Strip(Segment.apply_style(strip.crop(start, stop), post_style=style), stop - start)
    return Strip.join([strip.crop(0, start), middle, strip.crop(stop, width)])


def with_cursor(
    strip: Strip, column: int, shape: "CursorShape", colour: tuple[int, int, int] | None = None
) -> Strip:
    """The strip with a cursor on a cell, in a colour of its own where a program chose one.

    A bar takes the place of a blank; a character under one is underlined, so that it stays readable.
    """
    first, stop = _character(strip, max(0, min(column, strip.cell_length - 1)))
    cell = strip.crop(first, stop)
    own_style = Style() if colour is None else Style(color=Color.from_rgb(*colour))
    match shape:
        case "underline":
            return laid_over(strip, first, stop, own_style + Style(underline=True, bold=True))
        case "bar" if not cell.text.strip():
            bar = Strip([Segment("▏", _first_style(cell) + own_style)], 1)
            return Strip.join([strip.crop(0, first), bar, strip.crop(stop, strip.cell_length)])
        case "bar" | "hollow":
            return laid_over(strip, first, stop, own_style + Style(underline=True))
        case _ if colour is None:
            return laid_over(strip, first, stop, Style(reverse=True))
        case _:
            under = _first_style(cell).bgcolor
            block = Style(color=under, bgcolor=own_style.color, reverse=False)
            return laid_over(strip, first, stop, block)


def _first_style(strip: Strip) -> Style:
    """The style of the first styled segment, or a plain one."""
    return next((segment.style for segment in strip if segment.style is not None), Style())


def _character(strip: Strip, column: int) -> tuple[int, int]:
    """The first cell of the character at a cell, and the one behind it: a wide one is not cut."""
    text = strip.text
    stop = 0
    for _, _, width in () if text.isascii() else split_graphemes(text)[0]:
        stop += width
        if stop > column:
            return stop - width, stop
    return column, column + 1
