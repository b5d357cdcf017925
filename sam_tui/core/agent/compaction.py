"""Makes a conversation fit its model again: a summary, the last user message, the newest steps whole.

Pure functions over messages; the caller stores. What is kept is a contiguous suffix in whole units (an
answer with all its results is one), so no call loses its result and nothing in between is missing.
What leaves is returned as it was, to be archived before the shorter history takes its place.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sam_tui.core.agent.summary import NAME, merge, render, summarise, summary_of
from sam_tui.core.errors import ContextExceeded
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.memories import ArchivedChunk
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

SMALLEST = 256
"""Tokens for messages below which no conversation can go on."""
TARGET = 0.6
"""The share of the limit that a compaction leaves filled, so that the next one is some way off."""
RESERVE = 0.15
"""The share of a context that is left free, because the estimate is one (spec/sam.md 6.7)."""

_PER_MESSAGE, _PER_CALL, _WRAPPER = 4, 20, 36
_SUMMARY_MOST = 2000
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


@dataclass(frozen=True, slots=True)
class Compacted:
    """A shorter history: ``opening``, then ``messages[kept_from:]`` of the original as they are.

    ``dropped`` is what is no longer there as it was, in order: whole messages, also those of which a
    clipped form stands in the opening. ``tokens`` is the estimate for the new history.
    """

    opening: tuple[Message, ...]
    kept_from: int
    dropped: tuple[Message, ...]
    tokens: int

    @property
    def changed(self) -> bool:
        """Whether anything was dropped at all."""
        return bool(self.dropped)

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """The new history, from the one that was given."""
        return [*self.opening, *messages[self.kept_from :]]


def estimate(message: Message) -> int:
    """Tokens of one message: a quarter of its UTF-8 bytes, 4 for its frame and 20 for each call."""
    match message:
        case UserMessage(text=text):
            return _PER_MESSAGE + _tokens(text)
        case ReminderMessage(text=text):
            return _PER_MESSAGE + _tokens(text) + _WRAPPER // 4
        case ToolMessage(text=text):
            return _PER_MESSAGE + _tokens(text)
        case AssistantMessage():
            own = _tokens(message.text) + _thought(message)
            calls = sum(
                _PER_CALL + _tokens(call.name) + _tokens(call.arguments) for call in message.calls
            )
            return _PER_MESSAGE + own + calls


def total(messages: Sequence[Message]) -> int:
    """Tokens of all messages."""
    return sum(map(estimate, messages))


def room(context: int, *, fixed: int, output: int) -> int:
    """Tokens that messages may take in a model's context, and never more than are there.

    ``fixed`` is what every request begins with (system prompt and tools, ``text_tokens`` of each),
    ``output`` the longest answer wanted; of a small context a quarter is kept for it. Raises
    ``ContextExceeded`` where what is fixed leaves less than ``SMALLEST``.
    """
    left = context - fixed - round(context * RESERVE) - min(output, context // 4)
    if left < SMALLEST:
        raise ContextExceeded(
            f"The system prompt and the tools take about {fixed} of the model's {context} tokens:"
            " too little is left for a conversation.",
            hint="Choose a model with a longer context, or disable tools that are not needed.",
        )
    return left


def text_tokens(text: str) -> int:
    """Tokens of a text, estimated as in ``estimate``."""
    return _tokens(text)


def calibrated(limit: int, *, estimated: int, measured: int) -> int:
    """The limit in estimated tokens, once a provider said what a request of that estimate took.

    Estimates that were too low shrink it in proportion; those that were too high change nothing.
    """
    if estimated <= 0 or measured <= estimated:
        return limit
    return max(SMALLEST, limit * estimated // measured)


def compact(messages: Sequence[Message], limit: int, *, target: int | None = None) -> Compacted:
    """The history within ``limit`` tokens; the same one where it fits already.

    ``messages`` keep the promise of ``core.messages``: one result for every call (see ``paired``).
    ``target`` asks for less than the usual share of the limit, also where the history fits the
    limit. Raises ``ContextExceeded`` for a limit below ``SMALLEST``.
    """
    if limit < SMALLEST:
        raise ContextExceeded(
            f"{limit} tokens are too few for a conversation.",
            hint="Choose a model with a longer context.",
        )
    size = total(messages)
    if size <= (limit if target is None else min(target, limit)):
        return Compacted((), 0, (), size)
    aim = max(SMALLEST, min(limit, round(limit * TARGET) if target is None else target))
    return _shortened(messages, aim)


def paired(messages: Sequence[Message]) -> list[Message]:
    """The history without calls that have no result after them, and results that have no call.

    An answer that then holds neither text nor calls goes too.
    """
    kept: list[Message] = []
    for start, end in _units(messages):
        head = messages[start]
        if isinstance(head, ToolMessage):
            continue
        if not isinstance(head, AssistantMessage) or not head.calls:
            kept += messages[start:end]
            continue
        results = {m.call_id: m for m in messages[start + 1 : end] if isinstance(m, ToolMessage)}
        calls = tuple(call for call in head.calls if call.id in results)
        if calls or head.text:
            kept.append(head if calls == head.calls else replace(head, calls=calls))
        for message in messages[start + 1 : end]:
            if not isinstance(message, ToolMessage) or results.get(message.call_id) is message:
                kept.append(message)
    return kept


def chunks(
    conversation: ConversationId, dropped: Sequence[Message], moments: Sequence[float], *, last: int
) -> list[ArchivedChunk]:
    """What left, as chunks for the archive, numbered from ``last`` + 1.

    ``moments`` says when each message was stored, in seconds since the epoch. Reminders are left
    out: the workbench wrote them. Calls become lines of their answer.
    """
    spoken = [
        (role, text, at)
        for message, at in zip(dropped, moments, strict=True)
        for role, text in _spoken(message)
    ]
    found: list[ArchivedChunk] = []
    for group in _groups(spoken):
        pairs = tuple((role, text) for role, text, _ in group)
        found.append(
            ArchivedChunk(
                conversation,
                last + len(found) + 1,
                min(at for _, _, at in group),
                max(at for _, _, at in group),
                _first_words(pairs),
                _topics(pairs),
                pairs,
            )
        )
    return found


def _shortened(messages: Sequence[Message], aim: int) -> Compacted:
    summary_room = min(_SUMMARY_MOST, aim // 4)
    left = aim - summary_room
    user = next(
        (i for i in reversed(range(len(messages))) if isinstance(messages[i], UserMessage)), None
    )
    asked = _pinned(messages, user, left // 2)
    left -= total(asked)
    whole = user is not None and asked == (messages[user],)
    kept_from, left = _suffix(messages, left, user, whole=whole)
    newest = _newest(messages, user, kept_from, left)
    pinned = () if user is not None and kept_from <= user else asked
    dropped = tuple(
        message for i, message in enumerate(messages[:kept_from]) if not (whole and i == user)
    )
    spoken = [m for m in dropped if not (isinstance(m, ReminderMessage) and m.name == NAME)]
    opening = (_summary(messages, spoken, summary_room), *pinned, *newest)
    tokens = total(opening) + total(messages[kept_from:])
    if tokens > aim:
        raise ContextExceeded(f"The conversation could not be brought below {aim} tokens.")
    return Compacted(opening, kept_from, tuple(spoken), tokens)


def _pinned(messages: Sequence[Message], user: int | None, most: int) -> tuple[Message, ...]:
    """The last user message, clipped where it alone would take more than its part."""
    if user is None:
        return ()
    message = messages[user]
    assert isinstance(message, UserMessage)
    if estimate(message) <= most:
        return (message,)
    return (UserMessage(_clip(message.text, most - _PER_MESSAGE)),)


def _suffix(
    messages: Sequence[Message], left: int, user: int | None, *, whole: bool
) -> tuple[int, int]:
    """Where the longest suffix of whole units begins that there is room for, and the room left.

    The last user message has its room already; a clipped one stands in the opening, so the suffix
    ends before it.
    """
    kept_from = len(messages)
    for start, end in reversed(_units(messages)):
        if start == user and not whole:
            break
        cost = 0 if start == user else total(messages[start:end])
        if cost > left or _is_summary(messages[start]):
            break
        kept_from, left = start, left - cost
    return kept_from, left


def _newest(
    messages: Sequence[Message], user: int | None, kept_from: int, left: int
) -> tuple[Message, ...]:
    """The newest calls and results with clipped texts, where not even they have room as they are.

    Without them the model would only make the same calls again.
    """
    for start, end in reversed(_units(messages)):
        if start >= kept_from:
            if isinstance(messages[start], AssistantMessage):
                return ()
            continue
        if user is not None and start <= user:
            return ()
        if isinstance(messages[start], AssistantMessage):
            return _shrunk(messages[start:end], left)
    return ()


def _shrunk(unit: Sequence[Message], most: int) -> tuple[Message, ...]:
    """A unit with its texts clipped to fair shares, or nothing where its frame is too large."""
    head, *results = unit
    assert isinstance(head, AssistantMessage)
    bare = replace(head, text="", reasoning="", opaque=None, calls=())
    frame = estimate(bare) + sum(_PER_CALL + _tokens(call.name) + 1 for call in head.calls)
    frame += _PER_MESSAGE * len(results)
    texts = [head.text, *(call.arguments for call in head.calls)]
    texts += [m.text for m in results if isinstance(m, ToolMessage)]
    share = (most - frame) // len(texts)
    if share < 8:
        return ()
    calls = tuple(_clipped_call(call, share) for call in head.calls)
    shorter = replace(bare, text=_clip(head.text, share), calls=calls)
    clipped = [replace(m, text=_clip(m.text, share)) for m in results if isinstance(m, ToolMessage)]
    return (shorter, *clipped)


def _clipped_call(call: ToolCall, most: int) -> ToolCall:
    """A call whose arguments are still one JSON object: providers refuse anything else."""
    if _tokens(call.arguments) <= most:
        return call
    return replace(call, arguments=json.dumps({"clipped": len(call.arguments)}))


def _summary(messages: Sequence[Message], dropped: Sequence[Message], most: int) -> ReminderMessage:
    new = summarise(dropped)
    old = summary_of(messages)
    text = render(merge(old, new) if old else new, (most - _PER_MESSAGE - _WRAPPER // 4) * 4)
    return ReminderMessage(NAME, text)


def _units(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(start, end) of each unit: an answer with the results of its calls, any other message alone."""
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(messages):
        end = index + 1
        head = messages[index]
        if isinstance(head, AssistantMessage):
            waiting = {call.id for call in head.calls}
            while end < len(messages) and waiting and _waits(messages[end], waiting):
                end += 1
        found.append((index, end))
        index = end
    return found


