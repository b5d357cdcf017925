"""Makes a conversation fit its model again: a summary, the last user message, the newest steps whole.

Pure functions over messages; the caller stores. The kept part is a contiguous suffix in whole units (an
answer with all its results is one), so no call loses its result and nothing in between is missing. The
removed part is returned unchanged, to be archived before the shorter history takes its place.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sam_tui.core.agent.summary import NAME, merge, render, summarise, summary_of, with_task
from sam_tui.core.agent.tokens import SMALLEST, clip, estimate, text_tokens, total
from sam_tui.core.errors import ContextExceeded
from sam_tui.core.ids import CallId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

TARGET = 0.6
"""The share of the limit that a compaction leaves in use, so that the next one does not follow at once."""

NOTES_OWNER = "sam-tui:notes"
"""The owner of an answer that contains a model's notes; such an answer's data are sent to no provider."""

_SUMMARY_MOST = 2000
_SMALLEST_TEXT = 8
"""A text that would be clipped to fewer tokens is left out."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A shorter history: ``opening``, then ``messages[kept_from:]`` of the original as they are.

    ``dropped`` are the whole messages that left the history, in order, also those of which the opening
    has a clipped form, but no earlier summary. ``indices`` are their indices.
    ``tokens`` is the estimate for the new history.
    """

    opening: tuple[Message, ...]
    kept_from: int
    dropped: tuple[Message, ...]
    indices: tuple[int, ...]
    tokens: int

    @property
    def changed(self) -> bool:
        """Whether the new history differs from the old one."""
        return bool(self.opening)

    def with_notes(self, notes: AssistantMessage, limit: int) -> "Compacted":
        """The same with a model's notes behind the summary, in place of earlier ones, where they fit."""
        earlier = [message for message in self.opening if is_notes(message)]
        tokens = self.tokens - total(earlier) + estimate(notes)
        if not self.opening or tokens > limit:
            return self
        others = [message for message in self.opening if not is_notes(message)]
        behind = 1 + max(i for i, message in enumerate(others) if _is_summary(message))
        opening = (*others[:behind], notes, *others[behind:])
        return replace(self, opening=opening, tokens=tokens)

    def leaving(self, messages: Sequence[Message]) -> list[Message]:
        """The messages that the summary replaces, with the earlier summaries and notes before them."""
        left = set(self.indices)
        return [
            message
            for index, message in enumerate(messages[: self.kept_from])
            if index in left or _is_summary(message) or is_notes(message)
        ]

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """The history after compaction, made from the messages before it."""
        return [*self.opening, *messages[self.kept_from :]]


def compact(messages: Sequence[Message], limit: int, *, target: int | None = None) -> Compacted:
    """The history within ``limit`` tokens; the same one where it fits already.

    ``messages`` keep the promise of ``core.messages``: one result for every call.
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
        return Compacted((), 0, (), (), size)
    aim = max(SMALLEST, min(limit, round(limit * TARGET) if target is None else target))
    return _shortened(messages, aim, limit)


def _shortened(messages: Sequence[Message], aim: int, limit: int) -> Compacted:
    summary_room = min(_SUMMARY_MOST, aim // 4)
    notes = _carried(messages, aim // 8)
    user = next(
        (i for i in reversed(range(len(messages))) if isinstance(messages[i], UserMessage)), None
    )
    pinned_first = _pinned(messages, user, (limit - summary_room - total(notes)) * 3 // 4)
    left = max(0, aim - summary_room - total(notes) - total(pinned_first))
    whole = user is not None and pinned_first == (messages[user],)
    kept_from, left = _suffix(messages, left, user, whole=whole)
    newest = _newest(messages, user, kept_from, left)
    pinned = () if user is not None and kept_from <= user else pinned_first
    indices = _condensed(messages, range(kept_from), user if whole else None)
    dropped = tuple(messages[i] for i in indices)
    notes = tuple(message for message in notes if message not in messages[kept_from:])
    opening = (_summary(messages, dropped, summary_room), *notes, *pinned, *newest)
    tokens = total(opening) + total(messages[kept_from:])
    if tokens > limit:
        raise ContextExceeded(
            f"The conversation could not be brought below {limit} tokens.",
            hint="Undo the last message (/rewind) and send it shorter or in parts, or choose "
            "a model with a longer context.",
        )
    return Compacted(opening, kept_from, dropped, indices, tokens)


def _condensed(messages: Sequence[Message], within: range, pin: int | None) -> tuple[int, ...]:
    """Indexes of the messages that a summary replaces: all but the pinned one, summaries and notes."""
    return tuple(
        i for i in within if i != pin and not _is_summary(messages[i]) and not is_notes(messages[i])
    )


def compact_span(messages: Sequence[Message], start: int, end: int) -> Compacted:
    """Replace ``messages[start:end]`` by a summary.

    Both are indexes of the person's messages, or the ends. The person's last message is kept.
    """
    start, end = (_with_reminders(messages, index) for index in (start, end))
    last = max((i for i in range(start, end) if isinstance(messages[i], UserMessage)), default=None)
    later = any(isinstance(message, UserMessage) for message in messages[end:])
    pin = None if later else last
    indices = _condensed(messages, range(start, end), pin)
    dropped = tuple(messages[i] for i in indices)
    if not dropped:
        return Compacted((), 0, (), (), total(messages))
    head = messages[:start]
    summary = _summary(messages[start:end], dropped, _SUMMARY_MOST)
    pinned = () if pin is None else (messages[pin],)
    opening = (*head, summary, *_carried(messages[start:end], _SUMMARY_MOST), *pinned)
    return Compacted(opening, end, dropped, indices, total(opening) + total(messages[end:]))


def _with_reminders(messages: Sequence[Message], index: int) -> int:
    """The place of a message of the person, with the reminders right ahead of it."""
    while 0 < index < len(messages) and isinstance(messages[index - 1], ReminderMessage):
        if _is_summary(messages[index - 1]):
            break
        index -= 1
    return index


def is_notes(message: Message) -> bool:
    """Whether a message is a model's notes on messages that left its context."""
    if not isinstance(message, AssistantMessage) or message.opaque is None:
        return False
    return message.opaque.get("provider") == NOTES_OWNER


