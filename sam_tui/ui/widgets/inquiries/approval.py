"""Asks whether a call may run, and how much more may run without asking."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from sam_tui.core.inquiry import Approval, ApprovalRequest, Draft, Inquiry
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.messages import InquiryAnswered
from sam_tui.ui.plain import visible_line
from sam_tui.ui.widgets.inquiries import card
from sam_tui.ui.widgets.inquiries.draft import DraftScreen
from sam_tui.ui.widgets.inquiries.panel import InquiryPanel, swallow
from sam_tui.ui.widgets.inquiries.scopes import ScopeMarked, ScopeView
from sam_tui.ui.widgets.line_input import LineInput

_SCROLLS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
_MOVES = {"left": -1, "shift+tab": -1, "right": 1, "tab": 1}
_AROUND_LABEL = 4
"""The columns of a button in addition to its label."""
_SHORT, _SHORT_GRID = 20, 30
"""With fewer rows, the description of a button's scope scrolls with the details; the second number
applies if the buttons stand in columns, where it takes more rows."""
_SCROLLBAR = 2
"""The columns of the scrollbar beside the text."""
_PASSED_ON = frozenset({
    "f1", "f2", "f3", "f4", "f12", "shift+f12", "alt+n", "ctrl+right_square_bracket", "ctrl+q",
})  # fmt: skip
"""Keys that open other views and do not answer."""
_HINTS = {
    "choices": "w whole · ? why asked · c comment{edit} · Esc denies",
    "denial": "Enter denies with this · Esc goes back",
    "comment": "Enter adds it to your answer · Esc drops it",
    "scopes": "↑↓ or digit selects · Enter allows · Esc goes back",
    "why": "Esc or ? goes back",
    "alike": "1 allows all of these, once · 3 denies all · c comment · Esc goes back",
}
_PLACEHOLDERS = {"denial": "What should be done instead?", "comment": "What should the agent know?"}

_NOT_IN_VIEW = "You have not seen all of them yet: PgDn or ↓ to the end, then 1"
_TO_ALL: Mapping[str, Literal["once", "deny"]] = {"1": "once", "3": "deny"}
"""The keys that answer all listed questions."""

View = Literal["choices", "denial", "comment", "scopes", "why", "alike"]
_WRITING: tuple[View, ...] = ("denial", "comment")


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
        self._coming = inquiry.coming
        self._details = VerticalScroll(id="details", classes="scrolls", can_focus=False)
        self._lines = Static(markup=False)
        self._preview = Static(markup=False, id="preview")
        self._covered = [
            Static(markup=False, classes=f"covered -{at}") for at in ("inner", "outer")
        ]
        self._scopes: ScopeView | None = None
        self._comment = LineInput(self._written, id="reason")
        self._remark = request.remark
        """The comment that is sent with the answer."""
        self._whole = False
        """Whether every path is shown in full."""
        self._view: View = "choices"
        self._behind: View = "choices"
        """The view to which the person returns from a comment."""
        self._kind: Sequence[Inquiry] = ()
        """The waiting inquiries of the same kind, including this one."""
        self._listed: Sequence[Inquiry] = ()
        """The inquiries that the person saw in the list; one answer to all concerns only these."""
        self._buttons = card.buttons_of(request)

    def compose(self) -> ComposeResult:
        """Compose details with the preview, the scopes of the buttons, the buttons, the comment line."""
        inner, outer = self._covered
        with self._details:
            yield self._lines
            yield self._preview
            yield inner
        yield outer
        with Horizontal(id="choices"):
            for button in self._buttons.values():
                yield Button(Content(button.words), id=button.name, compact=True)
        yield self._comment

    def number_among(self, number: int, total: int, alike: Sequence[Inquiry]) -> None:
        """Say how many questions wait, and offer to answer all of this kind. Questions that no longer
        wait are dropped."""
        super().number_among(number, total, alike)
        self._kind = alike
        if len(alike) > 1:
            more = f"{self.border_title} · a all {len(alike)} of this kind"
            self.border_title = Content(more)
        self._listed = [entry for entry in self._listed if entry in alike]
        if self._view == "alike":
            self._write()

    def on_mount(self) -> None:
        """The comment line and the scopes come only when they are asked for."""
        self._turn_to("choices")

    def on_resize(self) -> None:
        """Show the longest labels of buttons that fit: long, short, or short ones in three columns."""
        self.around = 4 if self._view == "scopes" else 6
        super().on_resize()
        self._write()
        width = self.size.width
        tight = sum(len(button.words) + _AROUND_LABEL for button in self._buttons.values()) > width
        grid = tight and sum(len(button.brief) + 2 for button in self._buttons.values()) > width
        self.set_class(tight, "-tight")
        self.set_class(grid, "-grid")
        self.set_class(self.screen.size.height < (_SHORT_GRID if grid else _SHORT), "-short")
        for button in self._buttons.values():
            label = button.least if grid else button.brief if tight else button.words
            self.query_one(f"#{button.name}", Button).label = Content(label)

    def on_key(self, event: events.Key) -> None:
        """Digits choose, Esc denies, arrows scroll or move; nothing else means anything."""
        if self._view in _WRITING:
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
        elif not self._look(event.key):
            (self._alike_key if self._view == "alike" else self._choice_key)(event.key)

    def leaves(self, key: str) -> bool:
        """Whether the workbench handles a key: one that answers nothing, or any while text is written."""
        return self._view in _WRITING or key in _PASSED_ON

    def _look(self, key: str) -> bool:
        """Handle the keys that show more and answer nothing; False for any other key."""
        if key in _SCROLLS:
            self._details.scroll_relative(y=_SCROLLS[key], animate=False)
            return True
        match key:
            case "w":
                self._whole = not self._whole
                self._write()
            case "question_mark":
                self._turn_to("choices" if self._view == "why" else "why")
            case "escape" if self._view in ("why", "alike"):
                self._turn_to("choices")
            case "a":
                self._list_kind()
            case "c":
                self._turn_to("comment")
            case "e" if self._request.draft is not None and self._view != "alike":
                self._edit(self._request.draft)
            case _:
                return False
        self.guard.rearm()
        return True

    def _edit(self, draft: Draft) -> None:
        """Let the person change the proposed content; the changed content is asked about again."""

        def left(text: str | None) -> None:
            if text is not None and text != draft.text and self.is_attached:
                self._answer(Approval("amend", self._remark, amended=text))

        self.app.push_screen(DraftScreen(draft), left)  # pyright: ignore[reportUnknownMemberType]

    def _choice_key(self, key: str) -> None:
        if key in self._buttons or key in ("escape", "ctrl+c"):
            if self.guard.hears():
                self._choose(self._buttons[key].name if key in self._buttons else "deny")
        else:
            self.guard.rearm()

    def _list_kind(self) -> None:
        """List all waiting questions of this kind, if there are several."""
        if len(self._kind) > 1:
            self._listed = self._kind
            self._turn_to("alike")

    def _alike_key(self, key: str) -> None:
        """Give the same answer to each listed call."""
        choice, details = _TO_ALL.get(key), self._details
        if choice is None:
            self.guard.rearm()
        elif choice == "once" and details.scroll_offset.y < details.max_scroll_y:
            self.border_subtitle = Content(_NOT_IN_VIEW)
        elif self.guard.hears():
            # Later calls first: once the displayed one is answered, they are no longer announced.
            for entry in reversed(self._listed):
                self.post_message(InquiryAnswered(entry.id, Approval(choice, self._remark)))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A click on a button, or Enter on the one moved to."""
        event.stop()
        if self.guard.hears():
            self._choose(event.button.id or "")

    def on_scope_marked(self, event: ScopeMarked) -> None:
        """Show the past calls that a clicked scope would have covered."""
        event.stop()
        if self._scopes is not None:
            self._scopes.listed.mark(event.index)

    def _written(self, comment: str) -> None:
        """A comment is done: it denies at once, or waits for the answer that it goes with."""
        self._remark = comment.strip()
        if self._view == "denial":
            self._answer(Approval("deny", self._remark))
        else:
            self._leave_comment()

    def _choose(self, name: str) -> None:
        match name:
            case "once" | "timed" | "deny":
                self._answer(Approval(name, self._remark))
            case "comment":
                self._turn_to("denial")
            case "wider":
                self._turn_to("scopes")
            case "back":
                self._turn_to("choices")
            case "allow-scope":
                self._take_marked()
            case _:
                self._answer(Approval("scope", self._remark, scope=name))

    def _take_marked(self) -> None:
        marked = self._scopes.listed.marked if self._scopes is not None else None
        if marked is not None:
            self._choose(marked.id)

    def _turn_to(self, view: View) -> None:
        """Show the buttons, the scopes or the comment line; keys count again after a moment."""
        self._view = view
        if view in ("choices", "alike"):
            self._behind = view
        self.set_class(view == "scopes", "-scopes")
        self.set_class(self._behind == "alike", "-alike")
        if self._scopes is not None:
            self._scopes.remove()
            self._scopes = None
        if view == "scopes":
            self._scopes = ScopeView(self._request.choices)
            self.mount(self._scopes, before=self._comment)
            self.call_after_refresh(self.on_resize)
        self._comment.display = view in _WRITING
        edit = " · e edit" if self._request.draft is not None else ""
        self.say_keys(_HINTS[view].format(edit=edit))
        self.guard.rearm()
        self._write()
        self._details.scroll_home(animate=False)
        if view in _WRITING:
            self._comment.placeholder = _PLACEHOLDERS[view]
            self.screen.set_focus(self._comment)
        elif self.has_focus_within:
            self.screen.set_focus(self)

    def _write(self) -> None:
        """Write the card at its present width, or before the first layout at its likely one."""
        request = self._request
        width = card.CardWidth(
            (self.size or self.screen.size).width - _SCROLLBAR, whole=self._whole
        )
        remark = Content.assemble(("you say ", "$text-muted"), visible_line(self._remark))
        whole = self._view not in ("why", "alike")
        match self._view:
            case "why":
                lines = card.why_lines(request, width)
            case "alike":
                lines = card.alike_lines(self._listed, width)
            case _:
                lines = card.approval_lines(request, width) + card.coming_lines(self._coming, width)
        _show(self._lines, Content("\n").join([lines, remark]) if self._remark else lines)
        self._preview.display = bool(request.preview) and whole
        _show(self._preview, card.diffs_content(request, width))
        for covered in self._covered:
            _show(covered, card.covered_lines(request, width))

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
            self._remark = ""
            self._leave_comment()
        elif event.is_printable:
            # Typed directly after the key that opens the comment; all later keys go to the line itself.
            swallow(event)
            self._comment.insert_text_at_cursor(event.character or "")

    def _move(self, step: int) -> None:
        row = "#scope-choices" if self._view == "scopes" else "#choices"
        buttons = list(self.query(f"{row} Button").results(Button))
        focused = self.screen.focused
        at = buttons.index(focused) if isinstance(focused, Button) and focused in buttons else None
        to = (at + step) % len(buttons) if at is not None else (0 if step > 0 else -1)
        self.screen.set_focus(buttons[to])

    def _leave_comment(self) -> None:
        self.screen.set_focus(self)
        self._turn_to(self._behind)


def _show(part: Static, content: Content) -> None:
    """Show the content. What is there already would have the whole screen laid out again."""
    present = part.content
    if not (isinstance(present, Content) and present.is_same(content)):
        part.update(content)