def _waits(message: Message, waiting: set[CallId]) -> bool:
    """Whether the message belongs to an answer whose calls still wait for these results."""
    if isinstance(message, ToolMessage) and message.call_id in waiting:
        waiting.discard(message.call_id)
        return True
    return False


def _is_summary(message: Message) -> bool:
    return isinstance(message, ReminderMessage) and message.name == NAME


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
        # A chunk best begins with what the person said.
        if group and (full or (item[0] == "user" and len(group) >= _CHUNK_MESSAGES // 2)):
            yield group
            group, size = [], 0
        group.append(item)
        size += len(item[1])
    if group:
        yield group


def _first_words(pairs: Sequence[tuple[str, str]]) -> str:
    said = next((text for role, text in pairs if role in ("user", "assistant") and text), "")
    line = " ".join((said or pairs[0][1]).split())
    return line if len(line) <= 200 else line[:199] + "…"


def _topics(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The five most frequent words of more than four letters that say something."""
    counted: Counter[str] = Counter()
    for role, text in pairs:
        if not role.startswith("tool"):
            counted.update(word.lower() for word in _LONG_WORD.findall(text))
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple([word for word, _ in ranked if word not in _PLAIN_WORDS][:5])


def _thought(message: AssistantMessage) -> int:
    """Reasoning goes back as text or inside the provider's own data, not both."""
    own = len(json.dumps(message.opaque, default=str)) // 4 if message.opaque else 0
    return max(own, _tokens(message.reasoning))


def _tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return (size + 3) // 4


def _clip(text: str, most: int) -> str:
    """The text in at most ``most`` tokens: its beginning and its end around a mark."""
    if _tokens(text) <= most:
        return text
    data = text.encode("utf-8", "replace")
    mark = f"\n[… {len(text)} characters in all; recall_history finds the rest …]\n"
    free = most * 4 - len(mark.encode())
    if free < 40:
        return data[: max(0, most * 4 - 3)].decode("utf-8", "ignore") + "…"
    head = data[: free * 2 // 3].decode("utf-8", "ignore")
    return head + mark + data[len(data) - free // 3 :].decode("utf-8", "ignore")
