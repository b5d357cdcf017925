"""The ways to say yes, one below the other, and the past calls that the marked one would have covered."""

from collections.abc import Sequence
from datetime import datetime

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Static

from sam_tui.core.inquiry import PastCall, ScopeChoice
from sam_tui.ui.plain import visible_line


class ScopeMarked(Message):
    """A scope was clicked."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


class ScopeRow(Static):
    """A scope in words, with its figures."""

    def __init__(self, index: int, choice: ScopeChoice) -> None:
        super().__init__(markup=False, classes="scope")
        self._index = index
        self._choice = choice
        self._marked = False
        self._write()

    def mark(self, *, marked: bool) -> None:
        """Show whether this scope is marked."""
        self._marked = marked
        self._write()

    def on_resize(self) -> None:
        """Wrap the words to the width, below their own beginning."""
        self._write()

    def _write(self) -> None:
        marked, figures = self._marked, figures_of(self._choice)
        lead = f"{'▸' if marked else ' '} {self._index + 1} "
        words = Content.assemble(
            (visible_line(self._choice.words), "bold" if marked else "$foreground"),
            (f"  {figures}" if figures else "", "$text-muted"),
        )
        room = self.size.width - len(lead)
        lines = words.wrap(room) if room > len(lead) else [words]
        below = Content("\n" + " " * len(lead)).join(lines)
        self.update(Content.assemble((lead, "bold $accent" if marked else "$text-muted"), below))

    def on_click(self, event: events.Click) -> None:
        """A click marks; it takes nothing."""
        event.stop()
        self.post_message(ScopeMarked(self._index))


class ScopeList(VerticalScroll):
    """All scopes of a request. None is marked at first."""

    def __init__(self, choices: Sequence[ScopeChoice]) -> None:
        super().__init__(id="scopes", classes="scrolls", can_focus=False)
        self._choices = choices
        self._rows = [ScopeRow(index, choice) for index, choice in enumerate(choices)]
        self._past = Static(markup=False, id="past")
        self._at: int | None = None

    def compose(self) -> ComposeResult:
        """The scopes, and below them past calls that the marked scope would have covered."""
        self._past.display = False
        yield from self._rows
        yield self._past

    @property
    def marked(self) -> ScopeChoice | None:
        """The scope that would be taken."""
        return None if self._at is None else self._choices[self._at]

    def move(self, step: int) -> None:
        """Mark the next or the previous one."""
        edge = 0 if step > 0 else len(self._rows) - 1
        at = edge if self._at is None else self._at + step
        self.mark(min(max(at, 0), len(self._rows) - 1))

    def mark(self, index: int | None) -> None:
        """Mark one, and list the past calls it would have covered; None marks nothing."""
        if index is not None and not 0 <= index < len(self._rows):
            return
        self._at = index
        for at, row in enumerate(self._rows):
            row.mark(marked=at == index)
        self._past.display = index is not None
        if index is not None:
            self._past.update(past_content(self._choices[index]))
            self.move_child(self._past, after=self._rows[index])
            self.call_after_refresh(self._rows[index].scroll_visible, animate=False, top=True)


class ScopeView(Vertical):
    """The scopes of a request over the two buttons for the mouse."""

    def __init__(self, choices: Sequence[ScopeChoice]) -> None:
        super().__init__(id="scope-view")
        self.listed = ScopeList(choices)

    def compose(self) -> ComposeResult:
        """The list, the buttons."""
        yield self.listed
        with Horizontal(id="scope-choices"):
            yield Button(Content("Allow this"), id="allow-scope", compact=True)
            yield Button(Content("Back"), id="back", compact=True)


def figures_of(choice: ScopeChoice) -> str:
    """``3 of 12 past calls, 1 refused``; empty where there is no past to tell of."""
    if choice.span == "once" or not choice.considered:
        return ""
    refused = f", {choice.refused} refused" if choice.refused else ""
    return f"{choice.covered} of {choice.considered} past calls{refused}"


def past_content(choice: ScopeChoice) -> Content:
    """The past calls a scope would have covered, newest first, those refused marked."""
    if choice.span == "once":
        return Content("Covers only this call.").stylize("$text-muted")
    if not choice.past:
        words = "There is no past call of this operation in this workspace."
        if choice.considered:
            words = f"Would have covered none of {choice.considered} past calls here."
        return Content(words).stylize("$text-muted")
    head = f"Would have covered {choice.covered} of {choice.considered} past calls here:"
    rows = [Content(head).stylize("$text-muted"), *(_past_row(call) for call in choice.past)]
    left = choice.covered - len(choice.past)
    if left > 0:
        rows.append(Content(f"… and {left} before these").stylize("$text-muted"))
    return Content("\n").join(rows)


def _past_row(call: PastCall) -> Content:
    when = datetime.fromtimestamp(call.made_at).strftime("%m-%d %H:%M")
    return Content.assemble(
        (f"{when}  ", "$text-muted"),
        visible_line(call.target),
        ("  you refused this" if call.refused else "", "$warning"),
    )