def _carried(messages: Sequence[Message], most: int) -> tuple[Message, ...]:
    """Notes of an earlier compaction, if they fit into ``most`` tokens."""
    notes = [message for message in messages if is_notes(message)]
    return tuple(notes) if total(notes) <= most else ()


def _pinned(messages: Sequence[Message], user: int | None, most: int) -> tuple[Message, ...]:
    """The last user message, clipped where it alone would take more than its part."""
    if user is None:
        return ()
    message = messages[user]
    assert isinstance(message, UserMessage)
    if estimate(message) <= most:
        return (message,)
    return (UserMessage(clip(message.text, most - estimate(UserMessage("")))),)


def _suffix(
    messages: Sequence[Message], left: int, user: int | None, *, whole: bool
) -> tuple[int, int]:
    """Return the start of the longest suffix of whole units that fits, and the room left.

    The last user message has its room already; a clipped one stands in the opening, so the suffix
    ends before it.
    """
    kept_from = len(messages)
    for start, end in reversed(_units(messages)):
        if start == user and not whole:
            break
        cost = 0 if start == user else total(messages[start:end])
        if cost > left:
            break
        kept_from, left = start, left - cost
    return kept_from, left


def _newest(
    messages: Sequence[Message], user: int | None, kept_from: int, left: int
) -> tuple[Message, ...]:
    """Return the newest calls and results with clipped texts, if they do not fit whole.

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
    bare = replace(
        head,
        text="",
        reasoning="",
        opaque=None,
        calls=tuple(replace(call, arguments="") for call in head.calls),
    )
    answers = [m for m in results if isinstance(m, ToolMessage)]
    texts = 1 + len(head.calls) + len(answers)
    share = (most - estimate(bare) - sum(estimate(replace(m, text="")) for m in answers)) // texts
    if share < _SMALLEST_TEXT:
        return ()
    calls = tuple(_clipped_call(call, share) for call in head.calls)
    shorter = replace(bare, text=clip(head.text, share), calls=calls)
    return (shorter, *(replace(m, text=clip(m.text, share)) for m in answers))


def _clipped_call(call: ToolCall, most: int) -> ToolCall:
    """A call whose arguments are still one JSON object: providers refuse anything else."""
    if text_tokens(call.arguments) <= most:
        return call
    return replace(call, arguments=json.dumps({"clipped": len(call.arguments)}))


def _summary(messages: Sequence[Message], dropped: Sequence[Message], most: int) -> ReminderMessage:
    new = summarise(dropped)
    old = summary_of(messages)
    free = most - estimate(ReminderMessage(NAME, ""))
    whole = with_task(merge(old, new) if old else new, messages)
    text = render(whole, free * 4)
    return ReminderMessage(NAME, text)


def _units(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(start, end) of each unit: an answer with the results of its calls, any other message alone."""
    units: list[tuple[int, int]] = []
    index = 0
    while index < len(messages):
        end = index + 1
        head = messages[index]
        if isinstance(head, AssistantMessage):
            waiting = {call.id for call in head.calls}
            while end < len(messages) and waiting and _waits(messages[end], waiting):
                end += 1
        units.append((index, end))
        index = end
    return units


def _waits(message: Message, waiting: set[CallId]) -> bool:
    """Whether the message belongs to an answer whose calls have no results yet."""
    if isinstance(message, ToolMessage) and message.call_id in waiting:
        waiting.discard(message.call_id)
        return True
    return False


def _is_summary(message: Message) -> bool:
    return isinstance(message, ReminderMessage) and message.name == NAME
