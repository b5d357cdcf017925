"""Keeps a conversation within what its model takes: measures, archives, shortens (spec/sam.md C18, C20).

The limit comes from the person's setting, the model's own figure, or a refusal of the model.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sam_tui.core.agent.compaction import Compacted, compact
from sam_tui.core.agent.history import History
from sam_tui.core.agent.tokens import OUTPUT_TOKENS, SMALLEST, free, room, text_tokens
from sam_tui.core.bus import Bus
from sam_tui.core.errors import ContextExceeded
from sam_tui.core.events import HistoryShortened
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.memory import Archive, ArchivedChunk
from sam_tui.core.ports.model import Model
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.tooling.registry import Registry

_WHOLE_LEAVES = 1 / 6
"""The share of a context that must remain for messages if the model gets all tools, not a short list."""
_SHORT_LEAVES = 1 / 4
"""The share that should remain for messages if the model gets a short list of tools."""


def opening(requests: RequestBuilder, registry: Registry, context: int | None) -> RequestBuilder:
    """The builder for a model that takes ``context`` tokens; None where that is not known.

    The same registry and context give the same bytes, so that requests keep their prefix. A context
    that is too short for even the shortest opening gets that one: measuring reports the missing size.
    """
    whole = requests.narrowed(registry.schemas_json)
    if context is None:
        return whole
    left = free(context, output=OUTPUT_TOKENS)
    if left - text_tokens(whole.fixed_text) >= max(SMALLEST, context * _WHOLE_LEAVES):
        return whole
    system = requests.short_system
    unused = left - text_tokens(system) - max(SMALLEST, round(context * _SHORT_LEAVES))
    return requests.narrowed(registry.short_schemas(max(0, unused * 4)), system=system)


_CHUNK_MESSAGES, _CHUNK_CHARACTERS = 40, 24_000
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")
_PLAIN_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about after again also because been before being between both cannot could doing each every"
        " false first found going have here into just like make more most need none only other"
        " please shall should since some such than that their them then there these they thing this"
        " those through true under until using very want were what when where which while will with"
        " without would your result results error",
    )
)


def chunks(
    conversation: ConversationId, dropped: Sequence[Message], moments: Sequence[float], *, last: int
) -> list[ArchivedChunk]:
    """Return messages that left the context as chunks for the archive, numbered from ``last`` + 1.

    ``moments`` says when each message was stored, in seconds since the epoch. Reminders are left
    out: the workbench wrote them. Calls become lines of their answer.
    """
    spoken = [
        (role, text, at)
        for message, at in zip(dropped, moments, strict=True)
        for role, text in _spoken(message)
    ]
    archived: list[ArchivedChunk] = []
    for group in _groups(spoken):
        pairs = tuple((role, text) for role, text, _ in group)
        archived.append(
            ArchivedChunk(
                conversation,
                last + len(archived) + 1,
                min(at for _, _, at in group),
                max(at for _, _, at in group),
                _first_words(pairs),
                _topics(pairs),
                pairs,
            )
        )
    return archived


def _spoken(message: Message) -> Iterator[tuple[str, str]]:
    match message:
        case UserMessage(text=text):
            yield "user", text
        case AssistantMessage():
            calls = [f"[called {call.name} {call.arguments}]" for call in message.calls]
            yield "assistant", "\n".join([*([message.text] if message.text else []), *calls])
        case ToolMessage(name=name, text=text):
            yield f"tool {name}", text
        case ReminderMessage():
            pass


def _groups(
    spoken: Sequence[tuple[str, str, float]],
) -> Iterator[list[tuple[str, str, float]]]:
    """Chunks of a readable size, in order; one text is never divided."""
    group: list[tuple[str, str, float]] = []
    size = 0
    for item in spoken:
        full = len(group) >= _CHUNK_MESSAGES or size + len(item[1]) > _CHUNK_CHARACTERS
        # A chunk best begins with a message of the person.
        if group and (full or (item[0] == "user" and len(group) >= _CHUNK_MESSAGES // 2)):
            yield group
            group, size = [], 0
        group.append(item)
        size += len(item[1])
    if group:
        yield group


def _first_words(pairs: Sequence[tuple[str, str]]) -> str:
    opening = next((text for role, text in pairs if role in ("user", "assistant") and text), "")
    line = " ".join((opening or pairs[0][1]).split())
    return line if len(line) <= 200 else line[:199] + "…"


def _topics(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The five most frequent words of more than four letters that say something."""
    counted: Counter[str] = Counter()
    for role, text in pairs:
        if not role.startswith("tool"):
            counted.update(word.lower() for word in _LONG_WORD.findall(text))
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple([word for word, _ in ranked if word not in _PLAIN_WORDS][:5])


_MOST_ABOVE = 8
"""A context size in a refusal is believed only if the request was less than so many times as large."""
_STEP_BACK = 0.6
"""If a refusal names no context size, the next request is this share of the refused one."""


class Room:
    """The room for messages in a model's context, shared by a runtime with the limits that it learns."""

    def __init__(self, archive: Archive, bus: Bus, *, context_tokens: int | None = None) -> None:
        self._archive = archive
        self._bus = bus
        self._configured = context_tokens
        self._learnt: dict[str, int] = {}

    def context(self, model: Model) -> int | None:
        """Return the size of the model's context in tokens, or None if it is not known."""
        return self._learnt.get(model.name) or self._configured or model.context_tokens

    def limit(self, model: Model, *, fixed: int) -> int | None:
        """Tokens that messages may take; None while no limit is known.

        ``fixed`` is the tokens of system prompt and tools. Raises ``ContextExceeded`` for a model
        that cannot hold even those and a few messages.
        """
        context = self.context(model)
        return None if context is None else room(context, fixed=fixed, output=OUTPUT_TOKENS)

    def share(self, history: History, model: Model, *, fixed: int) -> float:
        """Return the share of the limit that the messages take; 0 while no limit is known."""
        limit = self.limit(model, fixed=fixed)
        return history.tokens / limit if limit else 0.0

    def fit(self, history: History, model: Model, *, fixed: int) -> bool:
        """Shorten the history by rules where it would not fit. True when something left."""
        limit = self.limit(model, fixed=fixed)
        if limit is None or history.tokens <= limit:
            return False
        return self.shorten(history, compact(history.messages, limit))

    def learn(self, model: Model, error: ContextExceeded, *, sent: int) -> None:
        """Learn from a refusal of a request of about ``sent`` tokens how much the model takes."""
        plausible = error.limit and sent < error.limit * _MOST_ABOVE and error.limit < sent * 4
        context = error.limit if plausible else None
        self._learnt[model.name] = context or max(1024, round(sent * _STEP_BACK))

    def step_back(self, history: History, model: Model, *, fixed: int) -> bool:
        """Shorten after a refusal. False when the history did not get any shorter."""
        limit = room(self._learnt[model.name], fixed=fixed, output=OUTPUT_TOKENS)
        target = min(limit, round(history.tokens * _STEP_BACK))
        return self.shorten(history, compact(history.messages, limit, target=target))

    def shorten(self, history: History, compacted: Compacted) -> bool:
        """Archive the messages that leave and put the opening in their place, in one step. True if the
        history is shorter."""
        if not compacted.changed:
            return False
        before, moments = history.tokens, history.moments()
        last = self._archive.last_number(history.conversation)
        left = [moments[index] for index in compacted.indices]
        archived = chunks(history.conversation, compacted.dropped, left, last=last)
        history.shorten(compacted, archived)
        self._bus.publish(
            HistoryShortened(history.conversation, before, compacted.tokens, len(compacted.dropped))
        )
        return compacted.tokens < before
