"""Paints the rows of a viewport and its scroll bar, and returns the selected text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import ceil
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.selection import Selection
from textual.strip import Strip

from sam_tui.ui.messages import PictureWanted
from sam_tui.ui.transcript.blocks import Block, Picture, plain
from sam_tui.ui.transcript.viewport import Viewport

if TYPE_CHECKING:
    from sam_tui.core.ports.documents import Raster
    from sam_tui.ui.driver.images.marks import PlacePicture
    from sam_tui.ui.transcript.render.rows import Row


ROW_BITS = 20
"""``order << ROW_BITS | row`` identifies a row for as long as its block exists."""


_CURRENT = Style(reverse=True, bold=True)
_OTHER = Style(underline=True, bold=True)
"""The styles of the current match, and of other matches, which also differ without colours."""


def row_coordinate(order: int, row: int) -> int:
    """The vertical coordinate of a row in a selection."""
    return order << ROW_BITS | row


def order_of(where: int) -> int:
    """The order of the block at a position."""
    return where >> ROW_BITS


class Copy:
    """Collects the selected part of rows: soft wraps joined, decoration left out."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def take(self, row: "Row", span: tuple[int, int]) -> None:
        """Add the characters ``span`` of a row (end -1: up to its end)."""
        if row.ornament:
            return
        start, end = span
        end = len(row.text) if end == -1 else min(end, len(row.text))
        begins = start <= row.start
        text = row.text[max(start, row.start) : max(end, row.start)]
        if row.glue is not None and self._lines:
            self._lines[-1] += row.glue + text
            return
        self._lines.append((row.prefix if begins else "") + text)

    def gap(self) -> None:
        """Add a blank row between blocks."""
        self._lines.append("")

    def whole(self, text: str) -> None:
        """Add the text of a block that is selected as a whole and not drawn."""
        self._lines.append(text.rstrip("\n"))

    def text(self) -> str:
        """The rows as text."""
        return "\n".join(line.rstrip() for line in self._lines)


def take_rows(copy: Copy, rows: "Sequence[Row]", order: int, selection: Selection) -> None:
    """Add the selected rows of one block."""
    for number, row in enumerate(rows):
        span = selection.get_span(row_coordinate(order, number))
        if span is not None:
            copy.take(row, span)


def paint_span(strip: Strip, text: str, span: tuple[int, int], style: Style) -> Strip:
    """A strip with the characters of ``span`` (end -1: to its end) in another style."""
    start, end = span
    first = cell_len(text[:start])
    last = cell_len(text) if end == -1 else cell_len(text[:end])
    if last <= first:
        return strip
    parts: Iterable[Strip] = (
        strip.crop(0, first),
        Strip(Segment.apply_style(strip.crop(first, last), post_style=style), last - first),
        strip.crop(last, strip.cell_length),
    )
    return Strip.join(parts)


@lru_cache(maxsize=64)
def _bar_strip(segment: Segment, width: int) -> Strip:
    """One look of a scroll bar: the same strip each time, so that its cells are computed once."""
    return Strip([segment], width)


@lru_cache(maxsize=64)
def _blank(width: int, style: Style) -> Strip:
    return Strip.blank(width, style)


class LeanScrollBar(ScrollBar):
    """Textual's vertical scroll bar. Each of its looks is one strip; Textual styles every row."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of ``crop``."""
        bar = cast("ScrollBarRender", self.render())
        style, width = cast("Style", bar.style), self.size.width
        segments: list[Segment] = bar.render_bar(
            size=self.size.height,
            virtual_size=ceil(bar.virtual_size),
            window_size=bar.window_size,
            position=bar.position,
            thickness=width,
            back_color=style.bgcolor or Color.default(),
            bar_color=style.color or Color.default(),
        ).segments
        strips = {id(segment): _bar_strip(segment, width) for segment in segments}
        if filters := self.get_line_filters():
            background = self.background_colors[1]
            for line_filter in filters:
                strips = {
                    look: strip.apply_filter(line_filter, background)
                    for look, strip in strips.items()
                }
        blank = Strip.blank(width)
        rows = [strips[id(segment)] for segment in segments]
        return [rows[y] if y < len(rows) else blank for y in crop.line_range]


