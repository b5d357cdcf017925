"""Keeps a conversation within what its model takes: measures, archives, shortens (spec/sam.md C18, C20).

The limit is what the person said, what the model tells of itself, or what its refusal taught.
"""

from sam_tui.core.agent.compaction import Compacted, compact
from sam_tui.core.agent.history import History
from sam_tui.core.agent.tokens import OUTPUT_TOKENS, room
from sam_tui.core.bus import Bus
from sam_tui.core.errors import ContextExceeded
from sam_tui.core.events import HistoryShortened
from sam_tui.core.ports.memory import Archive
from sam_tui.core.ports.model import Model

_STEP_BACK = 0.6
"""The share of what was refused to try next, where the refusal names no limit."""


class Room:
    """What fits. One for a runtime: what one conversation learns of a model, all know."""

    def __init__(self, archive: Archive, bus: Bus, *, context_tokens: int | None = None) -> None:
        self._archive = archive
        self._bus = bus
        self._told = context_tokens
        self._learnt: dict[str, int] = {}

    def context(self, model: Model) -> int | None:
        """How much the model takes, as far as that is known."""
        return self._learnt.get(model.name) or self._told or model.context_tokens

    def fit(self, history: History, model: Model, *, fixed: int) -> bool:
        """Shorten the history where it would not fit; nothing happens while no limit is known.

        True when something left.
        ``fixed`` is the tokens of system prompt and tools. Raises ``ContextExceeded`` for a model
        that cannot hold even those and a few messages.
        """
        context = self.context(model)
        if context is None:
            return False
        limit = room(context, fixed=fixed, output=OUTPUT_TOKENS)
        if history.tokens <= limit:
            return False
        return self._shorten(history, compact(history.messages, limit))

    def learn(self, model: Model, error: ContextExceeded, *, sent: int) -> None:
        """Learn from a refusal of a request of about ``sent`` tokens how much the model takes."""
        context = error.limit if error.limit and error.limit < sent * 4 else None
        self._learnt[model.name] = context or max(1024, round(sent * _STEP_BACK))

    def step_back(self, history: History, model: Model, *, fixed: int) -> bool:
        """Shorten after a refusal. False when the history did not get any shorter."""
        limit = room(self._learnt[model.name], fixed=fixed, output=OUTPUT_TOKENS)
        target = min(limit, round(history.tokens * _STEP_BACK))
        return self._shorten(history, compact(history.messages, limit, target=target))

    def _shorten(self, history: History, compacted: Compacted) -> bool:
        if not compacted.changed:
            return False
        from sam_tui.core.agent.archiving import chunks  # seldom needed

        before, moments = history.tokens, history.moments()
        last = self._archive.last_number(history.conversation)
        left = [moments[index] for index in compacted.indices]
        for chunk in chunks(history.conversation, compacted.dropped, left, last=last):
            self._archive.add(chunk)
        history.shorten(compacted)
        self._bus.publish(
            HistoryShortened(history.conversation, before, compacted.tokens, len(compacted.dropped))
        )
        return compacted.tokens < before
