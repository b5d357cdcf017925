"""A dialog that shows a text part by part."""

from collections.abc import Callable
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from sam_tui.ui import programs
from sam_tui.ui.plain import one_line, visible
from sam_tui.ui.screens.dialogs import Dialog
from sam_tui.ui.widgets.key_frame import KeyFrame

PART = 50_000
"""How many characters are shown at once."""


@dataclass(frozen=True, slots=True)
class ReaderPart:
    """A range of a text: where it begins, and how long the whole is."""

    text: str
    start: int
    total: int


def whole(text: str) -> Callable[[int, int], ReaderPart]:
    """The parts of a text that is had already."""
    return lambda start, length: ReaderPart(text[start : start + length], start, len(text))


class Reader(Dialog):
    """Shows a text; ``load`` brings the part that begins at a place."""

    BINDINGS = [  # noqa: RUF012
        Binding("right_square_bracket", "move(1)", "Next part", show=False),
        Binding("left_square_bracket", "move(-1)", "Earlier part", show=False),
    ]

    def __init__(self, title: str, load: Callable[[int, int], ReaderPart]) -> None:
        super().__init__()
        self._title = title
        self._load = load
        self._part = ReaderPart("", 0, 0)
        self._frame = KeyFrame()
        self._area = TextArea(read_only=True, soft_wrap=True, show_line_numbers=False)

    def compose(self) -> ComposeResult:
        """The text in a frame."""
        self._frame.border_title = Content(one_line(self._title, 70))
        with self._frame:
            yield self._area

    def on_mount(self) -> None:
        """The first part."""
        self._show(0)
        self.set_focus(self._area)

    def action_move(self, parts: int) -> None:
        """Go on, or back, by one part."""
        start = self._part.start + parts * PART
        if 0 <= start < max(1, self._part.total):
            self._show(start)

    def _show(self, start: int) -> None:
        self._part = part = self._load(start, PART)
        self._area.text = visible(part.text)
        end = part.start + len(part.text)
        span = f"characters {part.start + 1:,} to {end:,} of {part.total:,} · [ ] for other parts"
        self._frame.say_keys(f"{span if part.total > PART else '↑↓ scrolls'} · Esc closes")


class LoginPage(Dialog):
    """The address of the page where a person logs in at a server, until that is done or given up."""

    BINDINGS = [  # noqa: RUF012
        Binding("c", "copy", "Copy the address", show=False),
        Binding("o", "browse", "Open it in the browser", show=False),
    ]

    class Offered(Message):
        """The server named the page for its login. May be posted from any thread."""

        def __init__(self, address: str) -> None:
            super().__init__()
            self.address = address

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self._address = ""
        self._frame = KeyFrame()
        self._area = TextArea(
            "Asking the server for its login page…", read_only=True, soft_wrap=True
        )

    def compose(self) -> ComposeResult:
        """The address in a frame."""
        self._frame.border_title = Content(f"Log in at {one_line(self._server, 50)}")
        self._frame.say_keys("Esc gives up")
        with self._frame:
            yield self._area

    def on_mount(self) -> None:
        """The keys are the dialog's, the mouse may mark."""
        self.set_focus(self._area)

    def offer(self, address: str) -> None:
        """Show a page; may be called by any thread."""
        self.post_message(self.Offered(address))

    def on_login_page_offered(self, event: Offered) -> None:
        """Show the address."""
        event.stop()
        self._address = event.address
        self._area.text = visible(event.address)
        self._frame.say_keys("c copies · o opens the browser · Esc gives up")

    def action_copy(self) -> None:
        """Copy the address."""
        if self._address:
            programs.copy_address(self, self._address)

    async def action_browse(self) -> None:
        """Open the page in a browser on this machine."""
        if self._address:
            await programs.open_address(self, self._address)