class BlockPane(Viewport):
    """A viewport that is drawn: rows, pictures, cursor, selection, and the marker of unread lines."""

    def __init__(
        self, *, name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.cursor: int | None = None
        """The group that the keyboard cursor is on."""
        self._pattern: re.Pattern[str] | None = None
        self._match: tuple[int, int, int] | None = None
        self.asked_pictures: dict[int, bool] = {}
        """Orders of pictures that were requested; True while the answer is awaited."""

    @property
    def vertical_scrollbar(self) -> LeanScrollBar:
        """The scroll bar at the right, made when it is first asked for."""
        bar = self._vertical_scrollbar
        if not isinstance(bar, LeanScrollBar):
            bar = LeanScrollBar(name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar = bar
            bar.display = False
            app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType]
            app._start_widget(self, bar)  # pyright: ignore[reportPrivateUsage]
        return bar

    # -- blocks ------------------------------------------------------------------------------------

    def _show_picture(
        self, order: int, raster: "Raster | None", register: "PlacePicture | None"
    ) -> None:
        """Draw a decoded image; without a raster only its label."""
        index = self.ledger.find(order)
        if index is None or order not in self.asked_pictures:
            return
        self.asked_pictures[order] = False
        block = self.ledger[index]
        if isinstance(block.content, Picture):
            content = replace(block.content, raster=raster, register=register)
            self.update_block(index, replace(block, content=content))

    def update_block(self, index: int, block: Block) -> None:
        """Put another content in the place of a block's, and draw it."""
        top, total = self.ledger.top(index), self.ledger.total
        self.ledger.update(index, block)
        self.place_view()
        self.refresh_rows(top, total)

    def draw_block(self, block: Block, width: int) -> "list[Row]":
        """The rows of a block; a picture that comes on the screen is asked for."""
        new = isinstance(block.content, Picture) and block.order not in self.asked_pictures
        if isinstance(block.content, Picture) and new and self._draws_pictures:
            self.asked_pictures[block.order] = True
            show = partial(self._show_picture, block.order)
            from sam_tui.ui.transcript.render.pictures import ground_of  # the first frame has none

            ground = ground_of(self.palette)
            self.post_message(PictureWanted(block.content.image, ground, show))
        return super().draw_block(block, width)

    @property
    def _draws_pictures(self) -> bool:
        """Whether the terminal has enough colours for pictures; not for people who listen."""
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType]
        few = app.no_color or app.console.color_system not in ("256", "truecolor")
        return not few and not self.has_class("-said")

    # -- painting --------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows straight from memory; there are no borders to draw around them."""
        if self.styles.gutter != (0, 0, 0, 0):
            return super().render_lines(crop)
        strips = self._lines(crop.line_range)
        if filters := self.get_line_filters():
            background = self.background_colors[1]
            for line_filter in filters:
                strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.column_span != (0, self.size.width):
            first, last = crop.column_span
            strips = [strip.crop(first, last) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """A row with the offsets that mouse selection asks for."""
        hit = self.locate(y)
        if hit is None:
            return self._blank_strip()
        index, row = hit
        where = row_coordinate(self.ledger[index].order, max(0, row))
        if row < 0:
            return self._blank_strip().apply_offsets(0, where)
        return self.rows_of(index)[row].strip.apply_offsets(0, where)

    def locate(self, y: int) -> tuple[int, int] | None:
        """The block on a screen row, and the row of its content there (negative in its gap)."""
        return self._at(y + self.scroll_offset.y)

    def _at(self, absolute: int) -> tuple[int, int] | None:
        """The same for a row of the whole conversation."""
        if absolute >= self.ledger.total or not self.wrap_width:
            return None
        index, row = self.ledger.at(absolute)
        row -= self.ledger[index].gap
        return index, min(row, len(self.rows_of(index)) - 1)

    def _blank_strip(self) -> Strip:
        return _blank(self.size.width, self.palette.text)

    def _lines(self, rows: range) -> list[Strip]:
        """The rows of the screen. The selection is looked up once for all rows, because that is slow."""
        top, blank, selection = self.scroll_offset.y, self._blank_strip(), self.text_selection
        hits = [self._at(top + y) for y in rows]
        strips = [
            blank if hit is None or hit[1] < 0 else self._line(*hit, selection) for hit in hits
        ]
        last = self.size.height - 1
        if last in rows and (count := self.unread):
            strips[last - rows.start] = self._with_hint(strips[last - rows.start], count)
        return strips

    def _line(self, index: int, number: int, selection: Selection | None) -> Strip:
        row, block = self.rows_of(index)[number], self.ledger[index]
        strip = row.strip
        if selection is not None and (
            span := selection.get_span(row_coordinate(block.order, number))
        ):
            style = self.screen.get_component_rich_style("screen--selection")
            strip = paint_span(strip, row.text, span, style)
        if self._pattern is not None:
            strip = self._with_matches(strip, row, (block.order, number))
        if self.cursor == block.group and self.has_focus:
            strip = self._with_cursor(strip)
        return strip

    def _with_cursor(self, strip: Strip) -> Strip:
        return Strip.join([Strip([Segment("▎", self.palette.cursor)], 1), strip.crop(1)])

    def _with_matches(self, strip: Strip, row: "Row", where: tuple[int, int]) -> Strip:
        """Highlight the matches of a search, the current one in another style."""
        assert self._pattern is not None
        for match in self._pattern.finditer(row.text, row.start):
            current = self._match == (*where, match.start())
            style = _CURRENT if current else _OTHER
            strip = paint_span(strip, row.text, match.span(), style)
        return strip

    def mark_matches(
        self, pattern: re.Pattern[str] | None, match: tuple[int, int, int] | None
    ) -> None:
        """Highlight matches of a pattern; ``match`` (block order, row, character) is the current one."""
        self._pattern, self._match = pattern, match
        self.refresh()

    def show_row(self, index: int, row: int) -> None:
        """Bring a row of a block to the middle of the view, unless it is in view."""
        absolute = self.ledger.top(index) + self.ledger[index].gap + row
        if not self.ledger.measured(index) or not (
            0 <= absolute - self.scroll_offset.y < self.size.height
        ):
            self.hold(index, self.size.height // 2 - self.ledger[index].gap - row)

    def _with_hint(self, strip: Strip, count: int) -> Strip:
        text = f" ↓ {count} new line{'s' if count > 1 else ''} "
        left = max(0, self.size.width - len(text) - 1)
        hint = Strip([Segment(text, self.palette.hint)], len(text))
        return Strip.join([strip.crop(0, left), hint, strip.crop(left + len(text))])

    def hint_at(self, x: int, y: int) -> bool:
        """Whether the marker of unread lines is drawn at this cell."""
        return y == self.size.height - 1 and self.unread > 0 and x >= self.size.width - 24

    # -- selection -------------------------------------------------------------------------------

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: soft wraps joined, without gutters."""
        if not len(self.ledger):
            return None
        copy = Copy()
        first, last = self._selected_blocks(selection)
        for index in range(first, last + 1):
            block = self.ledger[index]
            if index > first and block.gap:
                copy.gap()
            inside = first < index < last
            if inside and not self.is_kept(block):
                copy.whole(plain(block.content))
            else:
                take_rows(copy, self.rows_of(index), block.order, selection)
        return copy.text(), "\n"

    def _selected_blocks(self, selection: Selection) -> tuple[int, int]:
        start, end = selection
        last = len(self.ledger) - 1
        first = self.ledger.from_order(order_of(start.y)) if start is not None else 0
        if end is not None:
            last = min(last, self.ledger.from_order(order_of(end.y) + 1) - 1)
        return first, last
