"""A long tool loop against a real endpoint: what was sent stays as sent, byte for byte."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from sam_tui.assembly import Options, build
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.fakes.programs import found


def rounds() -> list[Reply]:
    """Twenty rounds that plan, write, read, search, edit, run and finish."""
    plan = [{"id": n, "title": f"Part {n}", "status": "not-started"} for n in (1, 2)]
    made = [
        Call("todo_operations", {"operation": "write", "todoList": plan}),
        Call(
            "file_operations",
            {"operation": "create_file", "filePath": "a.py", "content": "x = 1\n"},
        ),
        Call("todo_operations.update", {"todoUpdates": [{"id": 1, "status": "in-progress"}]}),
        Call("file_operations", {"operation": "read_file", "filePath": "a.py"}),
        Call("think", {"thoughts": "ünïcode “quotes” \\ and \n lines"}),
    ]
    for n in range(12):
        edit = {"operation": "replace_string", "filePath": "a.py"}
        edit |= {"oldString": f"x = {n + 1}", "newString": f"x = {n + 2}"}
        made.append(Call("file_operations", edit))
    made += [
        Call("grep_search", {"query": "x ="}),
        Call("run_command", {"command": "git add -A && git status --porcelain"}),
        Call("todo_operations.update", {"todoUpdates": [{"id": 1, "status": "completed"}]}),
    ]
    return [Reply(text=f"Round {i}.", calls=(call,)) for i, call in enumerate(made)]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A fresh git repository."""
    subprocess.run([found("git"), "init", "-q", str(tmp_path / "repo")], check=True)
    return tmp_path / "repo"


@pytest.mark.requirement("prompt:prefix", "run:twenty-rounds")
async def test_twenty_tool_rounds_in_a_git_repository_extend_one_byte_prefix(
    workspace: Path, tmp_path: Path
) -> None:
    async with FakeServer([*rounds(), Reply(text="All done.")]) as server:
        options = Options(str(workspace), str(tmp_path / "data"), "openai/x", server.base, "k")
        runtime = build(options, {"HOME": str(tmp_path)})
        finished = await runtime.open_session().run("Do twenty things.")
        await runtime.close()
    assert (finished.reason, finished.answer, finished.steps) == ("finished", "All done.", 21)
    assert (workspace / "a.py").read_text(encoding="utf-8") == "x = 13\n"
    bodies = [request.body for request in server.requests]
    assert len(bodies) == 21
    for earlier, later in pairwise(bodies):
        assert earlier.endswith(b"]}")
        assert later.startswith(earlier.removesuffix(b"]}"))
    said = [
        m for m in server.requests[-1].json["messages"] if "system-reminder" in str(m["content"])
    ]
    # The system prompt names the tag; the context is told once, and each change of the list.
    assert len(said) == 1 + 1 + 3
