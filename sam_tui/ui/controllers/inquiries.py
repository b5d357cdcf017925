"""Questions to the person, one at a time, in the order asked, each in its own conversation's tab."""

from asyncio import TimerHandle

from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import ApprovalRequest, Inquiry, alike
from sam_tui.ui.controllers.current_conversation import CurrentConversation
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
    """Shows the oldest open question in place of the prompt, once the person pauses typing.

    A question of a hidden conversation waits until that is displayed, so that nobody answers it for
    another one.
    """

    def __init__(
        self,
        screen: ChatScreen,
        current: CurrentConversation,
        keyboard: Keyboard,
        attention: Attention,
    ) -> None:
        self._screen = screen
        self._current = current
        self._attention = attention
        self._keyboard = keyboard
        self._row: list[Inquiry] = []
        self._panel: InquiryPanel | None = None
        self._timer: TimerHandle | None = None
        self._answered = 0
        self._behind: dict[InquiryId, InquiryPanel] = {}
        """The panels of hidden tabs' questions, with what the person has written in them."""
        current.arrived.watch(self._arrive)

    def opened(self, inquiry: Inquiry) -> None:
        """A question waits."""
        self._row.append(inquiry)
        self._count()
        if not self._here(inquiry):
            self._screen.status.flash("Another conversation asks: F12")
            self._attention.call(_words_of(inquiry))
        self._screen.call_later(self.consider)

    def closed(self, inquiry: InquiryId) -> None:
        """Remove a question that no longer waits, whoever answered it."""
        if all(entry.id != inquiry for entry in self._row):
            return
        self._row = [entry for entry in self._row if entry.id != inquiry]
        if (behind := self._behind.pop(inquiry, None)) is not None:
            behind.remove()
        if self._panel is not None and self._panel.inquiry == inquiry:
            self._answered += 1
            self._take_down(self._panel)
        if not self._row:
            self._answered = 0
        self._count()
        self._screen.call_later(self.consider)

    def rearm(self) -> None:
        """Ignore keys for a moment, because the person has only just come back to this screen."""
        if self._panel is not None:
            self._panel.guard.rearm()

    def consider(self) -> None:
        """Show the next question if that is possible now; else try again when it may be."""
        self._stop()
        row = list(filter(self._here, self._row))
        if self._panel is not None or not row or not self._screen.is_active:
            return
        wait = self._keyboard.wait
        if wait > 0:
            self._timer = after(self._screen, wait, self.consider)
            return
        self._show(row[0])

    def _here(self, inquiry: Inquiry) -> bool:
        """Whether a question belongs to the displayed conversation, or to one without a tab."""
        return self._current.tab_of(inquiry.conversation) in (None, self._current.tab)

    def _arrive(self) -> None:
        """Another tab is displayed: hide the question of the old one, and show those of the new one."""
        panel, self._panel = self._panel, None
        if panel is not None:
            self._behind[panel.inquiry] = panel
            self._screen.put_question_behind(panel)
        self._stop()
        self._screen.call_later(self.consider)

    def _show(self, inquiry: Inquiry) -> None:
        patience = self._keyboard.patience
        self._panel = self._behind.pop(inquiry.id, None) or panel_for(
            inquiry,
            InquirySurroundings(patience, self._grabs, lambda: self._screen.transcript.palette),
        )
        self._screen.show_question(self._panel)
        self._count()
        self._timer = after(self._screen, patience.reminder, self._remind)

    def _grabs(self) -> bool:
        """Whether a question may take the focus: not from a terminal, whose program gets the keys."""
        return not isinstance(self._screen.focused, TerminalView)

    def _take_down(self, panel: InquiryPanel) -> None:
        self._panel = None
        self._stop()
        self._screen.remove_question(panel)

    def _count(self) -> None:
        row = list(filter(self._here, self._row))
        if self._panel is not None and row:
            # The latest announcement of a coming call counts.
            coming = {(e.conversation, e.call): e for waiting in row for e in waiting.coming}
            before = max(self._answered, row[0].before)
            total = before + len(row) + len(coming)
            self._panel.number_among(before + 1, total, alike([*row, *row[0].coming]))

    def _remind(self) -> None:
        self._timer = None
        row = list(filter(self._here, self._row))
        if self._panel is not None and row:
            self._attention.call(_words_of(row[0]))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _words_of(inquiry: Inquiry) -> str:
    """The subject of a question without a model's words, for notifications outside of the screen."""
    request = inquiry.request
    if isinstance(request, ApprovalRequest):
        return f"Approve {request.operation}?"
    return "The agent asks a question."
