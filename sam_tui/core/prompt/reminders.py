"""Reminders: what one may look at, and when it is added. Append-only, so what was sent stays as sent.

On a new user message every reminder with something to say stands right before it (seed 004,
Injection Flow). Inside a tool loop one is appended only when it changed since the model last saw it.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message, ReminderMessage
from sam_tui.core.prompt.tally import Tally
from sam_tui.core.todos.item import Todo
from sam_tui.core.tooling.neutralization import neutralise


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


class Reminder(Protocol):
    """One injector. ``name`` is unique and stable; it is stored with what was said."""

    @property
    def name(self) -> str: ...

    def content(self, view: TurnView) -> str | None:
        """What to remind of now, without the wrapper, or None."""
        ...


AGAIN_CALLS, AGAIN_TOKENS = 25, 20_000
"""Model calls, and tokens at four characters each, after which a repeating reminder stands again."""


def _repeats(reminder: Reminder) -> bool:
    """Whether a reminder stands again in a long loop though nothing changed (``repeats``)."""
    return bool(getattr(reminder, "repeats", False))


def _far(messages: Sequence[Message]) -> bool:
    """Whether what was said since a reminder is so much that the model may have lost sight of it."""
    calls = sum(message.kind == "assistant" for message in messages)
    return calls >= AGAIN_CALLS or sum(len(m.text) for m in messages) // 4 >= AGAIN_TOKENS


def due_reminders(
    reminders: Sequence[Reminder],
    view: TurnView,
    *,
    new_message: bool,
    clean: Callable[[str], str] = lambda text: text,
) -> list[ReminderMessage]:
    """The reminders to append now, in injection order; ``clean`` takes secrets out of them."""
    due: list[ReminderMessage] = []
    tally = view.tally
    for reminder in reminders:
        text = neutralise(clean(reminder.content(view) or ""))
        fresh = new_message or text != tally.last(reminder.name)
        if text and (fresh or (_repeats(reminder) and _far(tally.since(reminder.name)))):
            due.append(ReminderMessage(reminder.name, text))
    return due


def digest(text: str) -> str:
    """A short name for a reminder's content, to see whether it changed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
