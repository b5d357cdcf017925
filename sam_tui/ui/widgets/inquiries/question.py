"""The questions that wait for the person, in place of the prompt."""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from sam_tui.core.inquiry import ApprovalRequest, Inquiry, Question, Reply, chosen
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.messages import ActionAsked, InquiryAnswered
from sam_tui.ui.plain import visible, visible_line
from sam_tui.ui.widgets.composer import Composer, Sent
from sam_tui.ui.widgets.inquiries.approval import ApprovalPanel
from sam_tui.ui.widgets.inquiries.panel import InquiryPanel, swallow

__all__ = ["ApprovalPanel", "InquiryPanel", "QuestionPanel", "panel_for"]


class QuestionPanel(InquiryPanel):
    """Asks what the agent wants to know; the answer may have many lines."""

    heading = "The agent asks"

    def __init__(
        self, inquiry: Inquiry, question: Question, patience: Patience, *, grabs: Callable[[], bool]
    ) -> None:
        super().__init__(inquiry, patience, grabs=grabs)
        self._question = question
        self._reply = Composer("Your answer", id="reply")

    def compose(self) -> ComposeResult:
        """The question, its context, the answer."""
        with VerticalScroll(id="details", classes="scrolls", can_focus=False):
            yield Static(Content(visible(self._question.prompt)).stylize("bold"), markup=False)
            if self._question.context:
                context = Content(visible(self._question.context)).stylize("$text-muted")
                yield Static(context, markup=False)
            if self._question.choices:
                yield Static(Content(self._offered()), markup=False)
                yield Static(Content("\n".join(self._numbered())), markup=False)
        yield self._reply

    def _numbered(self) -> list[str]:
        """The choices, each behind the number that names it."""
        return [f"{n} {visible_line(c)}" for n, c in enumerate(self._question.choices, 1)]

    def _by_number(self, text: str) -> str:
        """The choice that a number names; any other text as it is, and a choice that is a number."""
        choices = self._question.choices
        numbers = {str(n): choice for n, choice in enumerate(choices, 1)}
        return text if text in choices else numbers.get(text, text)

    def _offered(self) -> str:
        return f"Answer with one of: {visible(', '.join(self._question.choices))}."

    def on_mount(self) -> None:
        """Say how to answer."""
        self.border_subtitle = Content(
            "Enter answers · Shift+Enter new line · Esc cancels the turn"
        )

    @property
    def answering(self) -> Widget:
        """The answer."""
        return self._reply

    def on_key(self, event: events.Key) -> None:
        """Keys the answer left over, and those that mean something here."""
        if event.key == "escape":
            swallow(event)
            if self.guard.hears():
                self.post_message(ActionAsked("cancel"))

    def on_sent(self, event: Sent) -> None:
        """Send the answer, unless it is empty, will not do, or the panel came up just now."""
        event.stop()
        text = self._reply.text.strip()
        if not self.guard.hears() or not text:
            return
        answer = chosen(self._by_number(text), self._question.choices)
        if answer:
            self.post_message(InquiryAnswered(self.inquiry, Reply(answer)))
        else:
            self.border_subtitle = Content(f"That will not do. {self._offered()}")


def panel_for(inquiry: Inquiry, patience: Patience, *, grabs: Callable[[], bool]) -> InquiryPanel:
    """The panel that asks this inquiry; where ``grabs`` says so it takes the keys once it is drawn."""
    match inquiry.request:
        case ApprovalRequest() as request:
            return ApprovalPanel(inquiry, request, patience, grabs=grabs)
        case Question() as question:
            return QuestionPanel(inquiry, question, patience, grabs=grabs)
