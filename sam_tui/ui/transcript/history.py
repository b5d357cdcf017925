"""A stored conversation as blocks."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from sam_tui.core.display import Text
from sam_tui.core.ids import CallId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.ui.transcript import blocks
from sam_tui.ui.transcript.render.safe_text import clean, one_line
from sam_tui.ui.transcript.splitter import LONGEST

if TYPE_CHECKING:
    from sam_tui.core.ports.storage import CallDisplay, StoredNotice

Stored = tuple[blocks.Content, int, int]
"""The content of a block, the gap above it, and how many orders are reserved for its parts."""


def stored_blocks(
    messages: Sequence[Message],
    displays: Mapping[CallId, "CallDisplay"] = MappingProxyType({}),
    notices: "Sequence[StoredNotice]" = (),
) -> Iterator[Stored]:
    """The blocks of a stored conversation; each call has its result and its display from ``displays``.

    A message of the person comes before the reminders that were stored with it, in the order in which
    the live transcript showed them.
    """
    above: blocks.Content | None = None
    reminders: list[blocks.ReminderContent | blocks.Picture] = []
    for content in _contents(messages, displays, notices):
        if isinstance(content, blocks.ReminderContent | blocks.Picture):
            _add(reminders, content)
            continue
        if not isinstance(content, blocks.User):
            for reminder in reminders:
                yield reminder, blocks.gap_between(above, reminder), 0
                above = reminder
            reminders.clear()
        yield content, blocks.gap_between(above, content), _span(content)
        above = content
    for reminder in reminders:
        yield reminder, blocks.gap_between(above, reminder), 0
        above = reminder


def _contents(
    messages: Sequence[Message],
    displays: Mapping[CallId, "CallDisplay"],
    notices: "Sequence[StoredNotice]",
) -> Iterator[blocks.Content]:
    """The contents in the order of the store, each notice behind the messages above it."""
    results = {m.call_id: m for m in messages if isinstance(m, ToolMessage)}
    waiting = deque(notices)
    for number, message in enumerate(messages):
        while waiting and waiting[0].above <= number:
            yield _notice(waiting.popleft())
        yield from _blocks(message, results, displays)
    yield from map(_notice, waiting)


def _notice(notice: "StoredNotice") -> blocks.Notice:
    return blocks.Notice(notice.level, notice.text)


def _add(
    reminders: list[blocks.ReminderContent | blocks.Picture],
    content: blocks.ReminderContent | blocks.Picture,
) -> None:
    """Append content; adjacent reminders become one block."""
    last = reminders[-1] if reminders else None
    if isinstance(last, blocks.ReminderContent) and isinstance(content, blocks.ReminderContent):
        reminders[-1] = last.joined(content)
    else:
        reminders.append(content)


def _blocks(
    message: Message, results: dict[CallId, ToolMessage], displays: Mapping[CallId, "CallDisplay"]
) -> Iterator[blocks.Content]:
    match message:
        case UserMessage(text=text):
            yield blocks.User(text)
        case ReminderMessage(name=name, text=text):
            yield blocks.ReminderContent(name, text)
            yield from map(blocks.Picture, message.images)
        case AssistantMessage():
            if message.reasoning.strip():
                yield blocks.Reasoning(message.reasoning, finished=True)
            if message.text.strip():
                yield blocks.AnswerContent(clean(message.text))
            for call in message.calls:
                yield from _call_blocks(call, results.get(call.id), displays.get(call.id))
        case ToolMessage():
            return


def _call_blocks(
    call: ToolCall, result: ToolMessage | None, extra: "CallDisplay | None"
) -> Iterator[blocks.Content]:
    """The blocks of a call: the decision about it, and its result."""
    if extra is not None and extra.decision:
        yield blocks.Decided(extra.decision, extra.allowed)
    if result is None:
        yield blocks.Card(call.id, call.name, _raw(call), call.arguments, state="unanswered")
        return
    displays = extra.displays if extra is not None else ()
    yield blocks.Card(
        call.id,
        result.operation or call.name,
        result.summary or _raw(call),
        call.arguments,
        state="done" if result.ok else "failed",
        displays=displays or _text_of(result),
        seconds=extra.seconds if extra is not None else None,
    )


def _raw(call: ToolCall) -> str:
    """A call as the model wrote it, for calls without a summary."""
    return f"{call.name} {one_line(call.arguments, 80)}".strip()


def _text_of(result: ToolMessage) -> tuple[Text, ...]:
    return (Text(result.text),) if result.text.strip() else ()


def _span(content: blocks.Content) -> int:
    """The largest number of parts that an answer can have: one per line, or per piece of a long line."""
    if not isinstance(content, blocks.AnswerContent):
        return 0
    return content.source.count("\n") + len(content.source) // LONGEST + 3
