"""Live progress: whatever waits for something slow says so while it waits, not after."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sam_tui.adapters.search import RipgrepSearch
from sam_tui.core.accesses import Location
from sam_tui.core.events import ToolProgressed
from sam_tui.core.ports.files import GrepRequest
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.contract import operation_key
from sam_tui.core.tooling.executor import Executed
from tests.fakes.web_server import Answer, WebServer
from tests.framework.bench import Bench
from tests.framework.conftest import Opened
from tests.framework.pace import QUICK, SLOW
from tests.framework.routes import furnish

pytestmark = pytest.mark.requirement("framework:progress")

DEADLINE = 90.0


def test_every_operation_is_slow_or_has_a_reason_not_to_be(full: Runtime) -> None:
    keys = {operation_key(t, o) for t in full.registry.tools for o in t.operations}
    assert SLOW | QUICK.keys() == keys
    assert not SLOW & QUICK.keys()
    assert all(QUICK.values())


async def told_while(bench: Bench, call: Awaitable[Executed], release: Callable[[], None]) -> str:
    """What is told before what it waits for is released; the call must then succeed."""
    bench.events.drain()
    running = asyncio.ensure_future(call)
    said = ""
    async with asyncio.timeout(DEADLINE):
        while not said:
            batch = asyncio.ensure_future(bench.events.batch())
            await asyncio.wait({batch, running}, return_when=asyncio.FIRST_COMPLETED)
            assert not running.done(), running.result().finished.text
            said = "".join(e.text for e in batch.result() if isinstance(e, ToolProgressed))
        assert not running.done()
        release()
        done = await running
    assert done.finished.ok, done.finished.text
    return said


def gate(folder: Path) -> Callable[[], None]:
    """A pipe in a folder that readers wait for; calling the gate lets them go on."""
    os.mkfifo(folder / "gate")

    def open_it() -> None:
        # Without waiting for a reader that may not have come yet: it keeps both ends.
        held = os.open(folder / "gate", os.O_RDWR | os.O_NONBLOCK)
        os.write(held, b"go\n")
        os.set_blocking(held, True)
        kept.append(held)

    kept: list[int] = []
    return open_it


WAITS = "echo started; read line < gate; echo ended"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run_command", {"command": WAITS}),
        ("create_and_run_task", {"task": {"label": "slow", "type": "shell", "command": WAITS}}),
        ("run_task", {"label": "stored"}),
    ],
)
async def test_what_a_program_prints_is_told_while_it_runs(
    bench: Bench, name: str, arguments: dict[str, object]
) -> None:
    tasks = {"tasks": [{"label": "stored", "type": "shell", "command": WAITS}]}
    bench.write(".vscode/tasks.json", json.dumps(tasks))
    said = await told_while(bench, bench.call(name, arguments), gate(bench.folder))
    assert "started" in said and "ended" not in said


async def test_waiting_for_a_command_in_the_background_tells_what_comes(bench: Bench) -> None:
    open_gate = gate(bench.folder)
    made = await bench.data("run_command", command=WAITS, isBackground=True)
    call = bench.call("get_terminal_output", id=made["terminalId"], wait=DEADLINE)
    assert "Waiting" in await told_while(bench, call, open_gate)


async def test_what_a_hook_prints_is_told_while_a_commit_waits_for_it(bench: Bench) -> None:
    bench.repository()
    open_gate = gate(bench.folder)
    hook = bench.folder / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\n{WAITS}\n")
    hook.chmod(0o755)
    bench.write("new.txt", "new\n")
    call = bench.call("git_commit", message="Add a file", files=["new.txt"])
    assert "Committing" in await told_while(bench, call, open_gate)


@pytest.mark.parametrize(
    ("name", "path", "arguments"),
    [
        ("web_operations.fetch", "/page", {}),
        ("web_operations.scrape", "/page", {"selectors": {"t": "h1"}}),
        ("web_operations.web_search", "/searx/search", {"query": "robot"}),
        ("web_operations.research", "/searx/search", {"query": "robot arm", "depth": "shallow"}),
        ("web_operations.serpapi", "/serp", {"query": "robot"}),
        ("document_operations.document_import", "/page", {}),
        ("image_generation.generate", "/v1/images/generations", {"prompt": "a robot"}),
    ],
)
async def test_who_is_asked_is_told_while_the_answer_is_awaited(
    opened: Opened, online: WebServer, name: str, path: str, arguments: dict[str, object]
) -> None:
    furnish(online)
    held, known = asyncio.Event(), online.routes[path]
    assert isinstance(known, Answer)
    online.routes[path] = Answer(known.body, known.status, known.headers, after=held)
    if "prompt" not in arguments and "query" not in arguments:
        field = "path" if "document" in name else "url"
        arguments = {**arguments, field: online.url(path)}
    bench = opened()
    assert (await told_while(bench, bench.call(name, arguments), held.set)).strip()


async def test_a_search_tells_how_many_it_found_so_far(tmp_path: Path) -> None:
    release = gate(tmp_path)
    match = {"path": {"text": "./a.txt"}, "lines": {"text": "x\n"}, "line_number": 1}
    record = json.dumps({"type": "match", "data": {**match, "submatches": []}})
    summary = json.dumps({"type": "summary", "data": {}})
    slow = tmp_path / "rg"
    slow.write_text(
        f"#!/bin/sh\nprintf '%s\\n' '{record}'\nread line < {tmp_path}/gate\nprintf '%s\\n' '{summary}'\n"
    )
    slow.chmod(0o755)
    (tmp_path / "ws").mkdir()
    where = Location(".", str(tmp_path / "ws"), str(tmp_path / "ws"))
    search, said = RipgrepSearch(binary=str(slow), seconds=DEADLINE), asyncio.Queue[str]()
    running = asyncio.ensure_future(
        search.grep(GrepRequest(where, "x", regex=False), on_count=said.put_nowait)
    )
    async with asyncio.timeout(DEADLINE):
        assert await said.get() == "1 matches so far\n"
        assert not running.done()
        release()
        assert [hit.path for hit in (await running).hits] == ["a.txt"]
