"""Models with a short context do whole tasks: few tools are told, the others found and called by name."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.events import HistoryShortened, RequestSent, TurnFinished
from tests.fakes.openai_server import Call, FakeServer, Reply

WINDOWS = [4_096, 8_192, 10_000, 16_384]
EDITS = 12
TODO = {"id": 1, "title": "Count up", "status": "in-progress"}


def passed_on(name: str, arguments: dict[str, Any]) -> Call:
    """A call of a tool that may not be declared."""
    return Call("call_tool", {"name": name, "arguments": arguments})


def task() -> list[Reply]:
    """Find, plan, write, edit with much to read between, run, finish."""
    made = [
        Call("find_tools", {"query": "todo_operations.write"}),
        passed_on("todo_operations", {"operation": "write", "todoList": [TODO]}),
        Call("find_tools", {"query": "create a file"}),
        passed_on("create_file", {"filePath": "a.py", "content": "x = 1\n"}),
        Call("find_tools", {"query": "file_operations"}),
    ]
    for n in range(1, EDITS + 1):
        made.append(passed_on("file_operations.read_file", {"filePath": "long.txt"}))
        edit = {"filePath": "a.py", "oldString": f"x = {n}", "newString": f"x = {n + 1}"}
        made.append(passed_on("replace_string", edit))
    done = {"operation": "update", "todoUpdates": [{"id": 1, "status": "completed"}]}
    made += [
        passed_on("run_command", {"command": "cp a.py b.py && cat b.py"}),
        passed_on("todo_operations", done),
    ]
    return [Reply(text=f"Step {i}.", calls=(call,)) for i, call in enumerate(made)]


@pytest.mark.requirement("room:small-windows")
@pytest.mark.parametrize("window", WINDOWS)
async def test_a_whole_task_is_done_within_a_small_window(tmp_path: Path, window: int) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "long.txt").write_text("what a file may hold\n" * 60, encoding="utf-8")
    async with FakeServer([*task(), Reply(text="All done.")]) as server:
        options = Options(
            str(workspace), str(tmp_path / "data"), "openai/x", server.base, "k",
            context_tokens=window,
        )  # fmt: skip
        runtime = build(options, {"HOME": str(tmp_path), "SAM_TUI_COMPACTION": "rules"})
        heard = runtime.bus.subscribe()
        session = runtime.open_session()
        finished = await session.run("Count up in a.py, copy it to b.py, and keep a list.")
        todos = runtime.todos.items(session.conversation)
        await runtime.close()
    assert (finished.reason, finished.answer) == ("finished", "All done.")
    for name in ("a.py", "b.py"):
        assert (workspace / name).read_text(encoding="utf-8") == f"x = {EDITS + 1}\n"
    assert [todo.status for todo in todos] == ["completed"]
    bodies = [request.body for request in server.requests]
    # A quarter is kept for the answer; what a token holds is an estimate.
    assert max(map(len, bodies)) / 4 <= window * 3 / 4
    step, shortened = 0, set[int]()
    for event in heard.drain():
        step = event.step if isinstance(event, RequestSent) else step
        if isinstance(event, HistoryShortened):
            shortened.add(step)
    assert shortened
    for number, (earlier, later) in enumerate(pairwise(bodies), start=2):
        extends = later.startswith(earlier.removesuffix(b"]}"))
        assert extends or number in shortened
    assert len({json.dumps(request.json["tools"]) for request in server.requests}) == 1


@pytest.mark.requirement("room:small-windows")
async def test_as_many_tools_are_told_whole_as_there_is_space_for(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    told: dict[int, list[str]] = {}
    sizes: dict[int, int] = {}
    names: list[str] = []
    for window in WINDOWS:
        async with FakeServer([Reply(text="Hello.")]) as server:
            options = Options(
                str(tmp_path / "ws"), str(tmp_path / "data"), "openai/x", server.base, "k",
                context_tokens=window,
            )  # fmt: skip
            runtime = build(options, {"HOME": str(tmp_path)})
            await runtime.open_session().run("hello")
            names = runtime.registry.names
            await runtime.close()
        tools = server.requests[0].json["tools"]
        told[window], sizes[window] = [t["function"]["name"] for t in tools], len(json.dumps(tools))
    assert told[4_096][:2] == told[8_192][:2] == told[10_000][:2] == ["find_tools", "call_tool"]
    assert {"file_operations", "terminal_operations"} <= set(told[8_192])
    assert "todo_operations" in told[10_000]
    assert sizes[4_096] < sizes[8_192] < sizes[10_000] < sizes[16_384]
    assert told[16_384] == names
    for window in WINDOWS[:3]:
        assert told[window][2:] == [name for name in names if name in told[window]]


@pytest.mark.requirement("room:refusal")
async def test_a_window_that_holds_nothing_is_refused_with_true_sizes(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    place = str(tmp_path / "ws"), str(tmp_path / "data"), "openai/x"

    async def said(server: FakeServer, window: int) -> TurnFinished:
        options = Options(*place, server.base, "k", context_tokens=window)
        runtime = build(options, {"HOME": str(tmp_path)})
        finished = await runtime.open_session().run("hello")
        await runtime.close()
        return finished

    async with FakeServer([Reply(text="Hello.")]) as server:
        refused = await said(server, 1_024)
        assert refused.reason == "failed"
        assert "1,024 tokens" in refused.error
        enough = int(refused.error.partition("that takes about ")[2].split()[0].replace(",", ""))
        assert (await said(server, enough)).answer == "Hello."
