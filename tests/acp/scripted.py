"""What the model of the editor's tests says and calls, by the prompt."""

from pathlib import Path
from typing import Any

from tests.acp.conftest import Message

PERMISSIONS = ("once", "deny", "another question", "bare", "unknown", "error", "garbage", "cancel")


def call(tool: str, operation: str, **arguments: Any) -> Message:
    return {"name": tool, "arguments": {"operation": operation, **arguments}}


def making(path: Path) -> Message:
    return call("file_operations", "create_file", filePath=str(path), content="made\n")


def script(folder: Path) -> list[Message]:
    outside = folder / "outside"
    todos = [
        {"id": 1, "title": "Look", "description": "x", "status": "completed"},
        {
            "id": 2,
            "title": "Build",
            "description": "y",
            "status": "in-progress",
            "priority": "critical",
        },
    ]
    work = [
        making(folder / "ws" / "inside.txt"),
        call("terminal_operations", "run_command", command="echo hi"),
        call("todo_operations", "write", todoList=todos),
    ]
    return [
        {"when": {"user": "work"}, "reasoning": "Hm.", "text": "On it.", "calls": work},
        *(
            {"when": {"user": f"make {name} now"}, "calls": [making(outside / name)]}
            for name in (*PERMISSIONS, "open", "again")
        ),
        {"when": {"user": "make again twice"}, "calls": [making(outside / "again")]},
        {"when": {"user": "plan"}, "calls": [making(folder / "ws" / "planned.txt")]},
        {"when": {"user": "wait"}, "wait_for": {"file": "never"}, "text": "Too late."},
        *({"when": {"contains": text}, "text": text} for text in ("resource", "[notes](")),
        *({"text": "Done."} for _ in range(3)),
    ]
