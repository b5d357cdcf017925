"""The todo lists of all conversations: stored, and announced when they change."""

from collections.abc import Sequence

from sam_tui.core.bus import Bus
from sam_tui.core.clock import Clock
from sam_tui.core.events import TodosChanged
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports import TodoStore
from sam_tui.core.todos import Todo


class TodoBoard:
    """Reads and replaces a conversation's list; the rules are those of ``core.todos``."""

    def __init__(self, store: TodoStore, bus: Bus, clock: Clock) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock

    def items(self, conversation: ConversationId) -> tuple[Todo, ...]:
        """The list as stored, in its own order."""
        return self._store.load(conversation)

    def replace(self, conversation: ConversationId, items: Sequence[Todo]) -> None:
        """Store the whole list and tell everyone."""
        self._store.save(conversation, items)
        self._bus.publish(TodosChanged(conversation, tuple(items)))

    def now(self) -> float:
        """The time to stamp changes with, in seconds since the epoch."""
        return self._clock.now()
