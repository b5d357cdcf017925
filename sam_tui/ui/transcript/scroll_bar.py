"""The scroll bar of a conversation: it moves with every new row, so drawing it costs little."""

from math import ceil
from typing import cast

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip


class LeanScrollBar(ScrollBar):
    """Textual's vertical scroll bar. Each of its looks is one strip; Textual styles every row."""

    def stand(self, total: int, window: int, position: int) -> None:
        """Show ``window`` rows of ``total`` from the row ``position`` on; drawn once for all three."""
        self.set_reactive(ScrollBar.window_virtual_size, total)
        self.set_reactive(ScrollBar.window_size, window)
        self.set_reactive(ScrollBar.position, position)
        self.refresh()

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
        strips = {id(segment): Strip([segment], width) for segment in segments}
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
