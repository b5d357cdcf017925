"""read_tool_result and recall_history (seed 004): results by their call's id, and archived messages of
conversations."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from sam_tui.core.display import Text
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.memory import Archive, ArchivedChunk, MemoryStore
from sam_tui.core.ports.storage import ResultStore
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import (
    INLINE_LIMIT,
    Operation,
    Tool,
    ToolContext,
    ToolResult,
    single,
)

LONGEST = 32_768
"""The most code points of a slice; a greater ``length`` is reduced to it."""
_FRAME = 1024
"""Characters for the lines around a slice, so that a slice is never clipped and stored again."""
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,127}")
"""Letters, digits, ``_`` and ``-``, and after the first also ``.`` and ``:``, which some providers use.
Without separators and a leading dot, an id cannot be a path to another folder."""
_NEAR = 3


class Slice(Arguments):
    """The arguments of ``read_tool_result``."""

    toolCallId: str
    offset: int = Field(default=0, ge=0)
    length: int = Field(default=INLINE_LIMIT, gt=0, description=f"at most {LONGEST}")


class ReadToolResult:
    """read_tool_result: results of this conversation only."""

    def __init__(self, results: ResultStore) -> None:
        self._results = results

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "read_tool_result",
            "read on in a stored result",
            Slice,
            self._read,
            lambda a: f"Reading result: {a.toolCallId[:60]} from {a.offset}",
            inline_limit=LONGEST + _FRAME,
        )
        return single(
            operation,
            "Read a part of a result that was too long to show at once, by the toolCallId in its"
            " [TOOL_RESULT_STORED: …] line. Go on at Next Offset while Has More is true.",
        )

    async def _read(self, arguments: Slice, context: ToolContext) -> ToolResult:
        call = CallId(arguments.toolCallId.strip())
        if not _ID.fullmatch(call):
            raise InvalidArguments(
                "toolCallId is not the id of a result.",
                hint="Copy it from the [TOOL_RESULT_STORED: toolCallId=…] line.",
            )
        text = self._results.load(context.conversation, call)
        if text is None:
            raise ToolError(
                f"No result is stored under {call} in this conversation: the id is wrong, the result"
                " was short enough to be shown whole, or it belongs to another conversation.",
                hint=_stored_hint(call, self._results.calls(context.conversation)),
            )
        if arguments.offset > len(text):
            raise InvalidArguments(
                f"offset {arguments.offset} is beyond the end: the result has {len(text)} characters."
            )
        return _chunk(call, text, arguments.offset, min(arguments.length, LONGEST))


def _chunk(call: CallId, text: str, offset: int, length: int) -> ToolResult:
    part = text[offset : offset + length]
    end = offset + len(part)
    more = end < len(text)
    lines = [
        "[TOOL_RESULT_CHUNK]",
        f"Tool Call ID: {call}",
        f"Offset: {offset}",
        f"Length: {len(part)}",
        f"Total Length: {len(text)}",
        f"Has More: {'true' if more else 'false'}",
    ]
    if more:
        lines.append(f"Next Offset: {end}")
    lines += ["", "--- Content ---", part, "--- End Content ---", ""]
    if more:
        lines.append(
            f'Read on with read_tool_result(toolCallId="{call}", offset={end}, length={length}).'
        )
    elif not part:
        lines.append("The result is empty." if not text else "This is the end: nothing follows.")
    else:
        lines.append("This is the end of the result.")
    data = {
        "toolCallId": call,
        "offset": offset,
        "length": len(part),
        "totalLength": len(text),
        "hasMore": more,
    }
    return ToolResult("\n".join(lines), display=(Text(part),), data=data)


def _stored_hint(call: str, stored: Sequence[str]) -> str:
    near = sorted(
        (distance, other) for other in stored if (distance := _distance(call, other)) <= _NEAR
    )
    if near:
        return f"Did you mean {', '.join(other for _, other in near[:_NEAR])}?"
    return "" if stored else "Nothing is stored in this conversation yet."


def _distance(call: str, other: str) -> int:
    """The Levenshtein distance of two ids; of one above ``_NEAR`` the size is not exact."""
    if abs(len(call) - len(other)) > _NEAR:
        return _NEAR + 1
    row = list(range(len(other) + 1))
    for i, a in enumerate(call, start=1):
        above, row = row, [i]
        for j, b in enumerate(other, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
        if min(row) > _NEAR:
            return _NEAR + 1
    return row[-1]


_MESSAGES, _EXCERPT, _TOPICS = 5, 500, 15
_Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]


class Recall(Arguments):
    """The arguments of ``recall_history``."""

    query: _Query
    topic_id: str = Field(default="", description="all conversations of this shared topic")
    time_hint: str = Field(default="", description="recent or early; else the best match first")
    limit: int = Field(default=3, ge=1, le=10)


class RecallHistory:
    """recall_history: reads the archive of this conversation, or of its topic."""

    def __init__(self, archive: Archive, memories: MemoryStore) -> None:
        self._archive = archive
        self._memories = memories

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "recall_history",
            "find earlier parts of the conversation",
            Recall,
            self._recall,
            lambda a: f"Recalling: {one_line(a.query)[:60]}",
        )
        return single(
            operation,
            "Find what was said earlier and is no longer in your context, in the words it was said.",
        )

    async def _recall(self, arguments: Recall, context: ToolContext) -> ToolResult:
        where = self._conversations(arguments.topic_id.strip(), context.conversation)
        topics = self._archive.topics(where, _TOPICS)
        archived = any(self._archive.last_number(conversation) for conversation in where)
        if not archived:
            return ToolResult(
                "Nothing is archived yet: everything that was said is still in your context.",
                data={"chunks": 0, "archived": False},
            )
        # One more than asked for shows whether there are others.
        chunks = self._archive.search(
            where,
            arguments.query,
            hint=_position_hint(arguments.time_hint),
            limit=arguments.limit + 1,
        )
        if not chunks:
            listed = f" The archive is about: {', '.join(topics)}." if topics else ""
            return ToolResult(
                f"Nothing in the archive matches “{one_line(arguments.query)[:80]}”.{listed}",
                data={"chunks": 0, "archived": True},
            )
        page = chunks[: arguments.limit]
        text = _report(
            arguments.query,
            page,
            topics,
            more=len(chunks) > len(page),
            current=context.conversation,
        )
        data = {"chunks": len(page), "archived": True, "numbers": [c.number for c in page]}
        return ToolResult(text, data=data, mime_type="text/markdown")

    def _conversations(self, topic: str, current: ConversationId) -> Sequence[ConversationId]:
        """The conversations to search. Raises ``ToolError`` for a topic that this one does not share."""
        if not topic:
            return [current]
        name = topic.removeprefix("topic:")
        if self._memories.scope_of(current) != f"topic:{name}":
            raise ToolError(
                f"This conversation does not share the topic {topic!r}.",
                hint="Leave topic_id out to search this conversation.",
            )
        return self._memories.conversations(name)


def _position_hint(text: str) -> Literal["recent", "early", ""]:
    match text.strip().lower():
        case "recent":
            return "recent"
        case "early":
            return "early"
        case _:
            return ""


def _report(
    query: str,
    chunks: Sequence[ArchivedChunk],
    topics: Sequence[str],
    *,
    more: bool,
    current: ConversationId,
) -> str:
    lines = [f"# Archived conversation: {len(chunks)} found"]
    for chunk in chunks:
        foreign = chunk.conversation != current
        whose = f" of conversation {chunk.conversation}, not yours" if foreign else ""
        lines += ["", f"## Part {chunk.number}{whose}, {_span(chunk)}"]
        lines.append(f"Summary: {_set_off(chunk.summary, foreign)}")
        if chunk.topics:
            lines.append(f"Topics: {', '.join(chunk.topics)}")
        for role, text in _telling(query, chunk.messages):
            lines += ["", f"**{role}**: {_set_off(text, foreign)}"]
        if len(chunk.messages) > _MESSAGES:
            lines += ["", f"({len(chunk.messages)} messages in all)"]
    if more:
        lines += ["", "## More parts match", "A larger limit or other words show them."]
    if topics:
        lines += ["", f"The archive is about: {', '.join(topics)}."]
    return "\n".join(lines)


def _set_off(text: str, foreign: bool) -> str:
    """A text; a ``foreign`` one has a mark on every line, so that it does not pass for the report."""
    return text.replace("\n", "\n> ") if foreign else text


def _telling(query: str, messages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Role and excerpt of at most five messages, in their order: first choice are those with most
    words of the query, then the earliest."""
    words = [word for word in query.casefold().split() if len(word) > 2] or [query.casefold()]

    def matches(index: int) -> int:
        text = messages[index][1].casefold()
        return sum(word in text for word in words)

    order = sorted(range(len(messages)), key=lambda index: (-matches(index), index))
    return [
        (messages[index][0], _excerpt(messages[index][1], words))
        for index in sorted(order[:_MESSAGES])
    ]


def _excerpt(text: str, words: Sequence[str]) -> str:
    """At most 500 characters: the beginning, or from shortly before the first word asked for."""
    if len(text) <= _EXCERPT:
        return text
    folded = text.casefold()
    offsets = [offset for offset in (folded.find(word) for word in words) if offset >= 0]
    first = min(offsets, default=0)
    start = 0 if first < _EXCERPT * 3 // 4 else min(first - 100, len(text) - _EXCERPT)
    part = text[start : start + _EXCERPT]
    return f"{'…' if start else ''}{part}{'…' if start + _EXCERPT < len(text) else ''}"


def _span(chunk: ArchivedChunk) -> str:
    first, last = (
        datetime.fromtimestamp(at).astimezone() for at in (chunk.first_at, chunk.last_at)
    )
    return f"{first:%Y-%m-%d %H:%M}–{last:%H:%M}"
