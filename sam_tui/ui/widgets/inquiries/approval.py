"""Asks whether a call may run, and how much more may run without asking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry, ScopeChoice
from sam_tui.core.text.plain import gist
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.messages import InquiryAnswered
from sam_tui.ui.plain import visible, visible_line
from sam_tui.ui.widgets.inquiries.panel import InquiryPanel, swallow
from sam_tui.ui.widgets.inquiries.scopes import ScopeMarked, ScopeView, figures_of
from sam_tui.ui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from sam_tui.core.display import Diff


_STYLES = {"+": "$success", "-": "$error", "@": "$primary"}


def diff_content(diff: "Diff") -> Content:
    """One file's change: its path, the counts, and the lines; nothing in them is hidden."""
    head = Content.assemble(
        (visible_line(diff.heading), "bold"),
        (f"  +{diff.added}", "$success"),
        (f" -{diff.removed}", "$error"),
    )
    lines = [
        Content(line).stylize(_STYLES.get(line[:1], "$foreground"))
        for line in visible(diff.unified).expandtabs(4).split("\n")
        if line
    ]
    return Content("\n").join([head, *lines])


def diffs_content(diffs: "Sequence[Diff]") -> Content:
    """Several files' changes, one below the other."""
    return Content("\n\n").join(diff_content(diff) for diff in diffs)


_SCROLLS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
_MOVES = {"left": -1, "shift+tab": -1, "right": 1, "tab": 1}
_AROUND_LABEL = 4
"""Columns of a button besides its label."""
_SHORT, _SHORT_GRID = 20, 30
"""Rows of a terminal below which what a button covers scrolls with the details; the latter where
the buttons stand in columns, as there it takes more rows."""
_SUMMARY = 160
"""Characters of a call beside its operation; the whole of a longer one stands below."""
_BRIEF = 8
"""Characters of a label where there is little room."""
_PASSED_ON = frozenset({"f1", "f2", "f3", "f4", "ctrl+right_square_bracket", "ctrl+q"})
"""Keys that show other things and answer nothing."""
_HINTS = {
    "choices": "digit chooses · Esc denies · ↑↓ scroll",
    "comment": "Enter denies with this · Esc goes back",
    "scopes": "↑↓ or digit looks · Enter allows · Esc goes back",
}
_SPANS = {"session": "conversation", "project": "folder", "user": "everywhere"}

View = Literal["choices", "comment", "scopes"]


@dataclass(frozen=True, slots=True)
class ApprovalButton:
    """What a button does: its name, its words, and its words where there is little room."""

    name: str
    words: str
    brief: str


def buttons_of(request: ApprovalRequest) -> dict[str, ApprovalButton]:
    """The buttons of a request by their keys.

    1 to 4 always mean the same: once, for some minutes, deny, deny with a comment; 5 opens what is
    wider; from 6 on stand other ways to say yes that the request brings.
    """
    offered = request.choices or (ScopeChoice("once", "this call only", "once"),)
    names = {choice.id for choice in offered}
    minutes = max(1, round(request.seconds / 60))
    span = "1 minute" if minutes == 1 else f"{minutes} minutes"
    buttons: dict[str, ApprovalButton] = {}
    if "once" in names:
        buttons["1"] = ApprovalButton("once", "1 Once", "1 Once")
    if request.timed_scope or "timed" in names:
        buttons["2"] = ApprovalButton("timed", f"2 For {span}", f"2 {minutes} min")
    buttons["3"] = ApprovalButton("deny", "3 Deny", "3 Deny")
    buttons["4"] = ApprovalButton("comment", "4 Deny, and say why", "4 Why")
    if any(choice.span in _SPANS for choice in offered):
        buttons["5"] = ApprovalButton("wider", "5 Wider …", "5 More")
    return buttons | _other_buttons(offered)


def _other_buttons(offered: Sequence[ScopeChoice]) -> dict[str, ApprovalButton]:
    """Those for ways to say yes that have no key of their own."""
    others = [c for c in offered if c.id not in ("once", "timed") and c.span not in _SPANS]
    buttons: dict[str, ApprovalButton] = {}
    for key, choice in zip("6789", others, strict=False):
        label = visible_line(choice.label or choice.id.capitalize())
        buttons[key] = ApprovalButton(choice.id, f"{key} {label}", f"{key} {label[:_BRIEF]}")
    return buttons


