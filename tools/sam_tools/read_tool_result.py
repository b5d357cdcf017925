"""Reads a stored large result in slices (seed 004, read_tool_result). All counts are code points."""

import re
from collections.abc import Sequence

from pydantic import Field

from sam_tui.core.display import Text
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ids import CallId
from sam_tui.core.ports.storage import ResultStore
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import INLINE_LIMIT, Operation, Tool, ToolContext, ToolResult

LONGEST = 32_768
"""Code points of one slice; a longer ``length`` is cut to it."""
_FRAME = 1024
"""Room for the lines around a slice, so that a slice is never clipped and stored again."""
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,127}")
"""Letters, digits, ``_`` and ``-``, and ``.`` and ``:`` after the first, which some providers use.
No separator and no leading dot, so an id can never be a path to somewhere else."""
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
        return Tool(
            "read_tool_result",
            "Read a part of a result that was too long to show at once, by the toolCallId in its"
            " [TOOL_RESULT_STORED: …] line. Go on at Next Offset while Has More is true.",
            (operation,),
            consolidated=False,
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
    """How many characters to insert, delete or replace (Levenshtein); beyond the limit just more."""
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
