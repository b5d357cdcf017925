"""Additions to a result: arguments without effect, and the way to the rest of a long result.

Markers are those of seed 004 (read_tool_result). One unit throughout: code points.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace

from sam_tui.core.events import ToolFinished
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.storage import CallDisplay, ResultStore
from sam_tui.core.text.nesting import json_object
from sam_tui.core.tooling.contract import ToolResult
from sam_tui.core.verdict import Decision, decision_words

IGNORED = "ignoredArguments"
"""The key for ignored arguments, in a result that is a JSON object and in the data for programs."""


def with_ignored(result: ToolResult, words: Collection[str], *, key: str, limit: int) -> ToolResult:
    """The result with a note on arguments of ``key`` that had no effect.

    In a text of more than ``limit`` characters this comes first, so that every preview shows it.
    """
    if not words:
        return result
    data = {**result.data, IGNORED: list(words)}
    if result.mime_type == "application/json":
        return replace(result, text=_in_json(result.text, words), data=data)
    note = f"Ignored, because {key} has no such argument: {', '.join(words)}."
    parts = (note, result.text) if len(result.text) > limit else (result.text, note)
    return replace(result, text="\n\n".join(filter(None, parts)), data=data)


def _in_json(text: str, words: Collection[str]) -> str:
    """Return a JSON object with the names as its first member; any other text unchanged."""
    value = json_object(text)
    if value is None:
        return text
    extended = {IGNORED: list(words), **value}
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
    """The display of a finished call."""
    words = decision_words(decision) if decision is not None else ""
    allowed = decision is None or decision.allowed
    return CallDisplay(finished.call, finished.seconds, finished.display, words, allowed)


def remarks(decisions: Iterable[Decision | None]) -> list[str]:
    """Return the person's comments on allowed calls, for the model.

    It is separate from the results: inside one, a tool's own text could imitate it.
    """
    sentences = (
        f"The person allowed {decision.operation} and said: {decision.comment}"
        for decision in decisions
        if decision is not None and decision.by == "user" and decision.allowed and decision.comment
    )
    return list(dict.fromkeys(sentences))  # a list of calls is allowed with one comment
