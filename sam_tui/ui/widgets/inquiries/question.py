"""The questions that wait for the person, in place of the prompt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from sam_tui.core.inquiry import ApprovalRequest, Inquiry, Question, Reply
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.messages import ActionAsked, InquiryAnswered
from sam_tui.ui.plain import visible, visible_line
from sam_tui.ui.widgets.composer import Composer, Sent
from sam_tui.ui.widgets.inquiries.approval import ApprovalPanel
from sam_tui.ui.widgets.inquiries.panel import InquiryPanel, swallow

if TYPE_CHECKING:
    from sam_tui.ui.transcript.render.palette import Palette

__all__ = ["ApprovalPanel", "InquiryPanel", "QuestionPanel", "panel_for"]

_STEPS = {"up": -1, "down": 1}
_TWO_DIGITS = 10
"""With at least so many choices, a typed digit may be the first of two."""
_ANSWERS = "Enter answers · Shift+Enter new line · Esc cancels the turn"
_ONE = "↑↓ or number, Enter answers · or write · Esc cancels the turn"
_PAGE = "c copies · o opens the browser · ↑↓ or number, Enter answers · Esc cancels the turn"
_SEVERAL = "↑↓ and Space or numbers, Enter answers · or write · Esc cancels the turn"


@dataclass(frozen=True, slots=True)
class InquirySurroundings:
    """The parts of the screen that a panel needs: how long it ignores keys, whether it takes the focus
    once it is drawn, and the styles of the transcript."""

    patience: Patience
    grabs: Callable[[], bool]
    palette: Callable[[], "Palette"]


class ChoiceClicked(Message):
    """A choice was clicked."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


class ChoiceRow(Static):
    """A numbered choice."""

    def __init__(self, index: int, words: str) -> None:
        super().__init__(markup=False, classes="choice")
        self._index = index
        self._words = words

    def mark(self, *, marked: bool, ticked: bool | None) -> None:
        """Show whether this choice is marked, and with several answers whether it is ticked."""
        box = "" if ticked is None else "[x] " if ticked else "[ ] "
        self.update(
            Content.assemble(
                ("▸ " if marked else "  ", "bold $accent"),
                (f"{self._index + 1} {box}", "bold $accent" if marked else "$text-muted"),
                (visible_line(self._words), "bold" if marked or ticked else "$foreground"),
            )
        )

    def on_click(self, event: events.Click) -> None:
        """A click marks; it answers nothing."""
        event.stop()
        self.post_message(ChoiceClicked(self._index))


class QuestionText(Static):
    """The agent's question, with its Markdown drawn and no character hidden."""

    def __init__(self, source: str, palette: Callable[[], "Palette"]) -> None:
        super().__init__(markup=False)
        self._source = visible(source)
        self._palette = palette
        self._width = 0

    def on_resize(self) -> None:
        """Draw the text as wide as there is room."""
        from sam_tui.ui.transcript.render.markdown import draw_markdown
        from sam_tui.ui.transcript.render.rows import Canvas, Lead

        width = self.container_size.width
        if width and width != self._width:
            self._width = width
            palette = self._palette()
            at_the_edge = ("", palette.text)
            canvas = Canvas(width, palette, leads=[Lead(at_the_edge, at_the_edge)])
            draw_markdown(canvas, self._source)
            strips = [row.strip.crop(0, len(row.text)) for row in canvas.rows]
            rows = [Text.assemble(*((s.text, s.style or "") for s in strip)) for strip in strips]
            self.update(Text("\n").join(rows))


class ReplyArea(Composer):
    """The answer; while it is empty the arrows and the space bar are for the choices."""

    def __init__(self, steer: Callable[[str], bool]) -> None:
        super().__init__("Your answer", id="reply")
        self._steer = steer

    def takes(self, event: events.Key) -> bool:
        """Whether the key went to the choices."""
        return not self.text and self._steer(event.key)


