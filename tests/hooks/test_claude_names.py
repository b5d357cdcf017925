"""Hooks that were written for Claude Code read calls by its names. Costs 1.5 s of CPU."""

import json
from typing import Any

import pytest

from tests.hooks.conftest import Place, Ran, one_call, python, says


def told_inputs(place: Place) -> list[tuple[str, dict[str, Any]]]:
    """The names and inputs that a hook was told, in order; none are left for the next look."""
    path = place.workspace / "told"
    lines = path.read_text(encoding="utf-8").split() if path.exists() else []
    path.unlink(missing_ok=True)
    rows = [json.loads(bytes.fromhex(line)) for line in lines]
    return [(row["tool_name"], row["tool_input"]) for row in rows]


LOGS = python("import sys; d = sys.stdin.buffer.read(); open('told', 'a').write(d.hex() + '\\n')")


@pytest.mark.requirement("hooks:claude-names")
async def test_calls_are_told_by_claude_codes_names_and_once_for_each_file(place: Place) -> None:
    place.user(LOGS, matcher="Edit|Write|MultiEdit|Bash|Read")
    runtime, root = place.build(), str(place.workspace)

    async def told(name: str, **arguments: Any) -> list[tuple[str, dict[str, Any]]]:
        ran = await one_call(runtime, name, **arguments)
        assert ran.results[-1].ok, ran.results
        return told_inputs(place)

    files = "file_operations."
    for name in ("a.txt", "b.txt"):
        written = await told(f"{files}create_file", filePath=name, content="one\n")
        assert written == [("Write", {"file_path": f"{root}/{name}", "content": "one\n"})]
    replaced = await told(
        f"{files}replace_string", filePath="a.txt", oldString="one", newString="two"
    )
    edit = {"file_path": f"{root}/a.txt", "old_string": "one", "new_string": "two"}
    assert replaced == [("Edit", edit)]
    both = [
        {"filePath": "a.txt", "oldString": "two", "newString": "three"},
        {"filePath": "b.txt", "oldString": "one", "newString": "four"},
    ]
    texts = {"old_string": "two\none", "new_string": "three\nfour"}
    assert await told(f"{files}multi_replace_string", replacements=both) == [
        ("Edit", {"file_path": f"{root}/{name}", **texts}) for name in ("a.txt", "b.txt")
    ]
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+3\n"
        "*** Update File: b.txt\n@@\n-four\n+4\n*** End Patch\n"
    )
    assert await told(f"{files}apply_patch", patchContent=patch) == [
        ("Edit", {"file_path": f"{root}/{name}", "new_string": patch})
        for name in ("a.txt", "b.txt")
    ]
    assert await told(f"{files}read_file", filePath="a.txt", limit=5) == [
        ("Read", {"file_path": f"{root}/a.txt", "limit": 5})
    ]
    moved = await told(f"{files}rename_file", oldPath="b.txt", newPath="c d.txt")
    assert moved == [("Bash", {"command": f"mv -- {root}/b.txt '{root}/c d.txt'"})]
    ran = await told("terminal_operations.run_command", command="true", explanation="Nothing.")
    assert ran == [("Bash", {"command": "true", "description": "Nothing."})]
    assert await told("terminal_operations.get_terminal_output") == []
    assert await told(f"{files}list_dir", path=".") == []


PROTECTS = python(
    "import json, sys; p = json.load(sys.stdin)['tool_input'].get('file_path', '');"
    "sys.exit(2 if '-lock.' in p else 0)"
)


@pytest.mark.requirement("hooks:claude-names")
async def test_a_published_hook_that_protects_a_file_is_not_passed_by_a_patch(place: Place) -> None:
    place.user(PROTECTS, matcher="Edit|MultiEdit|Write")
    runtime = place.build()

    async def ran(operation: str, **arguments: Any) -> Ran:
        return await one_call(runtime, f"file_operations.{operation}", **arguments)

    assert (await ran("create_file", filePath="a.txt", content="x\n")).results[-1].ok
    added = "*** Add File: p-lock.json\n+K=1\n*** End Patch\n"
    patch = f"*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n{added}"
    refused = [
        await ran("create_file", filePath="sub/../p-lock.json", content="K=1"),
        await ran("apply_patch", patchContent=patch),
    ]
    for one in refused:
        assert not one.results[-1].ok
        assert [d.by for d in one.decisions] == ["hook"]
    assert (place.workspace / "a.txt").read_text(encoding="utf-8") == "x\n"
    assert not (place.workspace / "p-lock.json").exists()


@pytest.mark.requirement("hooks:claude-names")
async def test_what_such_a_hook_makes_of_an_input_is_read_by_its_names(place: Place) -> None:
    def wants(**updated: Any) -> str:
        specific = {"hookEventName": "PreToolUse", "updatedInput": updated}
        return says(hookSpecificOutput=specific)

    place.user(wants(command="echo changed > made"), matcher="Bash")
    path = str(place.workspace / "other.txt")
    place.user(wants(file_path=path, content="theirs"), matcher="Write")
    place.user(wants(new_string="x"), matcher="Edit")
    runtime = place.build()
    await one_call(
        runtime, "terminal_operations.run_command", command="echo ran > made", timeout=50
    )
    assert (place.workspace / "made").read_text(encoding="utf-8") == "changed\n"
    await one_call(runtime, "create_file", filePath="in.txt", content="ours")
    assert (place.workspace / "other.txt").read_text(encoding="utf-8") == "theirs"
    assert not (place.workspace / "in.txt").exists()
    both = [{"filePath": "made", "oldString": "changed", "newString": "again"}]
    refused = await one_call(runtime, "multi_replace_string", replacements=both)
    assert not refused.results[-1].ok and "cannot change the input" in refused.results[-1].text
