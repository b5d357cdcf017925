"""The questions that wait for the person, in place of the prompt."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static

from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import Approval, ApprovalChoice, ApprovalRequest, Inquiry, Question, Reply
from sam_tui.ui.guard import KeyGuard, Patience
from sam_tui.ui.messages import ActionAsked, InquiryAnswered
from sam_tui.ui.plain import visible, visible_line
from sam_tui.ui.widgets.composer import Composer, Sent
from sam_tui.ui.widgets.diff_preview import diffs_content

_SCROLLS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
_MOVES = {"left": -1, "shift+tab": -1, "right": 1, "tab": 1}
_AROUND_DETAILS = 6
"""Rows of the panel besides its details: border, scope, space, choices, comment."""
_ROOM_FOR_WORDS = 64
"""Columns that the buttons with their long labels need."""
_PASSED_ON = frozenset({"f1", "f2", "f3", "f4", "ctrl+right_square_bracket", "ctrl+q"})
"""Keys that show other things and answer nothing."""


class InquiryPanel(Vertical):
    """What both kinds of question share: which inquiry, its place in the row, its guard."""

    def __init__(self, inquiry: Inquiry, patience: Patience) -> None:
        super().__init__(classes="inquiry")
        self.inquiry: InquiryId = inquiry.id
        self.guard = KeyGuard(patience)
        self.grabs = True
        """Whether the keys come here at once; not while the person types into a terminal."""

    def on_show(self) -> None:
        """Take the keys, and be deaf to those pressed before this was drawn."""
        self.guard.rearm()
        self.call_after_refresh(self.guard.rearm)
        if self.grabs:
            self.take_focus()

    def place(self, number: int, total: int) -> None:
        """Say that this is one of several."""
        count = f" {number} of {total}" if total > 1 else ""
        self.border_title = Content(self.heading + count)

    heading = ""

    def on_resize(self) -> None:
        """However small the terminal, the choices below the details stay in view."""
        room = self.screen.size.height * 6 // 10 - _AROUND_DETAILS
        for details in self.query("#details"):
            details.styles.max_height = max(1, room)

    def take_focus(self) -> None:
        """Let the keys come here."""
        self.focus()


def approval_lines(request: ApprovalRequest) -> Content:
    """What is asked, line by line: operation, what it touches, where, and why it is asked."""
    rows = [Content.assemble((visible_line(request.operation), "bold $accent"), "  ")]
    if request.summary:
        rows[0] = rows[0].append(Content(visible_line(request.summary)))
    if request.asker:
        rows.append(Content.assemble(("from    ", "$text-muted"), visible_line(request.asker)))
    rows.extend(
        Content.assemble(("target  ", "$text-muted"), _indented(visible(target)))
        for target in request.targets
    )
    rows.append(Content.assemble(("why     ", "$text-muted"), visible_line(request.why)))
    if request.cwd:
        rows.append(Content.assemble(("in      ", "$text-muted"), visible_line(request.cwd)))
    return Content("\n").join(rows)


def _indented(text: str) -> str:
    """Later lines under the first one, so that none can pass for a line of ours."""
    return text.replace("\n", "\n        ")


class ApprovalPanel(InquiryPanel, can_focus=True):
    """Asks whether a call may run. Nothing is chosen beforehand: Enter alone does nothing."""

    heading = "Approve?"

    def __init__(self, inquiry: Inquiry, request: ApprovalRequest, patience: Patience) -> None:
        super().__init__(inquiry, patience)
        self._request = request
        self._details = VerticalScroll(id="details", can_focus=False)
        self._comment = Input(placeholder="What should be done instead?", id="reason")
        self._commenting = False
        timed = request.timed_scope
        minutes = max(1, round(request.seconds / 60))
        span = "1 minute" if minutes == 1 else f"{minutes} minutes"
        self._choices = {"1": ("once", "1 Once", "1 Once")}
        """By key: what it is, what its button says, and what it says where there is little room."""
        if timed:
            self._choices["2"] = ("timed", f"2 For {span}", f"2 {minutes} min")
        self._choices["3"] = ("deny", "3 Deny", "3 Deny")
        self._choices["4"] = ("comment", "4 Deny, and say why", "4 Why")

    def compose(self) -> ComposeResult:
        """Details with the preview, what "timed" would cover, the buttons, the comment line."""
        with self._details:
            yield Static(approval_lines(self._request), markup=False)
            if self._request.preview:
                yield Static(diffs_content(self._request.preview), markup=False, id="preview")
        if self._request.timed_scope:
            scope = Content.assemble(
                ("2 covers ", "$text-muted"), visible_line(self._request.timed_scope)
            )
            yield Static(scope, markup=False, id="scope")
        with Horizontal(id="choices"):
            for name, label, _ in self._choices.values():
                yield Button(Content(label), id=name, compact=True)
        yield self._comment

    def on_mount(self) -> None:
        """The comment line comes only when it is asked for."""
        self._comment.display = False
        self.border_subtitle = Content("digit chooses · Esc denies · ↑↓ scroll")

    def on_resize(self) -> None:
        """Long words on the buttons where they fit, short ones where they do not."""
        tight = self.size.width < _ROOM_FOR_WORDS
        self.set_class(tight, "-tight")
        for name, label, brief in self._choices.values():
            self.query_one(f"#{name}", Button).label = Content(brief if tight else label)

    def on_key(self, event: events.Key) -> None:
        """Digits choose, Esc denies, arrows scroll or move; nothing else means anything."""
        if self._commenting:
            self._comment_key(event)
            return
        on_button = isinstance(self.screen.focused, Button)
        if event.key in _PASSED_ON or (event.key == "enter" and on_button and self.guard.hears()):
            return
        _swallow(event)
        if event.key in _MOVES:
            self._move(_MOVES[event.key])
        elif event.key in _SCROLLS:
            self._details.scroll_relative(y=_SCROLLS[event.key], animate=False)
        elif event.key in self._choices or event.key in ("escape", "ctrl+c"):
            if self.guard.hears():
                self._choose(self._choices.get(event.key, ("deny",))[0])
        else:
            self.guard.rearm()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A click on a button, or Enter on the one moved to."""
        event.stop()
        if self.guard.hears():
            self._choose(event.button.id or "")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The comment is done: deny with it."""
        event.stop()
        self._answer("deny", event.value.strip())

    def _choose(self, name: str) -> None:
        match name:
            case "once" | "timed" | "deny":
                self._answer(name)
            case _:
                self._commenting = True
                self._comment.display = True
                self.border_subtitle = Content("Enter denies with this · Esc goes back")
                self._comment.focus()

    def _answer(self, choice: ApprovalChoice, comment: str = "") -> None:
        self.post_message(InquiryAnswered(self.inquiry, Approval(choice, comment)))

    def _comment_key(self, event: events.Key) -> None:
        if event.key in ("escape", "ctrl+c"):
            _swallow(event)
            self._commenting = False
            self._comment.display = False
            self.border_subtitle = Content("digit chooses · Esc denies · ↑↓ scroll")
            self.guard.rearm()
            self.focus()

    def _move(self, step: int) -> None:
        buttons = list(self.query(Button))
        focused = self.screen.focused
        at = buttons.index(focused) if isinstance(focused, Button) and focused in buttons else None
        buttons[(at + step) % len(buttons) if at is not None else (0 if step > 0 else -1)].focus()


class QuestionPanel(InquiryPanel):
    """Asks what the agent wants to know; the answer may have many lines."""

    heading = "The agent asks"

    def __init__(self, inquiry: Inquiry, question: Question, patience: Patience) -> None:
        super().__init__(inquiry, patience)
        self._question = question
        self._reply = Composer("Your answer", id="reply")

    def compose(self) -> ComposeResult:
        """The question, its context, the answer."""
        with VerticalScroll(id="details", can_focus=False):
            yield Static(Content(visible(self._question.prompt)).stylize("bold"), markup=False)
            if self._question.context:
                context = Content(visible(self._question.context)).stylize("$text-muted")
                yield Static(context, markup=False)
        yield self._reply

    def on_mount(self) -> None:
        """Say how to answer."""
        self.border_subtitle = Content(
            "Enter answers · Shift+Enter new line · Esc cancels the turn"
        )

    def take_focus(self) -> None:
        """The keys go to the answer."""
        self._reply.focus()

    def on_key(self, event: events.Key) -> None:
        """Keys the answer left over, and those that mean something here."""
        if event.key == "escape":
            _swallow(event)
            if self.guard.hears():
                self.post_message(ActionAsked("cancel"))

    def on_sent(self, event: Sent) -> None:
        """Send the answer, unless it is empty or the panel came up just now."""
        event.stop()
        text = self._reply.text.strip()
        if self.guard.hears() and text:
            self.post_message(InquiryAnswered(self.inquiry, Reply(text)))


def _swallow(event: events.Key) -> None:
    event.stop()
    event.prevent_default()


def panel_for(inquiry: Inquiry, patience: Patience, *, take_focus: bool) -> InquiryPanel:
    """The panel that asks this inquiry."""
    match inquiry.request:
        case ApprovalRequest() as request:
            panel: InquiryPanel = ApprovalPanel(inquiry, request, patience)
        case Question() as question:
            panel = QuestionPanel(inquiry, question, patience)
    panel.grabs = take_focus
    return panel
