"""A terminal's screen, drawn: only rows that changed, at most 60 times a second."""

import os
import time
from asyncio import TimerHandle
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from sam_tui.core.text.underlines import drawn_by
from sam_tui.ui.timers import after
from sam_tui.ui.widgets.terminal.cells import Link, Painter, laid_over, links_of, with_cursor
from sam_tui.ui.widgets.terminal.underlines import underlined

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import Screen, ShownSession
    from sam_tui.ui.widgets.terminal.browser import Browser
    from sam_tui.ui.widgets.terminal.selection import Marking, Stretch

_FRAME = 1 / 60
_REST = 2.0
"""The next frame waits at least so many times the duration of the last one."""
_PATIENCE = 0.5
"""Seconds after which a frame that is overdue is requested again."""
_BLINK = 0.53
_BLINKS = 20
"""After so many blinks without a key or output the cursor stops blinking."""
_UNDERLINED = Style(underline=True)


class TerminalCanvas(Widget):
    """Draws a terminal with its cursor, selection and search hits. It handles no input."""

    COMPONENT_CLASSES = {"terminal--hit", "terminal--present-hit"}  # noqa: RUF012
    ALLOW_SELECT = False  # marks are by cell of all stored rows, not only of the visible ones

    def __init__(self, *, waiting: str, id: str) -> None:
        super().__init__(id=id)
        self.displayed: ShownSession | None = None
        self.marking: Marking | None = None
        self.browser: Browser | None = None
        self.hovered: tuple[int, Link] | None = None
        """The row and the link under the pointer."""
        self.looked_at = False
        """Whether the canvas is visible."""
        self.origin = (0, 0)
        """The cell of the screen that is drawn at the upper left."""
        self._waiting = waiting
        self.refused = False
        """Whether opening a session here failed."""
        self._painter = Painter(Style())
        self._strips: list[Strip] = []
        self._links: dict[int, list[Link]] = {}
        self._stretch: Stretch | None = None
        self._top = 0
        self._stop_watching: Callable[[], None] | None = None
        self._timer: TimerHandle | None = None
        self._due = 0.0
        self._overdue = 0.0
        self._cursor: tuple[int, int] | None = None
        self._blinker: Timer | None = None
        self._blinks = 0

    @property
    def ended(self) -> bool:
        """Whether the program of the terminal has ended, or none could be started."""
        return self.refused or (self.displayed is not None and not self.displayed.running)

    def put_off(self, words: str) -> None:
        """Show these words in place of a terminal."""
        self.refused, self._waiting = True, words
        self.refresh()

    def draw(self, session: "ShownSession") -> None:
        """Show this from now on."""
        self.undraw()
        self.refused = False
        self.displayed = session
        self._stop_watching = session.watch(self._changed)
        self._fit(self.size)
        self.redraw()

    def undraw(self) -> None:
        """Show nothing; the content goes on changing."""
        if self._stop_watching is not None:
            self._stop_watching()
        self._stop_watching = None
        self.displayed = None
        self.marking = self.browser = self._stretch = self.hovered = None
        self._strips, self._links = [], {}

    def link_at(self, x: int, y: int) -> Link | None:
        """The link at a cell of the view."""
        return next((link for link in self._links.get(y, ()) if link[0] <= x < link[1]), None)

    # ---- for classes that add input

    def painted(self) -> None:
        """Called after every frame."""

    def unwatched(self) -> None:
        """Called when a hidden terminal gets output."""

    # ---- frames

    def on_show(self) -> None:
        """Draw the changes since the terminal was hidden."""
        self.looked_at = True
        self.redraw()

    def on_hide(self) -> None:
        """Stop drawing while the view is hidden."""
        self.looked_at = False
        self.still()

    def on_unmount(self) -> None:
        """Stop listening."""
        self.undraw()

    def _changed(self) -> None:
        """Output came: paint at once after a rest, else when the frame is due."""
        now = time.monotonic()
        if (self._timer is not None and now < self._overdue) or not self.is_attached:
            return
        if not self.looked_at:
            self.unwatched()
            return
        self._overdue = max(now, self._due) + _PATIENCE
        self._timer = after(self, self._due - now, self._paint)

    def _paint(self) -> None:
        self._timer = None
        if self.displayed is None or not self.looked_at:
            return
        began, used = time.monotonic(), time.thread_time()
        changed = self._take_rows(self.displayed.screen)
        regions = [*changed, *self._follow_cursor(self.displayed.screen)]
        if changed and self.browser is not None:
            self.browser.finding.renew()
        self._draw_anew(regions, all_of_it=bool(changed) and self._overlays_moved())
        self.painted()
        self._due = began + _FRAME
        self.call_after_refresh(self._drawn, began, used)

    def _take_rows(self, screen: "Screen") -> list[Region]:
        """Make the rows ready that changed; where they are drawn."""
        regions: list[Region] = []
        for y, runs in screen.dirty_rows():
            if y < len(self._strips):
                self._strips[y] = self._painter.strip(runs, self.row_width)
                self._note_links(y, links_of(runs))
                regions.append(self._place(y))
        return regions

    def _follow_cursor(self, screen: "Screen") -> list[Region]:
        """Return the rows that the cursor left and entered."""
        cursor, before = screen.cursor, self._cursor
        if cursor == before:
            return []
        self._cursor = cursor
        self.stir()
        rows = {position[1] for position in (cursor, before) if position is not None}
        return [self._place(y) for y in rows]

    def _drawn(self, began: float, used: float) -> None:
        """A frame was drawn: the longer that took, the later the next, so that others get the loop.

        Only this thread's CPU time counts: while other programs use the machine, waiting would not help.
        """
        work = time.thread_time() - used
        self._due = max(began + _FRAME, time.monotonic() + _REST * work)

    def redraw(self) -> None:
        """Draw every row anew, after a change of session, size, view or colours."""
        if self.displayed is None or not self.size:
            self.refresh()
            return
        if self.rich_style != self._painter.ground:
            no_colour = self.app.no_color  # pyright: ignore[reportUnknownMemberType]
            underlines = not no_colour and drawn_by(os.environ)
            self._painter = Painter(self.rich_style, underlines=underlines)
        screen, width = self.displayed.screen, self.row_width
        screen.dirty_rows()  # clears the marks: all rows are taken below
        rows = screen.all_rows()
        self._strips = [self._painter.strip(runs, width) for runs in rows]
        self._links = {}
        for y, runs in enumerate(rows):
            self._note_links(y, links_of(runs))
        self._cursor = screen.cursor
        self._overlays_moved()
        self.painted()
        self.refresh()

    def remark(self) -> None:
        """Draw only the changes of selection and hits."""
        if self.displayed is not None:
            self._overlays_moved()
            self.painted()
            self.refresh()

    @property
    def _colours(self) -> ColorSystem:
        name = self.app.console.color_system  # pyright: ignore[reportUnknownMemberType]
        return COLOR_SYSTEMS[name] if name is not None else ColorSystem.TRUECOLOR

    @property
    def row_width(self) -> int:
        """The number of cells of a row that are made ready to be drawn."""
        return self.size.width

    def _place(self, row: int) -> Region:
        """Return the region in which a row of the screen is drawn."""
        return Region(0, row - self.origin[1], self.size.width, 1)

    def _note_links(self, y: int, links: list[Link]) -> None:
        if links:
            self._links[y] = links
        else:
            self._links.pop(y, None)

    def _overlays_moved(self) -> bool:
        """Move the selection and search matches along with the screen; return whether any of them moved."""
        assert self.displayed is not None
        before = (self._top, self._stretch)
        self._top = self.displayed.screen.scrollback.top
        marking = self.browser.marking if self.browser is not None else self.marking
        self._stretch = marking.stretch() if marking is not None else None
        if self.browser is not None:
            return True
        return before != (self._top, self._stretch) and bool(before[1] or self._stretch)

    # ---- size

    def _fit(self, size: Size) -> None:
        if self.displayed is None or size.width < 2 or size.height < 1:
            return
        screen = self.displayed.screen
        if (screen.columns, screen.rows) != (size.width, size.height):
            self.displayed.resize(size.width, size.height)

    # ---- the cursor

    def stir(self) -> None:
        """Something happened: the cursor is to be seen, and blinks again if its program wants that."""
        self._blinks = 0
        session = self.displayed
        blinks = session is not None and self.has_focus and session.screen.cursor_blinks
        if blinks and self.looked_at and self._blinker is None:
            self._blinker = self.set_interval(_BLINK, self._turn)
        elif not blinks:
            self.still()

    def still(self) -> None:
        """The cursor stops blinking, and is to be seen."""
        if self._blinker is not None:
            self._blinker.stop()
            self._blinker = None
        self._blinks = 0

    def _turn(self) -> None:
        self._blinks += 1
        if self._blinks >= _BLINKS:
            self.still()
        if self._cursor is not None:
            self.refresh(self._place(self._cursor[1]))

    # ---- rows

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the stored rows: Textual would make each anew, for borders that are not here.

        A frame may come between a new size and the rows for it.
        """
        filters, ground = self.get_line_filters(), self.background_colors[1]
        strips: list[Strip] = []
        for strip in self._rows_at(crop.line_range):
            if strip.cell_length != self.size.width:
                strip = strip.adjust_cell_length(self.size.width, self.rich_style)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, ground)
            strips.append(strip)
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return [underlined(strip, self._colours) for strip in strips]

    def _draw_anew(self, regions: list[Region], *, all_of_it: bool) -> None:
        """Draw the changed regions, or everything if most of the view has changed."""
        if all_of_it or 2 * len(regions) > self.size.height:
            self.refresh()
        elif regions:
            self.refresh(*(r for r in regions if 0 <= r.y < self.size.height))

    def _rows_at(self, rows: range) -> list[Strip]:
        drawn = 1 if self.displayed is None else len(self._strips)
        strips = [self.render_line(y) for y in rows if y < drawn]
        if len(strips) < len(rows):
            # Every row below is the same, and its style is costly to find.
            below = self.render_line(rows[len(strips)])
            strips += [below] * (len(rows) - len(strips))
        return strips

    def render_line(self, y: int) -> Strip:
        """Return one row with selection and search matches, and with the cursor where the keys go."""
        session = self.displayed
        if session is None or y >= len(self._strips):
            base = self.rich_style
            text = f" {self._waiting}" if session is None and y == 0 else ""
            return Strip([Segment(text, base)]).adjust_cell_length(self.size.width, base)
        return self._with_cursor(self._with_overlays(self._strips[y], y), y, session.screen)

    def _with_cursor(self, strip: Strip, y: int, screen: "Screen") -> Strip:
        if self.browser is not None:
            column, row = self.browser.position
            return with_cursor(strip, column, "block") if row - self._top == y else strip
        seen = self.has_focus and not self.ended and not self._blinks % 2
        if self._cursor is None or self._cursor[1] != y or not seen:
            return strip
        return with_cursor(strip, self._cursor[0], screen.cursor_shape, screen.cursor_colour)

    def _with_overlays(self, strip: Strip, y: int) -> Strip:
        width, row = strip.cell_length, self._top + y
        if self.hovered is not None and self.hovered[0] == y:
            strip = laid_over(strip, *self.hovered[1][:2], _UNDERLINED)
        if self.browser is not None:
            for start, stop, present in self.browser.finding.cells(row, width):
                name = "terminal--present-hit" if present else "terminal--hit"
                strip = laid_over(strip, start, stop, self.get_component_rich_style(name))
        span = self._stretch.cells(row, width) if self._stretch is not None else None
        if span is None:
            return strip
        return laid_over(strip, *span, self.screen.get_component_rich_style("screen--selection"))
