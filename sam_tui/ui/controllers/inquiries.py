"""Questions to the person, one at a time, in the order asked."""

from asyncio import TimerHandle

from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import ApprovalRequest, Inquiry, alike
from sam_tui.ui.controllers.screen.attention import Attention
from sam_tui.ui.key_guard import Keyboard
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.timers import after
from sam_tui.ui.widgets.inquiries.question import (
    InquiryPanel,
    InquirySurroundings,
    panel_for,
)
from sam_tui.ui.widgets.terminal.view import TerminalView


class InquiryQueue:
    """Shows the oldest open question in place of the prompt, once the person pauses typing."""

    def __init__(self, screen: ChatScreen, keyboard: Keyboard, attention: Attention) -> None:
        self._screen = screen
        self._attention = attention
        self._keyboard = keyboard
        self._row: list[Inquiry] = []
        self._panel: InquiryPanel | None = None
        self._timer: TimerHandle | None = None
        self._answered = 0

    def opened(self, inquiry: Inquiry) -> None:
        """A question waits."""
        self._row.append(inquiry)
        self._count()
        self._screen.call_later(self.consider)

    def closed(self, inquiry: InquiryId) -> None:
        """A question no longer waits, whoever answered it."""
        if all(entry.id != inquiry for entry in self._row):
            return
        self._row = [entry for entry in self._row if entry.id != inquiry]
        if self._panel is not None and self._panel.inquiry == inquiry:
            self._answered += 1
            self._take_down(self._panel)
        if not self._row:
            self._answered = 0
        self._count()
        self._screen.call_later(self.consider)

    def rearm(self) -> None:
        """The person just came back to this screen: what is pressed now was not meant for us."""
        if self._panel is not None:
            self._panel.guard.rearm()

    def consider(self) -> None:
        """Show the next question if nothing speaks against it; else look again when it may."""
        self._stop()
        if self._panel is not None or not self._row or not self._screen.is_active:
            return
        wait = self._keyboard.wait
        if wait > 0:
            self._timer = after(self._screen, wait, self.consider)
            return
        self._show(self._row[0])

    def _show(self, inquiry: Inquiry) -> None:
        patience = self._keyboard.patience
        self._panel = panel_for(
            inquiry,
            InquirySurroundings(patience, self._grabs, lambda: self._screen.transcript.palette),
        )
        self._screen.show_question(self._panel)
        self._count()
        self._timer = after(self._screen, patience.reminder, self._remind)

    def _grabs(self) -> bool:
        """Whether a question may take the keys: not from a terminal, whose program gets what is typed."""
        return not isinstance(self._screen.focused, TerminalView)

    def _take_down(self, panel: InquiryPanel) -> None:
        self._panel = None
        self._stop()
        self._screen.remove_question(panel)

    def _count(self) -> None:
        if self._panel is not None:
            self._panel.number_among(
                self._answered + 1, self._answered + len(self._row), alike(self._row)
            )

    def _remind(self) -> None:
        self._timer = None
        if self._panel is not None:
            self._attention.call(_words_of(self._row[0]))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _words_of(inquiry: Inquiry) -> str:
    """What a question is about. No word of it is a model's: those stay on the screen."""
    request = inquiry.request
    if isinstance(request, ApprovalRequest):
        return f"Approve {request.operation}?"
    return "The agent asks a question."
