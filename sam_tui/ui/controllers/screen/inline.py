"""Inline mode: finished text is printed as ordinary lines, and only the rest is drawn below them."""

from typing import TYPE_CHECKING, Any, Protocol, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.events import Resize
from textual.filter import ANSIToTruecolor
from textual.geometry import Size
from textual.strip import Strip

from sam_tui.ui.driver.cells import draw_again
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.transcript.scrollback import take_finished

if TYPE_CHECKING:
    from sam_tui.ui.driver.inline import Region

_LIVE = 10
"""The most rows for the output of work in progress."""
_ROOMY = 24
"""The rows for a question, a dialog, the search or the side column."""


class InlineTerminal(Protocol):
    """The abilities of an inline driver besides drawing."""

    region: "Region"
    placed: bool
    """Whether the position of the region in the terminal is known."""

    def print_above(self, lines: list[str]) -> None:
        """Print lines as ordinary text above the drawn rows."""
        ...

    def take_rows(self, height: int) -> bool:
        """Draw in so many rows from now on; False where it is so already."""
        ...


class InlineScreen:
    """Keeps the rows below the text as few as possible. ``settle`` is called after each frame."""

    def __init__(self, app: App[None], chat: ChatScreen) -> None:
        self._app = app
        self._chat = chat
        self._settling = False

    def drawn(self) -> None:
        """A frame was drawn: there may be something finished in it, or less to draw."""
        if not self._settling:
            self._settling = True
            self._app.call_later(self._settle)

    def _settle(self) -> None:
        self._settling = False
        driver = self._driver
        if driver is None or not driver.placed:
            return
        transcript = self._chat.transcript
        spoken = self._chat.layout_wish.reader
        rows = take_finished(transcript, spoken=spoken) if spoken or transcript.size else []
        if rows:
            driver.print_above([self._line(row) for row in rows])
        if driver.take_rows(self._wanted()):
            size = Size(self._app.size.width, driver.region.height)
            self._app.post_message(Resize(size, size))
        elif rows:
            draw_again(self._app)

    @property
    def _driver(self) -> InlineTerminal | None:
        driver: Any = self._app._driver  # pyright: ignore[reportPrivateUsage]
        return cast("InlineTerminal", driver) if hasattr(driver, "print_above") else None

    def _wanted(self) -> int:
        chat = self._chat
        if self._app.screen is not chat or chat.needs_room:
            return _ROOMY
        if chat.layout_wish.reader:
            return chat.bottom.virtual_size.height
        live = max(1, min(chat.transcript.ledger.total, _LIVE))
        return live + chat.bottom.virtual_size.height + chat.status.size.height

    def _line(self, strip: Strip) -> str:
        """A row as text for the terminal, on the terminal's own ground."""
        plain = self._chat.transcript.palette.text
        written = cell_len(strip.text.rstrip())
        parts = strip.crop(0, written) if written else Strip.blank(0)
        strip = Strip([Segment(s.text, _on_own_ground(s.style, plain)) for s in parts])
        for line_filter in self._app.get_line_filters():
            if not isinstance(line_filter, ANSIToTruecolor):
                strip = strip.apply_filter(line_filter, Color(0, 0, 0, 0))
        return strip.render(self._app.console)  # pyright: ignore


def _on_own_ground(style: Style | None, plain: Style) -> Style:
    """The style without the colours of plain text, so that the terminal's own colours show instead."""
    if style is None:
        return Style()
    colour = None if style.color == plain.color else style.color
    ground = None if style.bgcolor == plain.bgcolor else style.bgcolor
    return style.without_color + Style(color=colour, bgcolor=ground)
