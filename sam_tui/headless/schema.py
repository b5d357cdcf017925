"""JSON Schema of the lines of ``stream-json``, made of a table of their fields."""

from collections.abc import Mapping

Schema = dict[str, object]
Fields = Mapping[str, object]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer"}
YES: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
NAMED: Schema = {"type": ["string", "null"]}


def _words(*values: str) -> Schema:
    return {"enum": list(values)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _table(fields: Fields, *optional: str) -> Schema:
    """Return an object of these fields. More may be added: readers must ignore unknown fields."""
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": dict(fields), "required": required}


def _block(kind: str, fields: Fields) -> Schema:
    return _table({"type": {"const": kind}, **fields})


_THINKING = _block("thinking", {"thinking": TEXT})
_SAYS = _block("text", {"text": TEXT})
_USES = _block("tool_use", {"id": TEXT, "name": TEXT, "input": OBJECT})
_RESULT = _block("tool_result", {"tool_use_id": TEXT, "content": TEXT, "is_error": YES})
_USAGE = _table(
    dict.fromkeys(
        (
            "input", "cache_read", "cache_write", "output", "input_tokens", "cache_read_input_tokens",
            "cache_creation_input_tokens", "output_tokens",
        ),
        COUNT,
    )
)  # fmt: skip
_TODO = _table({
    "id": COUNT, "title": TEXT, "description": TEXT, "status": TEXT, "priority": TEXT,
    "dependencies": _list(COUNT), "can_run_parallel": YES, "parallel_group": TEXT,
    "progress": {"type": ["number", "null"]}, "blocked_reason": TEXT, "created_at": {"type": "number"},
    "updated_at": {"type": "number"}, "subtasks": _list(_table({"title": TEXT, "status": TEXT})),
    "estimate_minutes": {"type": ["number", "null"]}, "evidence": _list(TEXT),
})  # fmt: skip
_DENIAL = _table({
    "tool_name": TEXT, "tool_use_id": TEXT, "parent_tool_use_id": NAMED, "tool_input": OBJECT,
    "operation": TEXT, "rule": TEXT, "reason": TEXT,
})  # fmt: skip
_HOOK = {"tool_use_id": TEXT, "hook_event": TEXT, "hook_name": TEXT, "hook_id": TEXT}
_FROM_SUBAGENT = {"parent_tool_use_id": NAMED}

SYSTEM: Mapping[str, Fields] = {
    "init": {
        "model": TEXT, "tools": _list(TEXT),
        "mcp_servers": _list(_table({"name": TEXT, "status": TEXT})), "cwd": TEXT,
        "permission_mode": _words("ask", "ask-all", "accept-edits", "plan", "auto", "bypass"),
        "sandbox": TEXT,
        "version": TEXT,
    },
    "hook_started": _HOOK,
    "hook_response": {
        **_HOOK, "outcome": _words("agreed", "allow", "ask", "deny", "failed"), "reason": TEXT,
        "duration_ms": COUNT,
    },
    "tool_progress": {"tool_use_id": TEXT, "text": TEXT},
    "permission_decision": {
        "tool": TEXT, "tool_use_id": TEXT,
        "decision": _words("allow", "deny", "expired", "cancelled", "amended"),
        "rule": TEXT, "source": _words("user", "rule", "mode", "hook"), "reason": TEXT, "scope": TEXT,
        "comment": TEXT,
    },
    "question": {
        "prompt": TEXT, "outcome": _words("answered", "unattended", "withdrawn", "expired"),
    },
    "api_retry": {
        "attempt": COUNT, "max_retries": COUNT, "retry_delay_ms": COUNT,
        "error_status": {"type": ["integer", "null"]}, "error": TEXT,
    },
    "subagent": {"tool_use_id": TEXT, "conversation": TEXT, "task": TEXT},
    "compaction": {"before": COUNT, "after": COUNT, "dropped": COUNT},
    "todo": {"items": _list(_TODO)},
    "reminder": {"kind": TEXT, "tokens": COUNT, "hash": TEXT},
    "workflow": {"execution_id": TEXT, "change": TEXT, "step": NAMED, "seq": COUNT},
    "notice": {"level": _words("info", "warning", "error"), "text": TEXT},
}  # fmt: skip
"""The fields of ``system`` lines by their subtype, in addition to those of every line."""
_OTHERS: Mapping[str, Schema] = {
    "assistant": _table({
        "type": {"const": "assistant"},
        "message": _table({
            "role": {"const": "assistant"}, "content": _list({"anyOf": [_THINKING, _SAYS, _USES]}),
            "model": TEXT, "stop_reason": _words("tool_use", "end_turn"), "usage": _USAGE,
        }),
        "session_id": TEXT, "parent_tool_use_id": NAMED,
    }),
    "user": _table(
        {
            "type": {"const": "user"},
            "message": _table({
                "role": {"const": "user"}, "content": _list({"anyOf": [_SAYS, _RESULT]}),
            }),
            "session_id": TEXT, "parent_tool_use_id": NAMED, "isReplay": YES,
            "tool_use_result": _table({"operation": TEXT, "summary": TEXT, "duration_ms": COUNT}),
        },
        "isReplay", "tool_use_result",
    ),
    "stream_event": _table({
        "type": {"const": "stream_event"}, "session_id": TEXT, "parent_tool_use_id": NAMED,
        "event": _table({"type": _words(
            "message_start", "content_block_start", "content_block_delta", "content_block_stop",
            "message_delta", "message_stop",
        )}),
    }),
    "control_request": _table({
        "type": {"const": "control_request"}, "request_id": TEXT,
        "request": _table({
            "subtype": {"const": "can_use_tool"}, "tool_name": TEXT, "input": OBJECT,
            "tool_use_id": TEXT, "decision_reason": TEXT,
        }),
    }),
    "control_response": _table({
        "type": {"const": "control_response"},
        "response": _table(
            {"subtype": _words("success", "error"), "request_id": {}, "response": OBJECT, "error": TEXT},
            "response", "error",
        ),
    }),
}  # fmt: skip


def _result() -> Schema:
    from sam_tui.headless.outcome import EXIT_CODES

    return _table(
        {
            "type": {"const": "result"}, "subtype": _words(*EXIT_CODES), "is_error": YES, "result": TEXT,
            "answer_end": {"enum": ["complete", "continued", "length", "empty", None]},
            "error": {"anyOf": [_table({"title": TEXT, "message": TEXT}), {"type": "null"}]},
            "session_id": TEXT, "num_turns": COUNT, "duration_ms": COUNT, "duration_api_ms": COUNT,
            "usage": _USAGE, "total_cost_usd": {"type": ["number", "null"]},
            "unpriced_answers": COUNT,
            "permission_denials": _list(_DENIAL), "todos": _list(_TODO), "files_changed": _list(TEXT),
            "terminals_ended": _list(TEXT), "exit_code": {"enum": sorted({*EXIT_CODES.values()})},
            "structured_output": {},
        },
        "structured_output",
    )  # fmt: skip


def event_schemas() -> dict[str, Schema]:
    """The schema of every line by its name, such as ``result`` or ``system/init``."""
    common = {"session_id": TEXT, **_FROM_SUBAGENT}
    systems = {
        f"system/{name}": _table(
            {"type": {"const": "system"}, "subtype": {"const": name}, **common, **fields},
            *_FROM_SUBAGENT,
        )
        for name, fields in SYSTEM.items()
    }
    return {**systems, **_OTHERS, "result": _result()}


def line_schema() -> Schema:
    """One schema for any line, with all of them under ``$defs``."""
    schemas = event_schemas()
    return {
        "$schema": DIALECT,
        "title": "A line of sam-tui run --output-format stream-json",
        "anyOf": [{"$ref": f"#/$defs/{name.replace('/', '~1')}"} for name in schemas],
        "$defs": schemas,
    }
