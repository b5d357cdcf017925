"""The decisions of the guard, page by page, each with all that is known of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from sam_tui.core.errors import SamError
from sam_tui.ui.plain import one_line, visible, visible_line
from sam_tui.ui.screens.dialogs import Dialog
from sam_tui.ui.widgets.choice_list import ChoiceList, take_key
from sam_tui.ui.widgets.key_frame import KeyFrame

if TYPE_CHECKING:
    from sam_tui.core.ports.policy import DecisionEntry, DecisionFilter, DecisionHistory

PAGE = 100
"""How many entries are loaded at once."""
_AHEAD = 10
"""The next page is loaded when so many rows remain below the marked one."""
_NARROWEST = 30
_HINT = "Tab folder or all · Ctrl+R refused only · Esc closes"
_TONES = {
    "allow": "$success",
    "deny": "$error",
    "expired": "$warning",
    "cancelled": "$warning",
    "amended": "$warning",
}


class AuditScreen(Dialog):
    """A list below a filter line, and below it the marked decision in full.

    Only pages that were scrolled to are loaded; a thread checks the seals meanwhile.
    """

    AUTO_FOCUS = "Input"

    def __init__(self, decisions: "DecisionHistory", filter_: "DecisionFilter") -> None:
        super().__init__()
        self._decisions = decisions
        self._here = filter_.workspace
        self._wanted = filter_
        self._entries: list[DecisionEntry] = []
        self._more = True
        self._whole = "checking the seals …"
        self._broken: int | None = None
        self._fetching: Worker[None] | None = None
        self._filter = Input(placeholder="type to filter, ↑↓ to look", id="filter")
        self._list = ChoiceList(id="choices")
        self._list.can_focus = False
        self._detail = Static(markup=False)
        self._note = Static(markup=False, classes="note")

    def compose(self) -> ComposeResult:
        """Filter line, list, note, detail."""
        with KeyFrame() as frame:
            frame.say_keys(_HINT)
            yield self._filter
            yield self._list
            yield self._note
            with VerticalScroll(id="detail", can_focus=False):
                yield self._detail

    def on_mount(self) -> None:
        """Fetch the first page, and check the seals in the background."""
        self._start_over()
        self.run_worker(self._verify(), name="verify")

    async def _verify(self) -> None:
        try:
            self._broken = await asyncio.to_thread(self._decisions.first_broken)
        except SamError as error:
            self._whole = one_line(error.explain())
        else:
            broken = self._broken
            self._whole = "seals whole" if broken is None else f"broken at entry {broken}"
        self._title()
        self._show_detail()

    def _start_over(self) -> None:
        self._entries = []
        self._more = True
        self._list.clear_options()
        self._title()
        self._fetch()

    def _fetch(self) -> None:
        self._fetching = self.run_worker(self._page(), name="page", group="page", exclusive=True)

    async def _page(self) -> None:
        before = self._entries[-1].number if self._entries else None
        try:
            page = await asyncio.to_thread(
                self._decisions.page, self._wanted, limit=PAGE, before=before
            )
        except SamError as error:
            self._note.update(Content(visible(error.explain())))
            return
        self._take(page)

    def _take(self, page: "Sequence[DecisionEntry]") -> None:
        first = not self._entries
        self._entries.extend(page)
        self._more = len(page) == PAGE
        room = max(_NARROWEST, self._list.size.width - 4)
        self._list.add_options(
            Option(entry_line(entry).truncate(room, ellipsis=True)) for entry in page
        )
        if first and self._entries:
            self._list.highlighted = 0
        empty = (
            "No decision matches."
            if self._wanted.text or self._wanted.refused
            else "No decisions yet."
        )
        self._note.update(Content("" if self._entries else empty))
        self._note.display = not self._entries
        self._title()
        self._show_detail()

    def _title(self) -> None:
        where = "this folder" if self._wanted.workspace else "all folders"
        kind = "refused in" if self._wanted.refused else "decisions in"
        count = f"{len(self._entries)}{'+' if self._more else ''}"
        frame = self.query_one(KeyFrame)
        frame.border_title = Content(f"{kind} {where} · {count} · {self._whole}")

    def _show_detail(self) -> None:
        at = self._list.highlighted
        visible = at is not None and at < len(self._entries)
        entry = self._entries[at] if visible and at is not None else None
        self._detail.update(entry_content(entry, self._broken) if entry else Content(""))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Load the entries again that match the typed words."""
        event.stop()
        self._wanted = replace(self._wanted, text=event.value)
        self._start_over()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the entry in full; near the end of the list fetch more."""
        event.stop()
        self._show_detail()
        idle = self._fetching is None or self._fetching.is_finished
        if self._more and idle and event.option_index >= len(self._entries) - _AHEAD:
            self._fetch()

    def on_key(self, event: events.Key) -> None:
        """Move through the list, turn to the other folders, or to the refused calls."""
        detail = self.query_one("#detail", VerticalScroll)
        moves = {
            **self._list.moves,
            "ctrl+up": detail.action_scroll_up,
            "ctrl+down": detail.action_scroll_down,
            "tab": self._turn_where,
            "ctrl+r": self._turn_refused,
        }
        take_key(event, moves)

    def _turn_where(self) -> None:
        self._wanted = replace(self._wanted, workspace="" if self._wanted.workspace else self._here)
        self._start_over()

    def _turn_refused(self) -> None:
        self._wanted = replace(self._wanted, refused=not self._wanted.refused)
        self._start_over()


def entry_line(entry: "DecisionEntry") -> Content:
    """One decision on one line: number, time, outcome, operation, targets."""
    decision = entry.decision
    when = datetime.fromtimestamp(entry.made_at).strftime("%m-%d %H:%M")
    touched = one_line(", ".join(decision.targets) or decision.scope, 120)
    return Content.assemble(
        (f"{entry.number:>5} {when}  ", "$text-muted"),
        (f"{decision.outcome:<9} ", _TONES[decision.outcome]),
        f"{one_line(decision.operation.rpartition('.')[2], 40)}  ",
        (touched, "$text-muted"),
    )


def entry_content(entry: "DecisionEntry", broken: int | None) -> Content:
    """Return everything about one decision, a line each; nothing in it is hidden."""
    decision = entry.decision
    moment = datetime.fromtimestamp(entry.made_at).strftime("%Y-%m-%d %H:%M:%S")
    sealed = (
        "whole" if broken is None or entry.number < broken else f"broken from entry {broken} on"
    )
    rows = (
        ("decided", f"{decision.outcome} by {decision.by}, {moment}"),
        ("operation", decision.operation),
        *(("touched", target) for target in decision.targets),
        ("rule", decision.rule),
        ("reason", decision.reason),
        ("scope", decision.scope),
        ("comment", decision.comment),
        ("from", decision.asker),
        ("waited", f"{decision.elapsed:.1f} s" if decision.elapsed else ""),
        ("conversation", entry.conversation),
        ("call", entry.call),
        ("seal", f"{entry.seal[:16]}… ({sealed})"),
    )
    return Content("\n").join(
        Content.assemble((f"{name:<13}", "$text-muted"), visible_line(text))
        for name, text in rows
        if text
    )