class QuestionPanel(InquiryPanel):
    """Shows a question of the agent; the answer may have several lines."""

    heading = "The agent asks"

    def __init__(
        self, inquiry: Inquiry, question: Question, surroundings: InquirySurroundings
    ) -> None:
        super().__init__(inquiry, surroundings.patience, grabs=surroundings.grabs)
        self._question = question
        self._palette = surroundings.palette
        self._reply = ReplyArea(self._steer)
        self._rows = [ChoiceRow(at, words) for at, words in enumerate(question.choices)]
        self._at: int | None = None
        self._taken: set[int] = set()

    def compose(self) -> ComposeResult:
        """The question, its context, the choices, the answer."""
        with VerticalScroll(id="details", classes="scrolls", can_focus=False):
            yield QuestionText(self._question.prompt, self._palette)
            page = self._question.page
            if page:  # as it is: Markdown would take characters away
                yield Static(visible(page), markup=False)
            if context := self._question.context.removeprefix(page).strip():
                yield QuestionText(context, self._palette)
            yield from self._rows
        yield self._reply

    def _by_number(self, text: str) -> str:
        """Return the choice with this number; any other text, or a choice itself, unchanged."""
        choices = self._question.choices
        if text in choices:
            return text
        numbers = {str(n): choice for n, choice in enumerate(choices, 1)}
        parts = text.replace(",", " ").split()
        if text.isdigit() and len(choices) < _TWO_DIGITS:
            parts = list(text)  # each digit is a choice: 13 means 1 and 3
        named = [part if part in choices else numbers.get(part) for part in parts]
        if self._question.several and len(named) > 1 and all(named):
            return "\n".join(map(str, named))
        return numbers.get(text, text)

    def on_mount(self) -> None:
        """Say how to answer."""
        self._write()
        hint = _SEVERAL if self._question.several else _ONE
        hint = _PAGE if self._question.page else hint
        self.say_keys(hint if self._rows else _ANSWERS)

    def _write(self) -> None:
        for at, row in enumerate(self._rows):
            ticked = at in self._taken if self._question.several else None
            row.mark(marked=at == self._at, ticked=ticked)

    def _steer(self, key: str) -> bool:
        """Handle a key that acts on the choices; False for any other key."""
        if self._question.page and key in ("c", "o"):
            self._use_page(key)
            return True
        if not self._rows or key not in (*_STEPS, "space"):
            return False
        if key in _STEPS:
            start = -1 if _STEPS[key] > 0 else len(self._rows)
            at = (start if self._at is None else self._at) + _STEPS[key]
            self._mark(min(max(at, 0), len(self._rows) - 1))
        elif self._question.several and self._at is not None:
            self._taken ^= {self._at}
            self._write()
        return True

    def _use_page(self, key: str) -> None:
        """Copy the address of the page, or open it in a browser."""
        if not self.guard.hears():
            return
        from sam_tui.ui.programs import copy_address, open_address

        if key == "c":
            copy_address(self, self._question.page)
        else:
            self.run_worker(open_address(self, self._question.page))

    def _mark(self, at: int) -> None:
        self._at = at
        self._write()
        self._rows[at].scroll_visible(animate=False)

    def on_choice_clicked(self, event: ChoiceClicked) -> None:
        """A click marks a choice; where several may be it takes it or leaves it."""
        event.stop()
        self._mark(event.index)
        if self._question.several:
            self._steer("space")

    @property
    def answering(self) -> Widget:
        """The answer."""
        return self._reply

    def on_key(self, event: events.Key) -> None:
        """Handle the keys that the answer field does not use."""
        if event.key == "escape":
            swallow(event)
            if self.guard.hears():
                self.post_message(ActionAsked("cancel"))

    def on_sent(self, event: Sent) -> None:
        """Send the answer, unless it is empty or invalid, or the panel has only just appeared."""
        event.stop()
        text = self._by_number(self._reply.text.strip()) or self._selected()
        if not self.guard.hears() or not text:
            return
        if answer := self._question.reply(text):
            self.post_message(InquiryAnswered(self.inquiry, Reply(answer)))
        else:
            offered = visible(self._question.offered)
            self.border_subtitle = Content(f"That answer is not accepted. {offered}")

    def _selected(self) -> str:
        """The chosen choices, or the marked one; empty if there is none."""
        at = self._taken or ({self._at} if self._at is not None else set[int]())
        return "\n".join(self._question.choices[index] for index in sorted(at))


def panel_for(inquiry: Inquiry, surroundings: InquirySurroundings) -> InquiryPanel:
    """The panel for an inquiry."""
    match inquiry.request:
        case ApprovalRequest() as request:
            patience, grabs = surroundings.patience, surroundings.grabs
            return ApprovalPanel(inquiry, request, patience, grabs=grabs)
        case Question() as question:
            return QuestionPanel(inquiry, question, surroundings)
