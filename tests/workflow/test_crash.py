"""Killed at every statement in turn, an execution is whole and goes on exactly where it was."""

import json
import sqlite3
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.preloaded import SCRIPT
from tests.workflow.bench import Bench, opened
from tests.workflow.stage import Stage

FLOW = """
    steps:
      - {id: a, prompt: a}
      - {id: b, prompt: b, needs: [a], each: "@{outputs.a.items}"}
      - {id: c, prompt: c, needs: [a]}
      - {id: d, prompt: d, needs: [b, c]}
"""
PROGRAM = """
import os, shutil, signal, sqlite3, sys
from pathlib import Path
from tests.workflow.bench import Bench
from tests.workflow.test_crash import drive, require_ended, require_whole

base, first, stride = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
connect, left = sqlite3.connect, 0

def dying(*arguments, **options):
    connection = connect(*arguments, **options)
    def count(statement):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    connection.set_trace_callback(count)
    return connection

def run(folder, statements):
    global left
    left = statements
    child = os.fork()
    if child == 0:
        sqlite3.connect = dying
        try:
            bench = Bench(folder)
            drive(bench)
        except BaseException:
            os._exit(3)
        os._exit(0)
    return os.waitpid(child, 0)[1]

kills, statements, status = 0, first, -1
while status != 0:
    folder = base / str(statements)
    shutil.copytree(base / "start", folder)
    status = run(folder, statements)
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, status
    kills += status != 0
    bench = Bench(folder)
    require_whole(bench)
    drive(bench)
    require_ended(bench)
    bench.close()
    shutil.rmtree(folder)
    statements += stride
print(kills)
"""
ROOT = Path(__file__).parents[2]


def drive(bench: Bench) -> None:
    """Begin the execution if it does not exist, then work until nothing is open."""
    workflows = bench.workflows
    if not workflows.records.executions():
        workflows.start("flow", execution_id="run")
    while tickets := workflows.tickets("run"):
        ticket = tickets[0]
        output: dict[str, object] = {"summary": ticket.step}
        if ticket.step == "a":
            output["items"] = ["x", "y"]
        workflows.advance(ticket.token, output)


@pytest.mark.requirement("workflow:crash")
def test_killed_at_any_statement_an_execution_ends_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path / "start")
    bench.define(FLOW)
    bench.close()
    done = subprocess.run(
        [*SCRIPT, PROGRAM, str(tmp_path), "1", "5"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 35


def require_ended(bench: Bench) -> None:
    """Each step was completed once, in one attempt, and each token was counted once."""
    history = bench.workflows.records.history("run")
    assert sorted((a.step, a.task, a.status, a.number) for a in history if a.step != "b") == [
        ("a", None, "completed", 1), ("c", None, "completed", 1), ("d", None, "completed", 1),
    ]  # fmt: skip
    assert [(a.task, a.status) for a in history if a.step == "b"] == [
        (0, "completed"), (1, "completed"),
    ]  # fmt: skip
    assert bench.workflows.records.execution("run").state == "completed"
    types = bench.types("run")
    assert (types.count("step_completed"), types.count("workflow_completed")) == (4, 1)
    assert types.count("token_validated") == 5


def require_whole(bench: Bench) -> None:
    """Nothing is half done: rows, attempts, tokens and events agree."""
    views = bench.workflows.records.executions()
    if not views:
        return
    reader = bench.store.reader
    steps = {step.id: step for step in reader.steps("run")}
    assert set(steps) == {"a", "b", "c", "d"}
    open_ = [a.step for a in reader.attempts("run", status="open")]
    running = [s for s, row in steps.items() if row.status == "running"]
    assert sorted(open_) == sorted(running)
    completed = [s for s, row in steps.items() if row.status == "completed"]
    assert sorted(completed) == sorted(
        json.loads(row.output_json)["summary"] if row.id != "b" else "b"
        for row in steps.values()
        if row.output_json
    )
    types = bench.types("run")
    assert types.count("step_started") == len(reader.attempts("run"))
    assert types.count("step_completed") == len(completed)


@pytest.mark.requirement("workflow:crash")
def test_a_transaction_that_raises_leaves_nothing(bench: Bench) -> None:
    done = bench.begin(FLOW)
    before = bench.types(done.execution_id)

    class Stop(Exception):
        """Raised in the middle."""

    row = bench.store.reader.execution(done.execution_id)
    assert row is not None
    with pytest.raises(Stop), bench.store.unit() as unit:
        unit.delete_execution(row.id)
        raise Stop
    assert bench.types(done.execution_id) == before
    assert opened(done) == ["a"]


@pytest.mark.requirement("workflow:hold")
def test_who_dies_lets_go_of_what_it_drove(bench: Bench) -> None:
    program = (
        "import sys, os, signal; from pathlib import Path; from tests.workflow.bench import Bench\n"
        "b = Bench(Path(sys.argv[1]))\n"
        "with b.workflows.claims.hold('run') as mine:\n"
        "    print(mine, flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [*SCRIPT, program, str(bench.folder)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    with bench.workflows.claims.hold("run") as mine:
        assert not mine
    child.kill()
    child.communicate()
    with bench.workflows.claims.hold("run") as mine:
        assert mine


@pytest.mark.requirement("workflow:commits")
async def test_a_call_is_noted_in_one_commit_and_its_output_with_its_evidence_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    bench = Bench(tmp_path)
    monkeypatch.undo()
    lines = [
        f"  - {{id: s{n}, kind: tool, tool: voice.murmur, arguments: {{text: x{n}}}{need}}}"
        for n in range(4)
        for need in (f", needs: [s{n - 1}]" if n else "",)
    ]
    bench.define("steps:\n" + "\n".join(lines))
    stage = Stage(bench, tmp_path / "k", [])
    execution = bench.workflows.start("flow").execution_id
    statements.clear()
    assert (await stage.run(execution)).state == "completed"
    kinds = Counter(event.type for event in bench.told)
    assert (kinds["call_began"], kinds["evidence_added"], kinds["token_generated"]) == (4, 4, 1)
    assert (
        statements.count("COMMIT") <= 3 * 4 + 2
    )  # two that change it, one that looks what is open
