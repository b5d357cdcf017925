"""One terminal session, drawn: cells in, keys out."""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from sam_tui.core.errors import ToolError
from sam_tui.ui.messages import ActionAsked, RestartAsked
from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.ports.terminals import CellRun, TerminalSession

LEAVE = "ctrl+right_square_bracket"
"""The one key that does not go to the program."""

_FRAME = 1 / 60
_WHEEL_LINES = 3
_REVERSED = Style(reverse=True)
_RICH_NAMES = {"hidden": "conceal", "blink": "bold"}
"""Blinking is drawn bold: nothing here moves by itself."""

Colour = int | tuple[int, int, int] | None


def _colour(value: Colour) -> Color | None:
    if value is None:
        return None
    return Color.from_ansi(value) if isinstance(value, int) else Color.from_rgb(*value)


@lru_cache(maxsize=4096)
def cell_style(foreground: Colour, background: Colour, attributes: frozenset[str]) -> Style:
    """The Rich style of a run of cells."""
    style = Style(color=_colour(foreground), bgcolor=_colour(background))
    return Style.combine([
        style,
        *(Style.parse(_RICH_NAMES.get(name, name)) for name in attributes),
    ])


def row_strip(runs: "Sequence[CellRun]", width: int) -> Strip:
    """A screen row as a strip of exactly ``width`` cells."""
    segments = [Segment(r.text, cell_style(r.foreground, r.background, r.attributes)) for r in runs]
    return Strip(segments).adjust_cell_length(width)


class Relabelled(Message):
    """What a view says about itself changed."""


