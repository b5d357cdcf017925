"""Messages that are nearly right: the same ones each time, made from what a client says."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, -1, 1e308, 2**70, "", "\x00", "\u202e", "x" * 5000, [], {}, [[[[[[]]]]]],
    {"$ref": "#"}, {"__proto__": {}}, "../../etc/passwd", "notifications/cancelled", "server/discover",
)  # fmt: skip


def _messages(marker: Path) -> list[dict[str, Any]]:
    write = {"operation": "create_file", "filePath": str(marker), "content": "x"}
    run = {"operation": "execute_command", "command": f"touch {marker}"}
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "progressToken": 1,
    }
    extensions: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    tasks = meta | {"io.modelcontextprotocol/clientCapabilities": extensions}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": "file_operations", "arguments": write}),
        ("tools/call", {"name": "terminal_operations", "arguments": run, "_meta": meta}),
        (
            "tools/call",
            {"name": "think", "arguments": {}, "requestState": "a", "inputResponses": {}},
        ),
        ("tasks/get", {"taskId": "a", "_meta": tasks}),
        ("tasks/update", {"taskId": "a", "inputResponses": {"b": {"action": "accept"}}}),
        ("tools/list", {"cursor": "abc"}),
        ("resources/read", {"uri": "sam://todos"}),
        ("resources/subscribe", {"uri": "sam://results/x"}),
        ("prompts/get", {"name": "x", "arguments": {"task": "y"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {}}),
        ("logging/setLevel", {"level": "debug"}),
        ("notifications/cancelled", {"requestId": 1}),
        ("notifications/progress", {"progressToken": 1, "progress": 1}),
    ]
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(calls, start=1000)
    ]


def frames(seed: int, count: int, marker: Path) -> Iterator[bytes]:
    """Lines for an MCP server. ``marker`` is what none may write."""
    return spoiled(_messages(marker), seed, count)


def spoiled(messages: list[dict[str, Any]], seed: int, count: int) -> Iterator[bytes]:
    """Lines without an end: some values odd, some bytes wrong."""
    rng = random.Random(seed)
    for _ in range(count):
        message = json.loads(json.dumps(rng.choice(messages)))
        for _ in range(rng.randint(0, 2)):
            _spoil(rng, message)
        line = bytearray(json.dumps(message).encode())
        for _ in range(rng.choice((0, 0, 1, 8))):
            line[rng.randrange(len(line))] = rng.randrange(256)
        yield bytes(line).replace(b"\n", b" ").replace(b"\r", b" ")


def _spoil(rng: random.Random, message: dict[str, Any]) -> None:
    """One value, somewhere, becomes another or goes."""
    place: Any = message
    while True:
        key = rng.choice(list(place))
        if not (isinstance(place[key], dict) and place[key] and rng.random() < 0.8):
            break
        place = place[key]
    if rng.random() < 0.2 and place is not message:
        del place[key]
    else:
        place[key] = rng.choice(ODD)
