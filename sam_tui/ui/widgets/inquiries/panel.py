"""The base of every question in place of the prompt: its place in the row, and its guard."""

from collections.abc import Callable, Sequence

from textual import events
from textual.content import Content
from textual.widget import Widget

from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import Inquiry
from sam_tui.ui.key_guard import KeyGuard, Patience
from sam_tui.ui.widgets.key_frame import KeyFrame

_LEFT = 3
"""The least rows that remain for transcript and status bar."""
_ENOUGH = 13
"""A question may take so many rows, even if only ``_LEFT`` rows remain."""
_LITTLE = 30
"""In a terminal of at most so many rows a question gets a larger share of them."""


class InquiryPanel(KeyFrame):
    """A question with its number in the queue and its guard against stray keys."""

    heading = ""
    around = 6
    """The rows that do not scroll: border, covered rows, space, choices, comment."""

    def __init__(self, inquiry: Inquiry, patience: Patience, *, grabs: Callable[[], bool]) -> None:
        super().__init__(classes="inquiry")
        self.inquiry: InquiryId = inquiry.id
        self.guard = KeyGuard(patience, lambda: bool(self.region.area))
        self._grabs = grabs
        """Whether this takes the focus when it is drawn; not while the person types into a terminal."""

    def on_show(self) -> None:
        """Take the focus; keys pressed before the panel was drawn are ignored."""
        self.guard.rearm()
        self.call_after_refresh(self.guard.rearm)
        if self._grabs():
            self.take_focus()

    def number_among(self, number: int, total: int, alike: Sequence[Inquiry]) -> None:
        """Show the question's number among the waiting ones; ``alike`` includes this one."""
        del alike
        count = f" {number} of {total}" if total > 1 else ""
        self.border_title = Content(self.heading + count)

    def on_mount(self) -> None:
        """Fit the choices before the first layout, so that no second one is needed."""
        InquiryPanel.on_resize(self)

    def on_resize(self) -> None:
        """Keep the choices below the scrolling text visible on any terminal.

        On a low one the question takes nearly all rows.
        """
        height = self.screen.size.height
        share = height * 7 // 10 if height <= _LITTLE else height * 6 // 10
        room = max(share, min(height - _LEFT, _ENOUGH)) - self.around
        for scrolling in self.query(".scrolls"):
            scrolling.styles.max_height = max(1, room)

    @property
    def answering(self) -> Widget:
        """The widget that receives the panel's keys."""
        return self

    def leaves(self, key: str) -> bool:
        """Whether the workbench handles this key even while the panel has the focus."""
        return True

    def take_focus(self) -> None:
        """Take the focus as soon as the panel is drawn.

        At once: ``Widget.focus`` comes later, and takes the keys from a terminal that got them meanwhile.
        """
        if self.answering.is_mounted:
            self.screen.set_focus(self.answering)


def swallow(event: events.Key) -> None:
    """Stop a key, so that nothing else gets it."""
    event.stop()
    event.prevent_default()