def covered_lines(request: ApprovalRequest) -> Content:
    """What each way to say yes would cover, by its key."""
    rows: list[Content] = []
    choices = {choice.id: choice for choice in request.choices}
    for key, button in buttons_of(request).items():
        choice = choices.get(button.name)
        words = _covered_words(request, button, choice)
        if not words or words == "this call only":
            continue
        figures = figures_of(choice) if choice else ""
        rows.append(
            Content.assemble(
                (f"{key} {'offers' if button.name == 'wider' else 'covers'} ", "$text-muted"),
                visible_line(words),
                (f"  {figures}" if figures else "", "$text-muted"),
            )
        )
    return Content("\n").join(rows)


def _covered_words(
    request: ApprovalRequest, button: ApprovalButton, choice: ScopeChoice | None
) -> str:
    words = choice.words if choice else ""
    match button.name:
        case "timed":
            return request.timed_scope or words
        case "wider":
            return _wider_words(request)
        case _:
            return words


def _wider_words(request: ApprovalRequest) -> str:
    """The wider scopes on one line, each with its figures."""
    # Of several that last alike the first is the narrowest.
    every = {c.span: c for c in reversed(request.choices) if c.span in _SPANS}
    wider = list(reversed(every.values()))
    options = [
        f"{_SPANS[c.span]} ({c.covered} of {c.considered})" if c.considered else _SPANS[c.span]
        for c in wider
    ]
    past = " past calls" if any(choice.considered for choice in wider) else ""
    return ", ".join(options) + past


def approval_lines(request: ApprovalRequest) -> Content:
    """What is asked, line by line: operation, what it touches, why it is asked, where.

    What may be long stands last: no command pushes the reason and the target out of view.
    """
    summary = visible_line(request.summary)
    rows = [Content.assemble((visible_line(request.operation), "bold $accent"), "  ")]
    rows[0] = rows[0].append(Content(gist(summary, _SUMMARY)))
    if request.asker:
        rows.append(Content.assemble(("from    ", "$text-muted"), visible_line(request.asker)))
    short = [target for target in request.targets if len(target) <= _SUMMARY]
    rows.extend(_target_line(target) for target in short)
    rows.append(Content.assemble(("why     ", "$text-muted"), visible_line(request.why)))
    rows.extend(
        Content.assemble(("letters ", "$warning"), visible_line(words)) for words in request.letters
    )
    if request.cwd:
        rows.append(Content.assemble(("in      ", "$text-muted"), visible_line(request.cwd)))
    rows.extend(_target_line(target) for target in request.targets if target not in short)
    if len(summary) > _SUMMARY:
        rows.append(Content.assemble(("call    ", "$text-muted"), summary))
    rows.extend(
        Content.assemble(("agent   │ ", "$text-muted"), (line, "italic"))
        for line in visible(request.words).splitlines()
    )
    return Content("\n").join(rows)


def _target_line(target: str) -> Content:
    return Content.assemble(("target  ", "$text-muted"), _indented(visible(target)))


def _indented(text: str) -> str:
    """Later lines under the first one, so that none can pass for a line of ours."""
    return text.replace("\n", "\n        ")


