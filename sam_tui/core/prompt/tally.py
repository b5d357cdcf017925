"""Counts of a history for reminders, updated as it grows: each message is read once, not every turn."""

from collections.abc import Callable, Iterable, Sequence, Set

from sam_tui.core.messages import Message, ReminderMessage, UserMessage

SUMMARY = "thread_summary"
"""The name of the reminder with the summary of messages that left the context, and its tag."""


class Tally:
    """Counts over a sequence of messages that only grows at its end.

    ``earlier`` returns the messages that a compaction removed; only ``collect`` reads them.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        *,
        earlier: Callable[[], Sequence[Message]] = lambda: (),
    ) -> None:
        self._messages = messages
        self._earlier = earlier
        self._counted = 0
        self._prompts = 0
        self._reminders: dict[str, list[str]] = {}
        self._newest: dict[str, int] = {}
        self._collected: dict[str, tuple[int, set[str]]] = {}

    def over(self, messages: Sequence[Message]) -> "Tally":
        """The same over other messages of the conversation."""
        return Tally(messages, earlier=self._earlier)

    @property
    def prompts(self) -> int:
        """The number of the person's messages."""
        self._count()
        return self._prompts

    @property
    def compacted(self) -> bool:
        """Whether a summary replaces earlier messages."""
        return bool(self.reminders(SUMMARY))

    def reminders(self, name: str) -> Sequence[str]:
        """Every text of the reminder of that name, oldest first."""
        self._count()
        return self._reminders.get(name, ())

    def last(self, name: str) -> str | None:
        """The newest text of the reminder of that name, or None."""
        texts = self.reminders(name)
        return texts[-1] if texts else None

    def since(self, name: str) -> Sequence[Message]:
        """The messages after the newest reminder of this name; empty if there is none."""
        self._count()
        index = self._newest.get(name)
        return () if index is None else self._messages[index + 1 :]

    def collect(self, name: str, of: Callable[[Message], Iterable[str]]) -> Set[str]:
        """Return all values of ``of``, the same function for a name, in messages present and removed."""
        if name not in self._collected:
            left = self._earlier() if self.compacted else ()
            self._collected[name] = (0, {value for message in left for value in of(message)})
        start, values = self._collected[name]
        for message in self._messages[start:]:
            values.update(of(message))
        self._collected[name] = (len(self._messages), values)
        return values

    def _count(self) -> None:
        for message in self._messages[self._counted :]:
            self._counted += 1
            if isinstance(message, UserMessage):
                self._prompts += 1
            elif isinstance(message, ReminderMessage):
                self._reminders.setdefault(message.name, []).append(message.text)
                self._newest[message.name] = self._counted - 1
