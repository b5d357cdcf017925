"""The position of a long list of blocks in its window: exact heights where visible, else estimates."""

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from rich.style import Style
from textual import events
from textual.app import App
from textual.color import Color
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.widget import Widget

from sam_tui.ui.transcript.blocks import AnswerContent, Block, Plain, estimate
from sam_tui.ui.transcript.ledger import BlockLedger
from sam_tui.ui.transcript.render.palette import Palette, make_palette, terminal_palette

if TYPE_CHECKING:
    from sam_tui.ui.transcript.render.rows import Row

CACHED = 2_000
"""How many blocks have their drawn rows cached; for others only the content is stored."""
WALK = 4
"""A scroll of at most so many screens is followed row by row; a longer one relies on estimated heights."""

_VIRTUAL_SIZE = cast("Reactive[Size]", Widget.virtual_size)
"""Assigned without watchers, which would lay the screen out again."""


def _with_old(rows: "list[Row]", old: "list[Row]") -> "list[Row]":
    """Return the rows, with the first ones from an earlier drawing as far as they are equal: caches,
    such as that of a strip's cells, go by identity."""
    same = 0
    for row, before in zip(rows, old, strict=False):
        if row != before:
            break
        same += 1
    return [*old[:same], *rows[same:]]


class Viewport(ScrollView, can_focus=True):
    """Blocks as rows of one scroll view.

    The position is an anchor (a block and a row in it), not a row number: if heights above it turn out
    different from their estimates, the text that the person reads does not move. While ``following``,
    the anchor is the end.
    """

    ALLOW_MAXIMIZE = False
    DEFAULT_CSS: ClassVar[str] = """
    Viewport {
        overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1;
        background: $background; color: $foreground;
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    """

    def __init__(
        self, *, name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.following = True
        self.draws = 0
        """How many blocks were drawn so far."""
        self.ledger = BlockLedger()
        self._kept: OrderedDict[int, tuple[Block, list[Row]]] = OrderedDict()
        self._palette: Palette | None = None
        self._ground: tuple[Style, Color] | None = None
        self.wrap_width = 0
        self._anchor = (0, 0)
        self._placing = False
        self._seen = (0, 0)
        self._thumb = (0, 0, 0)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Set a size if it is new. Textual's method redraws the scroll bar at every layout."""
        if size == self._size and self._container_size == size - self.styles.gutter.totals:
            return False
        return super()._size_updated(size, virtual_size, container_size, layout)

    # -- drawing ---------------------------------------------------------------------------------

    @property
    def palette(self) -> Palette:
        """The styles of the present theme."""
        if self._palette is None:
            self._ground = self._present_ground()
            style, background = self._ground
            colour = style.color
            if colour is None or colour.is_default or background.ansi is not None:
                self._palette = terminal_palette()
                return self._palette
            app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType]
            theme, dark = app.theme_variables, app.current_theme.dark
            foreground = Color.from_rich_color(colour)
            self._palette = make_palette(foreground, background, theme, dark=dark)
        return self._palette

    def draw_block(self, block: Block, width: int) -> "list[Row]":
        """The rows of a block; a subclass may draw the open one more cheaply."""
        from sam_tui.ui.transcript.render.content import draw

        return draw(block, width, self.palette)

    def rows_of(self, index: int) -> "list[Row]":
        """The rows of a block, from memory where it was drawn before."""
        block = self.ledger[index]
        cached = self._kept.get(block.order)
        if cached is not None and cached[0] is block:
            self._kept.move_to_end(block.order)
            return cached[1]
        self.draws += 1
        rows = self.draw_block(block, self.wrap_width)
        if cached is not None:
            rows = _with_old(rows, cached[1])
        self._kept[block.order] = (block, rows)
        self._kept.move_to_end(block.order)
        if len(self._kept) > CACHED:
            self._kept.popitem(last=False)
        return rows

    def is_kept(self, block: Block) -> bool:
        """Whether the block's rows are in memory."""
        cached = self._kept.get(block.order)
        return cached is not None and cached[0] is block

    def exact_height(self, index: int) -> int:
        """The exact height of a block, drawn if need be."""
        if not self.ledger.measured(index):
            gap = self.ledger[index].gap
            self.ledger.set_height(index, gap + len(self.rows_of(index)))
        return self.ledger.height(index)

    def open_answer(self, index: int) -> int:
        """Cut a stored answer into its parts, now that it is looked at; returns their number."""
        block = self.ledger[index]
        if not isinstance(block.content, AnswerContent):
            return 1
        from sam_tui.ui.transcript.splitter import split

        pieces = split(block.content.source)
        blocks = [
            replace(block, order=block.order + count, content=piece.content, gap=piece.gap)
            for count, piece in enumerate(pieces)
        ] or [replace(block, content=Plain(""))]
        height = self.ledger.height(index)
        self.ledger.replace(index, blocks, [self.estimate_height(part) for part in blocks])
        anchor, row = self._anchor
        if anchor > index:
            self._anchor = (anchor + len(blocks) - 1, row)
        elif anchor == index and row:
            self._anchor = (index + min(len(blocks) - 1, row * len(blocks) // height), 0)
        return len(blocks)

    def estimate_height(self, block: Block) -> int:
        return block.gap + estimate(block.content, self.wrap_width - 3)

    # -- positions -------------------------------------------------------------------------------

    def insert_block(self, index: int, block: Block) -> None:
        """Put a block in; call ``place_view`` when all changes are made."""
        self.ledger.insert(index, block, self.estimate_height(block))
        if self._anchor[0] >= index and len(self.ledger) > 1:
            self._anchor = (self._anchor[0] + 1, self._anchor[1])

    def remove_block(self, index: int) -> None:
        """Take a block out."""
        self._kept.pop(self.ledger[index].order, None)
        self.ledger.remove(index)
        anchor, row = self._anchor
        if anchor > index:
            self._anchor = (anchor - 1, row)
        elif anchor == index:
            self._anchor = (index, 0)

    def forget_blocks(self) -> None:
        """Take everything out and stand at the end."""
        self.ledger.clear()
        self._kept.clear()
        self._anchor, self.following = (0, 0), True

    def hold(self, index: int, screen_row: int) -> None:
        """Place the view so that a block begins on the screen row where it began before."""
        self._anchor = (index, 0)
        following, self.following = self.following, False
        self.exact_height(index)
        self._walk(-screen_row)
        self.place_view()
        at_end = self.scroll_offset.y >= self.max_scroll_y
        self.following = following and at_end
        if following and not at_end:
            self._leave_end()
        self.refresh()

    def _leave_end(self) -> None:
        """Remember the last block, from which ``unread`` counts."""
        last = len(self.ledger) - 1
        self._seen = (self.ledger[last].order, self.ledger.height(last))

    def _measure_down(self, index: int, rows: int) -> None:
        while index < len(self.ledger) and rows > 0:
            self.open_answer(index)
            rows -= self.exact_height(index)
            index += 1

    def _measure_up(self, index: int, rows: int) -> None:
        while index >= 0 and rows > 0:
            index += self.open_answer(index) - 1
            rows -= self.exact_height(index)
            index -= 1

    def place_view(self) -> None:
        """Draw the visible part and bring the scroll position in line with the anchor."""
        height = self.size.height
        if not height or not self.wrap_width:
            return
        count = len(self.ledger)
        if self.following or not count:
            self._measure_up(count - 1, height)
            top = max(0, self.ledger.total - height)
            self._anchor = self.ledger.at(top) if count else (0, 0)
        else:
            top = self._place_anchor(height)
        self._scroll(top)

    def settle(self) -> None:
        """Scroll to the right place and draw the whole view."""
        self.place_view()
        self.refresh()

    def _place_anchor(self, height: int) -> int:
        """The top row for the present anchor, with everything from there on measured."""
        self._anchor = (min(self._anchor[0], len(self.ledger) - 1), self._anchor[1])
        self.open_answer(self._anchor[0])
        index, row = self._anchor
        row = min(row, self.exact_height(index) - 1)
        self._measure_down(index, row + height)
        top = self.ledger.top(index) + row
        if top + height > self.ledger.total:
            self._measure_up(len(self.ledger) - 1, height)
            top = max(0, self.ledger.total - height)
            self._anchor = self.ledger.at(top)
        else:
            self._anchor = (index, row)
        return top

    def _scroll(self, top: int) -> None:
        """Set sizes and position, without a layout: nothing around the pane changes."""
        size = Size(self.wrap_width, self.ledger.total)
        if size != self.virtual_size:
            self.set_reactive(_VIRTUAL_SIZE, size)
        self._placing = True
        try:
            self.scroll_target_y = top
            self.scroll_y = top
        finally:
            self._placing = False
        self._move_thumb()

    def _move_thumb(self) -> None:
        """Update the scroll bar if its thumb would move visibly (an eighth of a cell)."""
        height, total = self.size.height, max(1, self.ledger.total)
        top = self.scroll_offset.y
        thumb = (8 * height * height // total, 8 * height * top // total, height)
        if thumb != self._thumb and self.show_vertical_scrollbar:
            self._thumb = thumb
            bar = self.vertical_scrollbar
            bar.window_virtual_size, bar.window_size, bar.position = total, height, top

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The person scrolled: move the anchor by exact rows, and follow the end if it was reached."""
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)
        if self._placing or not len(self.ledger) or not self.wrap_width:
            return
        old, new = round(old_value), round(new_value)
        if old == new:
            return
        was_following = self.following
        if abs(new - old) <= WALK * self.size.height:
            self._walk(new - old)
        else:
            self._anchor = self.ledger.at(new)
        self.following = False
        if was_following:
            self._leave_end()
        self.place_view()
        self.following = self.scroll_offset.y >= self.max_scroll_y
        if self.following != was_following:
            self.refresh()

    def _walk(self, rows: int) -> None:
        """Move the anchor by rows, measuring the blocks that it passes."""
        index, row = self._anchor
        row += rows
        while row < 0 and index > 0:
            index -= 1
            index += self.open_answer(index) - 1
            row += self.exact_height(index)
        while index < len(self.ledger) - 1:
            self.open_answer(index)
            height = self.exact_height(index)
            if row < height:
                break
            row -= height
            index += 1
        self._anchor = (index, max(0, row))

    def move(self, rows: int) -> None:
        """Scroll by rows, at once."""
        self.scroll_to(y=self.scroll_y + rows, animate=False)

    def jump_to_end(self) -> None:
        """Go to the last row and stay with it."""
        self.following = True
        self.place_view()
        self.refresh()

    @property
    def unread(self) -> int:
        """Rows that were added below since the person left the end."""
        if self.following or not len(self.ledger):
            return 0
        index = min(self.ledger.from_order(self._seen[0]), len(self.ledger) - 1)
        seen = self.ledger.top(index) + min(self._seen[1], self.ledger.height(index))
        return max(0, self.ledger.total - max(seen, self.scroll_offset.y + self.size.height))

    def refresh_rows(self, first: int, total: int) -> None:
        """Repaint from an absolute row to the end of the drawn ones; ``total`` rows were there before."""
        height, scrolled = self.size.height, self.scroll_offset.y
        start = max(0, first - scrolled)
        end = min(height, max(total, self.ledger.total) - scrolled)
        if not self.following:
            # The marker of unread lines is on the last row.
            start, end = min(start, height - 1), height
        if start < end:
            self.refresh(Region(0, start, self.size.width, end - start))

    # -- size, theme -----------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Subscribe to theme changes."""
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType]
        app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _: object) -> None:
        self.forget_rows()
        self.call_after_refresh(self.forget_rows)

    def notify_style_update(self) -> None:
        """The widget's own colours changed."""
        super().notify_style_update()
        if self._ground is not None and self._ground != self._present_ground():
            self.forget_rows()

    def _present_ground(self) -> tuple[Style, Color]:
        return self.rich_style, self.background_colors[1]

    def forget_rows(self) -> None:
        self._palette = None
        self._kept.clear()
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Wrap the visible part again; the line at the top stays at the top."""
        width = event.size.width
        if width != self.wrap_width:
            before = self._characters_above() if self.wrap_width and not self.following else 0
            self.wrap_width = width
            self._kept.clear()
            self.ledger.forget_heights()
            if before and self._anchor[0] < len(self.ledger):
                self._anchor = (self._anchor[0], self._row_after(before))
        self.place_view()
        self.refresh()

    def _characters_above(self) -> int:
        """Characters of the anchor's block that stand above its row."""
        index, row = self._anchor
        if index >= len(self.ledger):
            return 0
        rows = self.rows_of(index)[: max(0, row - self.ledger[index].gap)]
        return sum(len(r.text) - r.start + len(r.glue or "\n") for r in rows)

    def _row_after(self, characters: int) -> int:
        """The row of the anchor's block where that many characters stand above."""
        index = self._anchor[0]
        for number, row in enumerate(self.rows_of(index)):
            characters -= len(row.text) - row.start + len(row.glue or "\n")
            if characters < 0:
                return number + self.ledger[index].gap
        return max(0, self.exact_height(index) - 1)
