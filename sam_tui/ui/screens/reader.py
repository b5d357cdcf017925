"""A text to read in a window of its own, part by part."""

from collections.abc import Callable
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import TextArea

from sam_tui.ui.plain import one_line, visible
from sam_tui.ui.screens.dialogs import Dialog

PART = 50_000
"""Characters that are read at once."""


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
        self._frame = Vertical()
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
        more = " · [ ] for other parts" if part.total > PART else ""
        span = f"{part.start:,}-{end:,} of {part.total:,}{more} · Esc closes"
        self._frame.border_subtitle = Content(span)
