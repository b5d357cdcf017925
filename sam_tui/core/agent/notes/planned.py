"""A compaction that the person asked for: planned, looked at, and then done or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sam_tui.core.agent.compaction import Compacted, compact, compact_span
from sam_tui.core.agent.context_window import Room
from sam_tui.core.agent.history import History
from sam_tui.core.agent.notes.notetaker import Notetaker, WrittenNotes, takes_notes
from sam_tui.core.agent.tokens import SMALLEST, estimate, total
from sam_tui.core.agent.turn_hooks import HookedTurn
from sam_tui.core.errors import ContextExceeded, UsageError
from sam_tui.core.messages import Message, ReminderMessage, UserMessage
from sam_tui.core.ports.model import Model
from sam_tui.core.usage import Usage

Extent = Literal["older", "up to", "from"]
"""Which messages leave: all but the newest steps, those before a prompt, or a prompt and all after it."""
_LEAVES = 0.4
"""The share of a conversation that remains after a compaction that the person requested."""


@dataclass(frozen=True, slots=True)
class PlannedCompaction:
    """The result of a planned compaction. ``fault`` says why no model wrote notes."""

    compacted: Compacted
    messages: Sequence[Message]
    written: WrittenNotes

    @property
    def before(self) -> int:
        """Tokens of the messages now."""
        return total(self.messages)

    @property
    def summarised(self) -> Sequence[Message]:
        """The messages that leave for the summary and the archive."""
        return [m for m in self.compacted.dropped if not isinstance(m, ReminderMessage)]

    @property
    def dropped(self) -> Sequence[Message]:
        """The reminders among the messages that leave; those that still hold are added again."""
        return [m for m in self.compacted.dropped if isinstance(m, ReminderMessage)]

    def in_words(self) -> str:
        """Return how many messages stay, are summarised and are dropped, and the summary."""
        compacted = self.compacted
        staying = len(self.messages) - len(compacted.dropped)
        lines = [
            f"{self.before:>9,}  tokens of messages now, {compacted.tokens:,} afterwards",
            f"{staying:>9,}  messages stay as they are",
            f"{len(self.summarised):>9,}  are summarised below; the archive keeps them whole",
            f"{len(self.dropped):>9,}  reminders are dropped; those that still apply are sent "
            "again",
            "",
            "Always stay: instructions, open todos and your pins (all sent again), unanswered "
            "questions, your last message.",
            "The provider's cache of this conversation begins anew.",
            "",
        ]
        if self.written.fault:
            lines += [f"Summary by rules, because no model wrote notes: {self.written.fault}", ""]
        new = [m for m in compacted.opening if all(m is not old for old in self.messages)]
        lines += [f"---- replaces it\n{getattr(m, 'text', '')}\n" for m in new]
        for heading, messages in (("summarised", self.summarised), ("dropped", self.dropped)):
            lines += [f"---- {heading}", *(_line(m) for m in messages), ""]
        return "\n".join(lines)


def _line(message: Message) -> str:
    words = " ".join(message.text.split())[:100] or "calls"
    return f"{estimate(message):>9,}  {message.kind}: {words}"


@dataclass(frozen=True, slots=True)
class WhatLeaves:
    """The choice of messages to leave; ``prompt`` counts the person's messages in the context from 0."""

    extent: Extent = "older"
    prompt: int = 0
    instructions: str = ""


class CompactionPlanner:
    """Previews and carries out compactions of one conversation."""

    def __init__(
        self,
        room: Room,
        history: History,
        notetaker: Notetaker | None,
        hooked: HookedTurn | None = None,
    ) -> None:
        self._room = room
        self._history = history
        self._notetaker = notetaker
        self._hooked = hooked
        self.restore = history.restore_dropped

    @property
    def compacted(self) -> bool:
        """Whether a compaction can be undone."""
        return self._history.tally.compacted

    @property
    def prompts(self) -> list[tuple[int, str]]:
        """The person's messages in the context: their number, and the text."""
        return list(enumerate(m.text for m in self._history.messages if isinstance(m, UserMessage)))

    async def plan(
        self, model: Model | None, leaving: WhatLeaves, *, by_rules: bool = False
    ) -> tuple[PlannedCompaction, Usage]:
        """The compaction that would happen. Raises ``UsageError`` if nothing can leave or a hook denies
        it."""
        messages = list(self._history.messages)
        compacted = self._compacted(messages, leaving)
        if not compacted.dropped:
            raise UsageError("There is nothing to compact: the conversation is short.")
        instructions = leaving.instructions
        if self._hooked is not None:
            instructions = await self._hooked.admit_compaction(instructions)
        context = self._room.context(model) if model is not None else None
        written = WrittenNotes(None, Usage(), "As you asked.")
        if model is None or self._notetaker is None or not takes_notes(model, context):
            written = WrittenNotes(None, Usage(), "There is no model that could write notes.")
        elif not by_rules:
            written = await self._notetaker.take(
                model,
                compacted.leaving(messages),
                context=context,
                instructions=instructions,
            )
        if written.notes is not None:
            compacted = compacted.with_notes(written.notes, max(compacted.tokens, total(messages)))
        self._history.add_usage(written.usage)
        return PlannedCompaction(compacted, messages, written), written.usage

    def _compacted(self, messages: Sequence[Message], leaving: WhatLeaves) -> Compacted:
        if leaving.extent == "older":
            size = total(messages)
            try:
                return compact(messages, max(size, SMALLEST), target=round(size * _LEAVES))
            except ContextExceeded:
                return Compacted((), 0, (), (), size)
        positions = [i for i, m in enumerate(messages) if isinstance(m, UserMessage)]
        if not 0 <= leaving.prompt < len(positions):
            raise UsageError("There is no such message in the context.")
        at = positions[leaving.prompt]
        start, end = (0, at) if leaving.extent == "up to" else (at, len(messages))
        return compact_span(messages, start, end)

    def apply(self, planned: PlannedCompaction) -> None:
        """Carry out the plan. Raises ``UsageError`` if the conversation changed since."""
        now = self._history.messages
        same = len(now) == len(planned.messages) and all(
            a is b for a, b in zip(now, planned.messages, strict=True)
        )
        if not same:
            raise UsageError(
                "The conversation continued in the meantime.", hint="Plan it again: /compact"
            )
        self._room.shorten(self._history, planned.compacted)
