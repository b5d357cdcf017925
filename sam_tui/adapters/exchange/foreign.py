"""Session files of Claude Code and of Codex: one JSON object a line.

Claude Code links its lines by ``uuid`` and ``parentUuid``: an edited prompt begins a branch, and the
last line says which one counts. Codex wraps the input and output of the model's interface as
``response_item``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sam_tui.core.ids import CallId
from sam_tui.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from sam_tui.core.ports.storage import ConversationDocument, DatedMessage
from sam_tui.core.text.nesting import json_object

Line = Mapping[str, Any]
_MOST_LINES = 500_000
_HOST_TEXTS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions",
)
"""The beginnings of user messages that Codex itself adds."""
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
"""The kinds of items that are calls in Codex's files, with the field of each that has the arguments."""
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


@dataclass(frozen=True, slots=True)
class _Result:
    text: str
    ok: bool


def read_foreign(text: str) -> ConversationDocument | None:
    """The document of a session file; None where no line is one of a session."""
    lines, skipped = _lines(text)
    if any(
        line.get("type") in ("session_meta", "response_item") or "record_type" in line
        for line in lines
    ):
        entries, workspace, source = _codex(lines), _folder_of_codex(lines), "Codex"
    else:
        entries, source = _claude(lines), "Claude Code"
        workspace = next((_text(line.get("cwd")) for line in lines if line.get("cwd")), "")
    if not entries:
        return None
    return ConversationDocument("", workspace, entries, source=source, skipped=skipped)


def _lines(text: str) -> tuple[list[Line], int]:
    lines: list[Line] = []
    skipped = 0
    raws = text.split("\n", _MOST_LINES)
    if len(raws) > _MOST_LINES:
        skipped = len(raws.pop().rstrip("\n").split("\n"))
    for raw in raws:
        if not raw.strip():
            continue
        value = json_object(raw)
        if value is None:
            skipped += 1
        else:
            lines.append(value)
    return lines, skipped


# ---- Claude Code


def _claude(lines: Sequence[Line]) -> list[DatedMessage]:
    entries: list[DatedMessage] = []
    answer_id = ""
    for line in _branch(lines):
        message = _object(line.get("message"))
        blocks = _blocks(message.get("content"))
        if line.get("type") == "assistant":
            name = _text(message.get("id"))
            entry = DatedMessage(_time(line), _claude_answer(blocks))
            # One answer is written line by line as it streams.
            _add_answer(entries, entry, joins=bool(name) and name == answer_id)
            answer_id = name
        elif line.get("type") == "user" and not line.get("isMeta"):
            words = _joined(blocks, "text")
            if words.strip():
                entries.append(DatedMessage(_time(line), UserMessage(words)))
    return _with_results(entries, dict(_claude_results(lines)))


def _branch(lines: Sequence[Line]) -> list[Line]:
    """The lines that lead to the last one, without side branches and subagents."""
    main = [line for line in lines if not line.get("isSidechain")]
    named = [line for line in main if line.get("uuid")]
    by_id = {_text(line.get("uuid")): line for line in named}
    spoken = [line for line in named if line.get("type") in ("user", "assistant")]
    branch: list[Line] = []
    at = next(reversed(spoken), None)
    while at is not None:
        branch.append(at)
        by_id.pop(_text(at.get("uuid")), None)  # a line is taken once: a circle ends
        at = by_id.get(_parent(at))
    return branch[::-1] or main


def _parent(line: Line) -> str:
    """The line before, also across a compaction."""
    return _text(line.get("parentUuid")) or _text(line.get("logicalParentUuid"))


def _claude_answer(blocks: Sequence[Line]) -> AssistantMessage:
    calls = tuple(
        ToolCall(CallId(_text(b.get("id"))), _text(b.get("name")), _json(b.get("input")))
        for b in blocks
        if b.get("type") == "tool_use"
    )
    spoken = [block for block in blocks if block.get("type") == "text"]
    return AssistantMessage(_joined(spoken, "text"), _joined(blocks, "thinking"), calls)


def _claude_results(lines: Sequence[Line]) -> Iterator[tuple[CallId, _Result]]:
    for line in lines:
        for block in _blocks(_object(line.get("message")).get("content")):
            if block.get("type") == "tool_result":
                parts = _blocks(block.get("content"))
                words = "\n".join(
                    _text(p.get("text")) or f"[{_text(p.get('type'))}]" for p in parts
                )
                yield (
                    CallId(_text(block.get("tool_use_id"))),
                    _Result(words, not block.get("is_error")),
                )


# ---- Codex


