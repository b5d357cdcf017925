"""A server on standard streams whose lists are broken: ``python broken_server.py [NEXT]``, see ``page``."""

import json
import sys
from typing import Any

_DEEP: Any = json.loads('{"items":' * 300 + "{}" + "}" * 300)
BROKEN: dict[str, list[Any]] = {
    "tools/list": [
        {"name": "good", "inputSchema": {"type": "object"}, "outputSchema": {"type": 5}},
        {"name": "hints", "inputSchema": {}, "annotations": {"readOnlyHint": "maybe"}, "icons": 3},
        {"name": "nothing"},
        {"name": "list", "inputSchema": []},
        {"name": "text", "inputSchema": {"type": "string"}},
        {"name": "fields", "inputSchema": {"type": "object", "properties": ["a"]}},
        {"name": "", "inputSchema": {"type": "object"}},
        {"name": 5, "inputSchema": {"type": "object"}},
        {"name": "good", "inputSchema": {"type": "object"}, "description": "Another."},
        {"name": "x" * 300, "inputSchema": {"type": "object"}},
        {"name": "told", "description": ["a"], "inputSchema": {"type": "object"}},
        "a word",
        None,
        {"name": "deep", "inputSchema": {"type": "object", "properties": _DEEP}},
    ],
    "resources/list": [{"uri": "a://b", "name": "b", "size": "big"}, {"uri": 7, "name": "c"}, 1],
    "resources/templates/list": [{"uriTemplate": "a://{b}", "name": "t"}, {"name": "u"}],
    "prompts/list": [{"name": "p"}, {"name": "q", "arguments": [{"name": 1}]}],
}
"""Lists in which some entries do not fit the protocol."""


def page(method: str, cursor: str) -> dict[str, Any]:
    """A page, which names the next one as asked for: ``again``, a ``number``, or (empty) another."""
    key = method.split("/")[-2].replace("templates", "resourceTemplates")
    named = {"again": "again", "number": 5, "": f"{cursor}x"}
    following = {"nextCursor": named[sys.argv[1]]} if len(sys.argv) > 1 else {}
    return {key: BROKEN[method], **following}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a request is answered with."""
    if method in BROKEN:
        return {"result": page(method, params.get("cursor", ""))}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": params["name"]}]}}
    if method != "initialize":
        return {"error": {"code": -32601, "message": "not known"}}
    about = {"name": "broken", "version": "1"}
    offered: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
    return {
        "result": {"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": about}
    }


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answered = answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answered}), flush=True)
