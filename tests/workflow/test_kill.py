"""Killed for real: on both sides of every transaction, and in the middle of a step that works."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sam_tui.adapters.workflows import DefinitionFiles, open_workflows
from sam_tui.core.clock import SystemClock
from sam_tui.core.inquiry import Reply
from sam_tui.core.workflow.service import Workflows
from sam_tui.folders import settings_folder
from tests.fakes.preloaded import SCRIPT
from tests.workflow import replanned, test_crash
from tests.workflow.bench import Bench
from tests.workflow.stage import Stage
from tests.workflow.test_crash import ROOT

BOUNDARIES = """
import importlib, os, shutil, signal, sqlite3, sys
from pathlib import Path
from tests.workflow.bench import Bench

flow = importlib.import_module(sys.argv[3])
drive, require_ended, require_whole = flow.drive, flow.require_ended, flow.require_whole
base, mark = Path(sys.argv[1]), sys.argv[2]
connect, left = sqlite3.connect, 0

def dying(*arguments, **options):
    connection = connect(*arguments, **options)
    def count(statement):
        global left
        left -= statement.startswith(mark)
        if statement.startswith(mark) and left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    connection.set_trace_callback(count)
    return connection

kills, at, status = 0, 1, -1
while status != 0:
    folder = base / str(at)
    shutil.copytree(base / "start", folder)
    child = os.fork()
    if child == 0:
        left, sqlite3.connect = at, dying
        try:
            drive(Bench(folder))
        except BaseException:
            os._exit(3)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, status
    kills += status != 0
    bench = Bench(folder)
    require_whole(bench)
    drive(bench)
    require_ended(bench)
    bench.close()
    shutil.rmtree(folder)
    at += 1
print(kills)
"""
AGENTS = """---
name: flow
steps:
  - {id: look, prompt: look around, tools: [read]}
  - {id: act, prompt: act, needs: [look], tools: [run]}
---
Body.
"""


@pytest.mark.requirement("workflow:crash", "plans:crash")
@pytest.mark.parametrize("mark", ["BEGIN", "COMMIT"])
@pytest.mark.parametrize("driven", [test_crash, replanned], ids=["steps", "plans"])
def test_killed_before_and_after_every_transaction_it_goes_on_exactly(
    tmp_path: Path, mark: str, driven: ModuleType
) -> None:
    bench = Bench(tmp_path / "start")
    bench.define(driven.FLOW)
    bench.close()
    done = subprocess.run(
        [*SCRIPT, BOUNDARIES, str(tmp_path), mark, driven.__name__],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


@pytest.mark.requirement("workflow:crash-run")
def test_a_run_that_is_killed_while_its_agent_works_goes_on_in_the_same_attempt(
    tmp_path: Path,
) -> None:
    workspace, data = tmp_path / "ws", tmp_path / "data"
    workspace.mkdir()
    flows = Path(settings_folder()) / "workflows"
    flows.mkdir(parents=True)
    (flows / "flow.md").write_text(AGENTS, "utf-8")
    os.mkfifo(workspace / "door")
    command = {"operation": "run_command", "command": "echo in > door; read line < door"}
    act = {"user": "step act,"}
    script = tmp_path / "script.json"
    plays: list[dict[str, Any]] = [
        {"when": {"user": "step look,"}, "text": "seen"},
        {"when": act, "calls": [{"name": "terminal_operations", "arguments": command}]},
        {"when": {"user": "while step act was"}, "text": "acted after all"},
    ]
    script.write_text(json.dumps(plays), "utf-8")
    words = [
        sys.executable, "-P", "-m", "sam_tui", "workflow", "run", "flow", "--id", "it", "--json",
        "--workspace", str(workspace), "--data-dir", str(data),
        "--model", f"scripted:{script}", "--permission-mode", "bypass",
    ]  # fmt: skip
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with (workspace / "door").open(encoding="utf-8") as door:  # opens once the command runs
            assert door.readline() == "in\n"
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    first = attempts(workspace, data)
    assert [(a[0], a[1], a[2]) for a in first] == [("look", 1, "completed"), ("act", 1, "open")]
    words[words.index("flow")] = "it"
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    release(workspace / "door")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["state"] == "completed"
    second = attempts(workspace, data)
    assert [(a[0], a[1], a[2]) for a in second] == [
        ("look", 1, "completed"),
        ("act", 1, "completed"),
    ]
    assert [a[3] for a in second] == [a[3] for a in first]


@pytest.mark.requirement("workflow:kills")
def test_drivers_that_are_killed_at_random_have_no_effect_twice_and_lose_none(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [*SCRIPT, "import sys\nfrom bench.kills import main\nsys.exit(main())", "--kills", "15",
         "--strict", "--seed", "2", "--json", str(tmp_path / "figures.json")],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("workflow:cut-off")
async def test_a_call_that_was_cut_off_is_not_made_again_unasked(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("steps: [{id: a, kind: tool, tool: voice.murmur, arguments: {text: hold}}]")
    stage = Stage(bench, tmp_path / "k")
    gate = stage.kit.journal.gates["hold"] = asyncio.Event()
    execution = bench.workflows.start("flow").execution_id
    run = asyncio.get_running_loop().create_task(stage.run(execution))
    await stage.kit.journal.until("begin hold")
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    gate.set()
    view = await stage.run(execution)
    assert (view.state, stage.kit.journal.lines) == ("paused", ["begin hold"])
    assert "voice.murmur was cut off: check whether it took effect" in view.reason
    view = await stage.run(execution, lambda _: Reply("retry"))
    assert (view.state, stage.kit.journal.lines[1:]) == ("completed", ["begin hold", "end hold"])


def release(door: Path) -> None:
    """Let the command of the killed run end, if it waits at the door."""
    try:
        descriptor = os.open(door, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    os.write(descriptor, b"go\n")
    os.close(descriptor)


def attempts(workspace: Path, data: Path) -> list[tuple[str, int, str, str]]:
    """Step, number, status and conversation of every attempt."""
    store = open_workflows(data)
    try:
        source = DefinitionFiles(str(data), str(workspace), vouches=lambda _name, _data: True)
        history = Workflows(store, source, SystemClock()).records.history("it")
        return [(a.step, a.number, a.status, a.conversation) for a in history]
    finally:
        store.close()