class TerminalView(Widget, can_focus=True):
    """Shows a session's screen and types into it. Draws only rows that changed, at most 60 a second.

    ``restartable`` says whether Enter may restart an ended program; then ``RestartAsked`` is posted.
    """

    def __init__(self, *, waiting: str, restartable: bool, id: str) -> None:
        super().__init__(id=id)
        self.session: TerminalSession | None = None
        self.label = ""
        """What the border around should say."""
        self._waiting = waiting
        self._restartable = restartable
        self._strips: list[Strip] = []
        self._stop_watching: Callable[[], None] | None = None
        self._timer: Timer | None = None
        self._painted = 0.0
        self._cursor: tuple[int, int] | None = None
        self._scrolled = False

    @property
    def ended(self) -> bool:
        """Whether there was a program and it ended."""
        return self.session is not None and not self.session.running

    def attach(self, session: "TerminalSession") -> None:
        """Show this session from now on."""
        self.detach()
        self.session = session
        self._stop_watching = session.watch(self._changed)
        self._fit(self.size)
        self._redraw()

    def detach(self) -> None:
        """Show nothing; the session goes on."""
        if self._stop_watching is not None:
            self._stop_watching()
        self._stop_watching = None
        self.session = None
        self._strips = []

    def on_unmount(self) -> None:
        """Stop listening."""
        self.detach()

    # ---- drawing

    def _changed(self) -> None:
        """Output came: paint at once after a rest, else when the frame is due."""
        if self._timer is None and self.is_attached:
            due = self._painted + _FRAME - time.monotonic()
            self._timer = self.set_timer(max(0.001, due), self._paint)

    def _paint(self) -> None:
        self._timer = None
        self._painted = time.monotonic()
        if self.session is None:
            return
        screen, width = self.session.screen, self.size.width
        regions: list[Region] = []
        for y, runs in screen.dirty_rows():
            if y < len(self._strips):
                self._strips[y] = row_strip(runs, width)
                regions.append(Region(0, y, width, 1))
        cursor = screen.cursor
        if cursor != self._cursor:
            rows = {place[1] for place in (cursor, self._cursor) if place is not None}
            regions.extend(Region(0, y, width, 1) for y in rows)
            self._cursor = cursor
        if regions:
            self.refresh(*regions)
        self._label()

    def _redraw(self) -> None:
        """Draw every row anew, after a change of session or size."""
        if self.session is None or not self.size:
            self.refresh()
            return
        screen, width = self.session.screen, self.size.width
        screen.dirty_rows()  # clears the marks: all rows are taken below
        self._strips = [row_strip(runs, width) for runs in screen.all_rows()]
        self._cursor = screen.cursor
        self._label()
        self.refresh()

    def _label(self) -> None:
        """Keep the border true: title, how to leave, how it ended."""
        session, label = self.session, ""
        if session is not None and self.ended:
            code = "a signal" if session.exit_code is None else f"exit {session.exit_code}"
            label = f"ended: {code}" + (" · Enter restarts" if self._restartable else "")
        elif session is not None and self.has_focus:
            label = "Ctrl+] leaves" + (" · scrolled" if self._scrolled else "")
        elif session is not None:
            label = one_line(session.screen.title, 40)
        if label != self.label:
            self.label = label
            self.post_message(Relabelled())

    def render_line(self, y: int) -> Strip:
        """One row, with the cursor when the keys go here."""
        width = self.size.width
        base = self.rich_style
        if self.session is None or y >= len(self._strips):
            text = f" {self._waiting}" if self.session is None and y == 0 else ""
            return Strip([Segment(text, base)]).adjust_cell_length(width, base)
        strip = self._marked(self._strips[y].apply_style(base), y).apply_offsets(0, y)
        if self._cursor is None or self._cursor[1] != y or not self.has_focus or self.ended:
            return strip
        x = min(self._cursor[0], width - 1)
        cell = strip.crop(x, x + 1)
        marked = Strip([Segment(s.text, (s.style or Style()) + _REVERSED) for s in cell])
        return Strip.join([strip.crop(0, x), marked, strip.crop(x + 1, width)])

    def _marked(self, strip: Strip, y: int) -> Strip:
        """The row with what is selected of it marked."""
        chosen = self.text_selection
        span = chosen.get_span(y) if chosen is not None else None
        if span is None:
            return strip
        width = strip.cell_length
        start, end = span[0], width if span[1] == -1 else span[1]
        style = self.screen.get_component_rich_style("screen--selection")
        inner = strip.crop(start, end).apply_style(style)
        return Strip.join([strip.crop(0, start), inner, strip.crop(end, width)])

    # ---- selection

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """What is selected, with soft wraps joined."""
        return self._selected(selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """The agent may ask for what is selected, so the session knows it."""
        if self.session is not None:
            self.session.selection = self._selected(selection) if selection is not None else ""
        self.refresh()

    def _selected(self, selection: Selection) -> str:
        spans = [(y, selection.get_span(y)) for y in range(len(self._strips))]
        rows = [(y, span) for y, span in spans if span is not None]
        if self.session is None or not rows:
            return ""
        (first, (start, _)), (last, (_, end)) = rows[0], rows[-1]
        screen = self.session.screen
        stop = screen.columns if end == -1 else end
        return screen.text_range((start, screen.top + first), (max(0, stop - 1), screen.top + last))

    # ---- size

    def on_resize(self, event: events.Resize) -> None:
        """Pass the new size on to the program."""
        self._fit(event.size)
        self._redraw()

    def _fit(self, size: Size) -> None:
        if self.session is None or size.width < 2 or size.height < 1:
            return
        screen = self.session.screen
        if (screen.columns, screen.rows) != (size.width, size.height):
            self.session.resize(size.width, size.height)

    # ---- input

    def on_focus(self) -> None:
        """The cursor and the way out appear."""
        self._label()
        self.refresh()

    def on_blur(self) -> None:
        """The cursor goes."""
        self._label()
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """Every key belongs to the program, but the one that leaves and those that scroll back."""
        event.stop()
        event.prevent_default()
        if event.key == LEAVE or self.session is None:
            self.post_message(ActionAsked("leave_terminal"))
        elif self.ended:
            if event.key == "enter" and self._restartable:
                self.post_message(RestartAsked())
        elif event.key in ("shift+pageup", "shift+pagedown"):
            page = max(1, self.size.height - 1)
            self._scroll(-page if event.key == "shift+pageup" else page)
        else:
            self._type(event)

    def _type(self, event: events.Key) -> None:
        # Loaded with the session: by now the core is there anyway.
        from sam_tui.core.ports.terminals import KeyPress

        if self.session is None:
            return
        self._follow()
        self._write(
            self.session, self.session.screen.encode_key(KeyPress(event.key, event.character))
        )

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text goes in as a paste, so that a shell does not run it."""
        event.stop()
        event.prevent_default()
        if self.session is not None and self.session.running:
            self._follow()
            self._write(self.session, self.session.screen.encode_paste(event.text))

    def _write(self, session: "TerminalSession", data: bytes) -> None:
        """Type; a program that does not read, or ended this instant, is answered with the bell."""
        if not data:
            return
        try:
            session.write(data)
        except ToolError:
            self.app.bell()  # pyright: ignore[reportUnknownMemberType]

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Look back."""
        event.stop()
        self._scroll(-_WHEEL_LINES)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Look forward again."""
        event.stop()
        self._scroll(_WHEEL_LINES)

    def _scroll(self, lines: int) -> None:
        if self.session is not None:
            self._scrolled = True
            self.session.screen.scroll(lines)
            self._redraw()

    def _follow(self) -> None:
        """Back to the newest output, where typing happens."""
        if self._scrolled and self.session is not None:
            self._scrolled = False
            self.session.screen.scroll(0)
            self._redraw()
