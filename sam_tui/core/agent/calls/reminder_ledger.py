"""The reminders that the model got in a conversation, and the person's choice for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sam_tui.core.agent.tokens import estimate
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message, ReminderMessage
from sam_tui.core.prompt.reminders import Injectors, Reminder, ReminderChoice

_UNNAMED = "its text changes, or you send a message"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One reminder. ``times``, ``tokens`` (estimated) and ``text`` (the newest) are of the model's
    present texts; ``at`` is when the newest was stored, in seconds since the epoch, or None."""

    name: str
    trigger: str
    times: int = 0
    tokens: int = 0
    at: float | None = None
    text: str = ""
    choice: ReminderChoice | None = None


def reminder_ledger(
    injectors: Injectors,
    conversation: ConversationId,
    messages: Sequence[Message],
    moments: Sequence[float],
) -> list[LedgerEntry]:
    """Every injector in its order. What hooks, images and summaries say is none of theirs."""
    choices = injectors.choices.chosen(conversation)
    stored: dict[str, list[tuple[ReminderMessage, float]]] = {}
    for message, at in zip(messages, moments, strict=False):  # what streams in has no moment yet
        if isinstance(message, ReminderMessage):
            stored.setdefault(message.name, []).append((message, at))
    return [
        _entry(reminder, stored.get(reminder.name, []), choices) for reminder in injectors.reminders
    ]


def _entry(
    reminder: Reminder,
    stored: Sequence[tuple[ReminderMessage, float]],
    choices: Mapping[str, ReminderChoice],
) -> LedgerEntry:
    trigger, choice = getattr(reminder, "trigger", _UNNAMED), choices.get(reminder.name)
    if not stored:
        return LedgerEntry(reminder.name, trigger, choice=choice)
    newest, at = stored[-1]
    tokens = sum(estimate(message) for message, _ in stored)
    return LedgerEntry(reminder.name, trigger, len(stored), tokens, at, newest.text, choice)
