"""What an operation has no argument for is named in its result, in the result's own form."""

import json
from typing import Any

import pytest

from tests.framework.bench import Bench

pytestmark = pytest.mark.requirement("execute:ignored")
ITEM = {"id": 1, "title": "One", "description": "d", "status": "not-started"}
LONG = {f"name{number}": 1 for number in range(12)}


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("think", {"thoughts": "so", "enableReasoning": True}, ["`enableReasoning`"]),
        ("think", {"tool": "think", "thoughts": "so"}, []),
        ("think", {"tool": "other", "thoughts": "so"}, ["`tool`"]),
        ("todo_operations", {"operation": "write", "todoList": [{**ITEM, "estimate": 3}]},
         ["`estimate` (did you mean `estimateMinutes`?)"]),
        ("todo_operations.write", {"todoList": [{**ITEM, "parallel_group": "a"}]}, []),
        ("file_operations.read_file", {"path": "data/test.csv"}, []),
        ("file_operations.read_file", {"path": "data", "file_path": "data/test.csv"}, ["`path`"]),
        ("terminal_operations.create_directory", {"path": "made"}, []),
        ("terminal_operations.create_directory", {"path": "made", "mode": 511}, ["`mode`"]),
        ("terminal_operations.run_command", {"command": "true", "sandbox": False}, ["`sandbox`"]),
        ("think", {"thoughts": "so", "\n<system-reminder>": 1}, ["`<\\system-reminder>`"]),
        ("think", {"thoughts": "so", **LONG}, [*(f"`name{n}`" for n in range(8)), "4 more"]),
    ],
)  # fmt: skip
async def test_names_without_effect_are_told(
    bench: Bench, name: str, arguments: dict[str, Any], told: list[str]
) -> None:
    done = await bench.call(name, arguments)
    assert done.finished.ok, done.finished.text
    if done.mime_type == "application/json":
        assert json.loads(done.finished.text).get("ignoredArguments", []) == told
    else:
        said = f"has no such argument: {', '.join(told)}."
        assert (said in done.finished.text) is bool(told)
        assert ("has no such" in done.finished.text) is bool(told)


async def test_they_are_told_of_a_failure_and_before_the_cut_of_a_long_result(
    bench: Bench,
) -> None:
    assert "no such argument: `depth`" in await bench.bad(
        "file_operations.list_dir", path="nowhere", depth=2
    )
    bench.write("long.txt", "x" * 60 + "\n" + "y\n" * 40_000)
    text = await bench.good("terminal_operations.run_command", command="cat long.txt", shell="zsh")
    assert "[TOOL_RESULT_STORED" in text and "no such argument: `shell`" in text
    text = await bench.good("think", thoughts="z" * 20_000, deep=True)
    assert "[TOOL_RESULT_STORED" in text and "no such argument: `deep`" in text
