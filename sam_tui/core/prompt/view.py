"""What a reminder may look at: a read-only snapshot of the conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message
from sam_tui.core.prompt.tally import Tally
from sam_tui.core.todos.item import Todo


@dataclass(frozen=True, slots=True)
class TurnView:
    """The conversation as it stands when a request is built. ``now`` in seconds since the epoch."""

    conversation: ConversationId
    messages: Sequence[Message]
    todos: tuple[Todo, ...]
    now: float
    new_message: bool = False
    """Whether a message of the person is about to be added; else a tool loop goes on."""
    running: Tally | None = None
    """The tally that is kept while the messages grow; without one they are counted anew."""

    @property
    def tally(self) -> Tally:
        """What there is to count in the messages."""
        return self.running or Tally(self.messages)