class ApprovalPanel(InquiryPanel, can_focus=True):
    """Asks whether a call may run. Nothing is chosen beforehand: Enter alone does nothing."""

    heading = "Approve?"

    def __init__(
        self,
        inquiry: Inquiry,
        request: ApprovalRequest,
        patience: Patience,
        *,
        grabs: Callable[[], bool],
    ) -> None:
        super().__init__(inquiry, patience, grabs=grabs)
        self._request = request
        self._details = VerticalScroll(id="details", classes="scrolls", can_focus=False)
        self._scopes: ScopeView | None = None
        self._comment = LineInput(
            self._deny_with, placeholder="What should be done instead?", id="reason"
        )
        self._view: View = "choices"
        self._buttons = buttons_of(request)

    def compose(self) -> ComposeResult:
        """Details with the preview, what the buttons cover, the buttons, the comment line."""
        covered = covered_lines(self._request)
        with self._details:
            yield Static(approval_lines(self._request), markup=False)
            yield Static(covered, markup=False, classes="covered -inner")
            if self._request.preview:
                yield Static(diffs_content(self._request.preview), markup=False, id="preview")
        yield Static(covered, markup=False, classes="covered -outer")
        with Horizontal(id="choices"):
            for button in self._buttons.values():
                yield Button(Content(button.words), id=button.name, compact=True)
        yield self._comment

    def on_mount(self) -> None:
        """The comment line and the scopes come only when they are asked for."""
        self._turn_to("choices")

    def on_resize(self) -> None:
        """Long words on the buttons where they fit, else short ones, else those in three columns."""
        self.around = 4 if self._view == "scopes" else 6
        super().on_resize()
        width = self.size.width
        tight = sum(len(button.words) + _AROUND_LABEL for button in self._buttons.values()) > width
        grid = tight and sum(len(button.brief) + 2 for button in self._buttons.values()) > width
        self.set_class(tight, "-tight")
        self.set_class(grid, "-grid")
        self.set_class(self.screen.size.height < (_SHORT_GRID if grid else _SHORT), "-short")
        for button in self._buttons.values():
            label = button.brief if tight else button.words
            self.query_one(f"#{button.name}", Button).label = Content(label)

    def on_key(self, event: events.Key) -> None:
        """Digits choose, Esc denies, arrows scroll or move; nothing else means anything."""
        if self._view == "comment":
            self._comment_key(event)
            return
        on_button = isinstance(self.screen.focused, Button)
        if event.key in _PASSED_ON or (event.key == "enter" and on_button and self.guard.hears()):
            return
        swallow(event)
        if event.key in _MOVES:
            self._move(_MOVES[event.key])
        elif self._view == "scopes":
            self._scope_key(event.key)
        else:
            self._choice_key(event.key)

    def leaves(self, key: str) -> bool:
        """Only keys that answer nothing, but for those beside a comment."""
        return self._view == "comment" or key in _PASSED_ON

    def _choice_key(self, key: str) -> None:
        if key in _SCROLLS:
            self._details.scroll_relative(y=_SCROLLS[key], animate=False)
        elif key in self._buttons or key in ("escape", "ctrl+c"):
            if self.guard.hears():
                self._choose(self._buttons[key].name if key in self._buttons else "deny")
        else:
            self.guard.rearm()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A click on a button, or Enter on the one moved to."""
        event.stop()
        if self.guard.hears():
            self._choose(event.button.id or "")

    def on_scope_marked(self, event: ScopeMarked) -> None:
        """A click on a scope shows what it would have covered."""
        event.stop()
        if self._scopes is not None:
            self._scopes.listed.mark(event.index)

    def _deny_with(self, comment: str) -> None:
        self._answer(Approval("deny", comment.strip()))

    def _choose(self, name: str) -> None:
        match name:
            case "once" | "timed" | "deny":
                self._answer(Approval(name))
            case "comment":
                self._turn_to("comment")
                self.screen.set_focus(self._comment)
            case "wider":
                self._turn_to("scopes")
            case "back":
                self._turn_to("choices")
            case "allow-scope":
                self._take_marked()
            case _:
                self._answer(Approval("scope", scope=name))

    def _take_marked(self) -> None:
        marked = self._scopes.listed.marked if self._scopes is not None else None
        if marked is not None:
            self._choose(marked.id)

    def _turn_to(self, view: View) -> None:
        """Show the buttons, the scopes or the comment line; keys count again after a moment."""
        self._view = view
        self.set_class(view == "scopes", "-scopes")
        if self._scopes is not None:
            self._scopes.remove()
            self._scopes = None
        if view == "scopes":
            self._scopes = ScopeView(self._request.choices)
            self.mount(self._scopes, before=self._comment)
            self.call_after_refresh(self.on_resize)
        self._comment.display = view == "comment"
        self.border_subtitle = Content(_HINTS[view])
        self.guard.rearm()
        if view != "comment" and self.has_focus_within:
            self.screen.set_focus(self)

    def _answer(self, approval: Approval) -> None:
        self.post_message(InquiryAnswered(self.inquiry, approval))

    def _scope_key(self, key: str) -> None:
        """Arrows and digits mark a scope, Enter takes the marked one, Esc goes back."""
        if self._scopes is None:
            return
        listed = self._scopes.listed
        if key in ("up", "down"):
            listed.move(_SCROLLS[key])
        elif key in _SCROLLS:
            listed.scroll_relative(y=_SCROLLS[key], animate=False)
        elif key.isdigit():
            listed.mark(int(key) - 1)
        elif key in ("escape", "ctrl+c", "backspace"):
            self._turn_to("choices")
        elif key == "enter" and listed.marked is not None:
            if self.guard.hears():
                self._take_marked()
        else:
            self.guard.rearm()

    def _comment_key(self, event: events.Key) -> None:
        if event.key in ("escape", "ctrl+c"):
            swallow(event)
            self.screen.set_focus(self)
            self._turn_to("choices")
        elif event.is_printable:
            # Typed right behind the key that leads to the comment: the line itself keeps all others.
            swallow(event)
            self._comment.insert_text_at_cursor(event.character or "")

    def _move(self, step: int) -> None:
        row = "#scope-choices" if self._view == "scopes" else "#choices"
        buttons = list(self.query(f"{row} Button").results(Button))
        focused = self.screen.focused
        at = buttons.index(focused) if isinstance(focused, Button) and focused in buttons else None
        to = (at + step) % len(buttons) if at is not None else (0 if step > 0 else -1)
        self.screen.set_focus(buttons[to])
