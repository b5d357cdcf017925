"""Files that somebody else wrote, with a value of the wrong kind at every place (0.5 s)."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from sam_tools.build_and_version_control.definitions import read_tasks_file
from sam_tui.adapters.exchange.foreign import read_foreign
from sam_tui.adapters.exchange.forms import read_json
from sam_tui.adapters.fleet.tasks import read_tasks
from sam_tui.adapters.hooks.parser import parse_hooks
from sam_tui.adapters.mcp_client.settings import SettingsReader
from sam_tui.core.errors import SamError
from sam_tui.core.workflow.definitions.model import WorkflowDefinition
from sam_tui.headless.answers import read_answers
from sam_tui.headless.approvals import read_approvals
from sam_tui.headless.replay.scenario import read_scenario

WRONG: list[Any] = json.loads('[[], {}, null, 1, 1e999, "", "\\u0000", [[]], [{}], {"a": []}]')
SERVERS = {
    "mcpServers": {
        "a": {"type": "stdio", "command": "x", "args": ["y"], "env": {"A": "b"}, "timeout": 3},
        "b": {"type": "http", "url": "https://h.test/", "headers": {"A": "b"}, "oauth": {}},
    }
}
HOOKS = {
    "hooks": {"PreToolUse": [{"matcher": "x", "hooks": [{"type": "command", "command": "x"}]}]}
}
WORKFLOW = {
    "name": "x",
    "complexity": "high",
    "tags": ["a"],
    "policy": {"attempts": 2},
    "steps": [
        {"id": "a", "prompt": "p", "output": {"type": "object", "required": ["x"]}},
        {"id": "b", "kind": "tool", "tool": "think.think", "arguments": {"a": 1}, "needs": ["a"]},
    ],
}
CODEX = [
    {"type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
    {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
    {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c", "output": "o"},
    },
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "t", "text": "x"}]},
    },
]
CLAUDE = [
    {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "hi"}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "l"}}],
        },
    },
]
OWN = {"format": "sam-tui conversation", "version": 1, "messages": [{"kind": "user", "text": "x"}]}
TASKS = {
    "tasks": [{"label": "a", "type": "shell", "command": "x", "args": ["b"], "dependsOn": ["b"],
               "options": {"cwd": "x", "env": {"A": "b"}}, "group": {"kind": "build"}}]
}  # fmt: skip
ANSWERS = [{"match": "file_operations.*", "reply": "approve", "scope": "once"}]
APPROVALS = {
    "conversation": "c",
    "entries": [{"reply": "yes", "operation": "o", "summary": "s", "targets": ["t"], "why": "w",
                 "tool": "t", "input": {"a": 1}, "call": "c", "hash": "h"}],
}  # fmt: skip
RECORDING = Path(__file__).parents[1] / "headless/recordings/delete.json"


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a document stand, itself among them."""
    yield at
    inner: dict[Any, Any] = {}
    if isinstance(value, dict):
        inner = cast("dict[Any, Any]", value)
    elif isinstance(value, list):
        inner = dict(enumerate(cast("list[Any]", value)))
    for key, part in inner.items():
        yield from places(part, (*at, key))


def variants(document: Any) -> Iterator[Any]:
    """The document with each wrong value at each of its places."""
    for place in places(document):
        for wrong in WRONG:
            if not place:
                yield wrong
                continue
            changed = copy.deepcopy(document)
            holder = changed
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = wrong
            yield changed


def lines(value: Any) -> str:
    """One JSON text a line, as conversations of other programs are kept."""
    return "\n".join(map(json.dumps, value if value.__class__ is list else [value]))


@pytest.mark.requirement("outside:wrong-kinds")
def test_a_value_of_the_wrong_kind_is_refused_in_words_wherever_it_stands(tmp_path: Path) -> None:
    def filed(read: Callable[[str], object]) -> Callable[[Any], object]:
        def run(value: Any) -> object:
            path = tmp_path / "file.json"
            path.write_text(json.dumps(value))
            return read(str(path))

        return run

    servers = SettingsReader("project", {})
    readers: tuple[tuple[Any, Callable[[Any], object]], ...] = (
        (SERVERS, lambda v: servers.parse(json.dumps(v).encode(), "f")),
        (HOOKS, lambda v: parse_hooks(json.dumps(v), "f", "user")),
        (WORKFLOW, lambda v: WorkflowDefinition.model_validate(v, context={})),
        (CODEX, lambda v: read_foreign(lines(v))),
        (CLAUDE, lambda v: read_foreign(lines(v))),
        (OWN, lambda v: read_json(json.dumps(v))),
        (TASKS, lambda v: read_tasks_file(json.dumps(v).encode(), "f")),
        ({"id": "a", "prompt": "p", "model": "m"}, filed(read_tasks)),
        (ANSWERS, filed(read_answers)),
        (APPROVALS, filed(lambda path: read_approvals(path, required=True))),
        (
            json.loads(RECORDING.read_text()),
            lambda v: read_scenario("f", json.dumps(v).encode()),
        ),
    )
    for document, read in readers:
        for changed in variants(document):
            try:
                read(changed)
            except (SamError, ValidationError):
                pass
            except Exception as error:
                error.add_note(f"It was {json.dumps(changed)[:2000]}")
                raise