def _codex_results(items: Iterable[Line]) -> Iterator[tuple[CallId, _Result]]:
    for item in items:
        if _text(item.get("type")) in _RESULTS:
            output = _codex_output(item.get("output"))
            yield CallId(_text(item.get("call_id"))), _Result(output, ok=True)


def _codex(lines: Sequence[Line]) -> list[DatedMessage]:
    items = [(_time(line), item) for line in lines if (item := _codex_item(line)) is not None]
    results = dict(_codex_results(item for _, item in items))
    entries: list[DatedMessage] = []
    thought, joins = "", False
    for at, item in items:
        if item.get("type") == "reasoning":
            thought = _joined(_blocks(item.get("summary")), "text")
            continue
        message = _codex_message(item, thought)
        if isinstance(message, AssistantMessage):
            _add_answer(entries, DatedMessage(at, message), joins=joins)
            thought, joins = "", True
            continue
        joins = joins and message is None and _text(item.get("type")) not in _RESULTS
        if message is not None:
            entries.append(DatedMessage(at, message))
    return _with_results(entries, results)


def _codex_message(item: Line, thought: str) -> UserMessage | AssistantMessage | None:
    """The message of an item: of the person or of the model; None for other items."""
    kind = _text(item.get("type"))
    if kind in _CALLS:
        arguments = item.get(_CALLS[kind])
        raw = arguments if isinstance(arguments, str) else _json(arguments)
        identifier = CallId(_text(item.get("call_id")) or _text(item.get("id")))
        return AssistantMessage(
            "", thought, (ToolCall(identifier, _text(item.get("name")) or kind, raw),)
        )
    words = _joined(_blocks(item.get("content")), "text")
    if kind == "message" and item.get("role") == "assistant":
        return AssistantMessage(words, thought)
    ours = kind == "message" and item.get("role") == "user"
    return UserMessage(words) if ours and not words.lstrip().startswith(_HOST_TEXTS) else None


def _add_answer(entries: list[DatedMessage], entry: DatedMessage, *, joins: bool) -> None:
    """Add to the last answer; text and calls without a result in between are one answer."""
    before = entries[-1].message if entries else None
    answer = entry.message
    assert isinstance(answer, AssistantMessage)
    if joins and isinstance(before, AssistantMessage):
        texts = "\n".join(part for part in (before.text, answer.text) if part)
        thoughts = "\n".join(part for part in (before.reasoning, answer.reasoning) if part)
        joined = AssistantMessage(texts, thoughts, before.calls + answer.calls)
        entries[-1] = DatedMessage(entry.at, joined)
    else:
        entries.append(entry)


def _codex_item(line: Line) -> Line | None:
    """The item of a line: wrapped, or bare as older versions wrote it."""
    if line.get("type") == "response_item":
        return _object(line.get("payload"))
    return (
        line
        if "payload" not in line and _text(line.get("type")) in {*_CALLS, *_RESULTS, "message"}
        else None
    )


def _codex_output(value: object) -> str:
    """Return the text of a result: plain, in a JSON text with ``output``, or in blocks."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value.startswith('{"output"') else None
        except (ValueError, RecursionError):
            inner = None
        return _text(_object(inner).get("output")) or value
    if content := _object(value):
        return _text(content.get("content")) or _text(content.get("output")) or _json(content)
    return "\n".join(_text(block.get("text")) for block in _blocks(value))


def _folder_of_codex(lines: Sequence[Line]) -> str:
    metas = (_object(line.get("payload")) for line in lines if line.get("type") == "session_meta")
    return next((_text(meta.get("cwd")) for meta in metas if meta.get("cwd")), "")


# ---- both


def _with_results(
    entries: Sequence[DatedMessage], results: Mapping[CallId, _Result]
) -> list[DatedMessage]:
    """The entries with the result of each call right behind its answer."""
    whole: list[DatedMessage] = []
    for entry in entries:
        whole.append(entry)
        calls = entry.message.calls if isinstance(entry.message, AssistantMessage) else ()
        for call in calls:
            result = results.get(call.id)
            if result is not None:
                message: Message = ToolMessage(call.id, call.name, result.text, result.ok)
                whole.append(DatedMessage(entry.at, message))
    return whole


def _blocks(value: object) -> list[Line]:
    """Content as blocks; a text is one."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Line", item) for item in items if isinstance(item, dict)]


def _joined(blocks: Sequence[Line], field: str) -> str:
    """The texts of one field of blocks, each on lines of its own."""
    return "\n".join(text for block in blocks if (text := _text(block.get(field))))


def _object(value: Any) -> Line:
    return cast("Line", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(value: object) -> str:
    return json.dumps(value if value is not None else {}, ensure_ascii=False)


def _time(line: Line) -> float:
    try:
        return datetime.fromisoformat(_text(line.get("timestamp"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0
