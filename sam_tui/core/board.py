"""The todo lists of all conversations: stored and announced, with a person's changes."""

from collections.abc import Sequence
from typing import Protocol

from sam_tui.core.bus import Bus
from sam_tui.core.clock import Clock
from sam_tui.core.events import TodosChanged
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.storage import TodoStore
from sam_tui.core.todos.edits import DeliveredEdits, EditSpan, TodoEdit, edited, extended
from sam_tui.core.todos.item import Todo, one_line, with_status


class BoardStore(TodoStore, Protocol):
    """The lists, and for each the edits of a person that no reminder has reported to the model yet."""

    def load_edits(self, conversation: ConversationId) -> tuple[EditSpan, ...]: ...
    def save_edits(self, conversation: ConversationId, spans: Sequence[EditSpan]) -> None: ...


class TodoBoard:
    """Reads and replaces a conversation's list; the rules are those of ``core.todos``."""

    def __init__(self, store: BoardStore, bus: Bus, clock: Clock) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._delivered: dict[ConversationId, DeliveredEdits] = {}

    def items(self, conversation: ConversationId) -> tuple[Todo, ...]:
        """The list as stored, in its own order."""
        return self._store.load(conversation)

    def current(self, conversation: ConversationId) -> str:
        """The item in progress by number and title; empty where there is none."""
        running = with_status(self.items(conversation), "in-progress")
        return f"[{running[0].id}] {one_line(running[0].title)}" if running else ""

    def replace(self, conversation: ConversationId, items: Sequence[Todo]) -> None:
        """Store the whole list as the model wants it, and tell everyone."""
        self._save(conversation, items)
        # The model answered the reported edits; later edits still wait for a report.
        if conversation in self._delivered:
            self._delivered[conversation] = DeliveredEdits((), self._delivered[conversation].times)

    def edit(self, conversation: ConversationId, edit: TodoEdit) -> bool:
        """Carry out a person's edit, remember it for the model, and announce it.

        False when it changes nothing. Raises ``ToolError`` where it would break a rule.
        """
        before = self.items(conversation)
        after = edited(before, edit, now=self.now())
        if after == before:
            return False
        spans = self._store.load_edits(conversation)
        self._save(conversation, after)
        self._store.save_edits(conversation, extended(spans, before, after))
        return True

    def edits_to_tell(self, conversation: ConversationId, *, new_message: bool) -> DeliveredEdits:
        """Return a person's changes for the reminder that is being built: each edit is new only once.

        The result stays the same within a turn until the model replaces the list or another edit
        comes, so that the reminder changes only when there is something new.
        """
        entry = self._delivered.get(conversation, DeliveredEdits())
        if new_message:
            entry = DeliveredEdits()
        fresh = self._store.load_edits(conversation)
        if fresh:
            entry = DeliveredEdits(fresh, entry.times + 1)
            self._store.save_edits(conversation, ())
        self._delivered[conversation] = entry
        return entry

    def now(self) -> float:
        """The time to stamp changes with, in seconds since the epoch."""
        return self._clock.now()

    def _save(self, conversation: ConversationId, items: Sequence[Todo]) -> None:
        self._store.save(conversation, items)
        self._bus.publish(TodosChanged(conversation, tuple(items)))
