"""Keeps a result inside its budget; the whole of it is stored and read in slices.

Markers are those of seed 004 (read_tool_result). One unit throughout: code points.
"""

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.storage import ResultStore


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
