"""What a result says besides: which arguments had no effect, and where the rest of a long one is.

Markers are those of seed 004 (read_tool_result). One unit throughout: code points.
"""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import cast

from sam_tui.core.events import ToolFinished
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.storage import CallDisplay, ResultStore
from sam_tui.core.tooling.contract import ToolResult
from sam_tui.core.verdict import Decision, decision_words

IGNORED = "ignoredArguments"
"""Of a result that is a JSON object, and of the data for programs."""
REMARK = "commentOfThePerson"
"""Of a result that is a JSON object."""


def with_ignored(result: ToolResult, words: Collection[str], *, key: str, limit: int) -> ToolResult:
    """The result of ``key``, which says what of its arguments had no effect.

    In a text of more than ``limit`` characters that stands first, where no preview leaves it out.
    """
    if not words:
        return result
    data = {**result.data, IGNORED: list(words)}
    if result.mime_type == "application/json":
        return replace(result, text=_in_json(result.text, IGNORED, list(words)), data=data)
    note = f"Ignored, because {key} has no such argument: {', '.join(words)}."
    parts = (note, result.text) if len(result.text) > limit else (result.text, note)
    return replace(result, text="\n\n".join(filter(None, parts)), data=data)


def remarked(result: ToolResult, decision: Decision) -> ToolResult:
    """The result, before it what the person said when they allowed the call."""
    if decision.by != "user" or not decision.comment:
        return result
    if result.mime_type == "application/json":
        return replace(result, text=_in_json(result.text, REMARK, decision.comment))
    remark = f"The person allowed this and said: {decision.comment}"
    return replace(result, text="\n\n".join(filter(None, (remark, result.text))))


def _in_json(text: str, name: str, member: object) -> str:
    """A JSON object with one more member before the others; any other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict):
        return text
    extended = {name: member, **cast("dict[str, object]", value)}
    return json.dumps(extended, ensure_ascii=False, indent=2 if text[1:2] == "\n" else None)


def clip_result(
    results: ResultStore, conversation: ConversationId, call: CallId, text: str, limit: int
) -> str:
    """``text`` where it fits, else its first ``limit`` code points between markers, whole stored."""
    if len(text) <= limit:
        return text
    results.save(conversation, call, text)
    remaining = len(text) - limit
    return (
        f"[TOOL_RESULT_PREVIEW: first {limit} of {len(text)} characters]\n"
        f"{text[:limit]}\n"
        f"[TOOL_RESULT_STORED: toolCallId={call}, totalLength={len(text)}, remaining={remaining}]\n"
        f'Read on with read_tool_result(toolCallId="{call}", offset={limit}).'
    )


def call_display(finished: ToolFinished, decision: Decision | None) -> CallDisplay:
    """What people were shown of a call that ended."""
    words = decision_words(decision) if decision is not None else ""
    allowed = decision is None or decision.allowed
    return CallDisplay(finished.call, finished.seconds, finished.display, words, allowed)
