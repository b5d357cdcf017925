"""Has a model write notes on messages that leave the context; its faults do not harm the conversation."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sam_tui.core.agent.compaction import Compacted, compact
from sam_tui.core.agent.context_window import Room
from sam_tui.core.agent.history import History
from sam_tui.core.agent.notes.model_notes import LONGEST_ANSWER, notes_from, request_for
from sam_tui.core.agent.tokens import OUTPUT_TOKENS, free
from sam_tui.core.errors import ModelError
from sam_tui.core.messages import AssistantMessage, Message
from sam_tui.core.ports.model import Model, TextDelta, UsageDelta
from sam_tui.core.usage import Price, Usage, priced

LONGEST_NOTES = 2_000
"""The most tokens of notes."""
PREPARE_AT = 0.75
"""The share of the limit at which the model begins to write notes while the agent works."""
_SMALLEST_CONTEXT = 12_000
_ASSUMED_CONTEXT = 32_000
"""The tokens that are assumed for a model whose context size is unknown."""


@dataclass(frozen=True, slots=True)
class WrittenNotes:
    """The notes of a model; ``notes`` is None if they are unusable, and ``fault`` says why."""

    notes: AssistantMessage | None
    usage: Usage
    fault: str = ""


class Notetaker:
    """Asks models for notes. ``clean`` takes secrets out, ``prices`` are the person's own, ``seconds``
    is how long one may take."""

    def __init__(
        self,
        clean: Callable[[str], str],
        prices: Mapping[str, Price] = MappingProxyType({}),
        *,
        seconds: float = 120.0,
    ) -> None:
        self._clean = clean
        self._prices = prices
        self._seconds = seconds

    def room(self, room: Room, history: History, spend: Callable[[Usage], None]) -> "TurnRoom":
        """Keeps the history of a turn within the context; ``spend`` receives the usage of notes."""
        return TurnRoom(room, history, self, spend)

    async def take(
        self,
        model: Model,
        messages: Sequence[Message],
        *,
        context: int | None,
        instructions: str = "",
    ) -> WrittenNotes:
        """The model's notes on messages that leave the context; never raises for a failure of the model."""
        size = context or _ASSUMED_CONTEXT
        most = min(LONGEST_NOTES, size // 16)
        request = request_for(
            messages,
            instructions=self._clean(instructions),
            most=free(size, output=OUTPUT_TOKENS) // 2,
            answer=most,
        )
        parts: list[str] = []
        usage, length = Usage(), 0
        stream = model.stream(request)
        try:
            async with asyncio.timeout(self._seconds):
                async for delta in stream:
                    if isinstance(delta, UsageDelta):
                        usage = priced(self._prices, model.name, delta.usage)
                    elif isinstance(delta, TextDelta) and length < LONGEST_ANSWER:
                        parts.append(delta.text)
                        length += len(delta.text)
        except ModelError as error:
            return WrittenNotes(None, usage, self._clean(str(error)))
        except TimeoutError:
            return WrittenNotes(None, usage, f"It took longer than {self._seconds:g} seconds.")
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        notes = notes_from(self._clean("".join(parts)[:LONGEST_ANSWER]), most)
        return WrittenNotes(notes, usage, "" if notes else "Its answer was not a summary.")


def takes_notes(model: Model, context: int | None) -> bool:
    """Whether a model can be asked for notes: one whose requests go nowhere plays a script, and a
    small window has no room for them."""
    return bool(model.host) and (context or _ASSUMED_CONTEXT) >= _SMALLEST_CONTEXT


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A compaction and the messages that it was computed from."""

    compacted: Compacted
    messages: Sequence[Message]
    written: WrittenNotes

    def fits(self, messages: Sequence[Message]) -> bool:
        """Whether those messages have only grown since."""
        count = len(self.messages)
        return len(messages) >= count and all(
            old is new for old, new in zip(self.messages, messages, strict=False)
        )


class TurnRoom:
    """Keeps the history of one turn within the context of its model.

    Notes are prepared beside the work and used between two requests, so never while a call runs or
    waits for an approval. Where the model fails, the rules alone decide.
    """

    def __init__(
        self,
        room: Room,
        history: History,
        notetaker: Notetaker,
        spend: Callable[[Usage], None],
    ) -> None:
        self._room = room
        self._history = history
        self._notetaker = notetaker
        self._spend = spend
        self._work: asyncio.Task[_Prepared] | None = None

    def threshold(self, model: Model) -> float:
        """The share of the limit from which on something is going to leave."""
        return PREPARE_AT if takes_notes(model, self._room.context(model)) else 1.0

    def _begin_early(self, model: Model, limit: int) -> None:
        """Prepare notes before the context is full, while the turn goes on."""
        if self._work is None and self._history.tokens > limit * PREPARE_AT:
            self._work = asyncio.get_running_loop().create_task(
                self._prepare(self._notetaker, model, limit), name="notes"
            )

    async def fit(self, model: Model, *, fixed: int) -> bool:
        """Use prepared notes, or wait for them if nothing more fits. True if messages left the context.

        In any case the rules decide last: see ``Room.fit``.
        """
        limit = self._room.limit(model, fixed=fixed)
        if limit is None:
            return False
        if not takes_notes(model, self._room.context(model)):
            return False
        self._begin_early(model, limit)
        full = self._history.tokens > limit
        if self._work is None or not (full or self._work.done()):
            return False
        prepared, self._work = await self._work, None
        if prepared.written.usage != Usage():
            self._spend(prepared.written.usage)
        if not prepared.fits(self._history.messages):
            return False
        return self._room.shorten(self._history, prepared.compacted)

    async def _prepare(self, notetaker: Notetaker, model: Model, limit: int) -> _Prepared:
        messages = list(self._history.messages)
        compacted = compact(messages, limit, target=round(limit * PREPARE_AT * 0.6))
        context = self._room.context(model)
        written = await notetaker.take(model, compacted.leaving(messages), context=context)
        if written.notes is not None:
            compacted = compacted.with_notes(written.notes, limit)
        return _Prepared(compacted, messages, written)

    async def close(self) -> None:
        """Cancel notes that are being prepared."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})
            self._work = None
