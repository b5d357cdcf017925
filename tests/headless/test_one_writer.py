"""A conversation has one writer: two real programs on one conversation, killed, copied, taken over."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.headless.conftest import SECONDS, Program, shell
from tests.headless.test_endings import until_progress

NAMED = ("--session-id", "both", "go")
STEPS = 12


def rows(program: Program, conversation: str = "both") -> list[tuple[str, str]]:
    """Kind and body of every stored message, in order."""
    with closing(sqlite3.connect(program.folder / "data" / "sam.db")) as database:
        return database.execute(
            "SELECT kind, body FROM messages WHERE conversation = ? ORDER BY position",
            (conversation,),
        ).fetchall()


def holds(command: str) -> dict[str, Any]:
    """A step whose command says that it is there, and goes on once the file “on” is."""
    return shell(f"echo pid $$; while [ ! -e on ]; do sleep 0.05; done; {command}")


def scripted(
    program: Program, name: str, *steps: dict[str, Any], after: int = 0
) -> tuple[str, ...]:
    """The options for a model of its own, ``after`` so many answers; it ends with its name."""
    path = program.folder / f"{name}.json"
    path.write_text(json.dumps([*[{"text": "said before"}] * after, *steps, {"text": name}]))
    return ("--model", f"scripted:{path}", "--include-partial-messages", *NAMED)


def logged(program: Program) -> list[str]:
    """The lines that steps wrote."""
    path: Path = program.workspace / "log"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


@pytest.mark.requirement("storage:one-writer")
def test_of_two_programs_on_one_conversation_one_runs_its_twelve_steps_once(
    program: Program,
) -> None:
    steps = [holds("echo 0 >> log"), *(shell(f"echo {n} >> log") for n in range(1, STEPS))]
    words = scripted(program, "first", *steps)
    with program.start(*words) as first:
        until_progress(first)
        for _ in range(2):
            refused = program.stream(*words)
            assert (refused.code, refused.result["subtype"]) == (75, "error_unavailable")
            for word in (
                f"sam-tui run (process {first.pid})",
                "--fork",
                "--take-over",
                "watch both",
            ):
                assert word in refused.err
        (program.workspace / "on").touch()
        out, _ = first.communicate(timeout=SECONDS)
    assert json.loads(out.splitlines()[-1])["result"] == "first"
    assert logged(program) == [str(n) for n in range(STEPS)]
    kinds = [kind for kind, _ in rows(program) if kind != "reminder"]
    assert kinds == ["user", *(["assistant", "tool"] * STEPS), "assistant"]


@pytest.mark.requirement("storage:one-writer-dies")
def test_a_lease_ends_with_its_process_whatever_its_row_says(program: Program) -> None:
    with program.start(*scripted(program, "first", holds("echo 0 >> log"))) as first:
        _, command = until_progress(first)
        first.kill()
        first.communicate()
    os.kill(command, signal.SIGKILL) if _alive(command) else None
    # What a clock that jumps, a restart and a process with the same number would leave.
    with closing(sqlite3.connect(program.folder / "data" / "sam.db")) as database, database:
        (token,) = database.execute("SELECT token FROM writers").fetchone()
        database.execute("UPDATE writers SET process = ?, since = 9e9", (os.getpid(),))
    assert (program.folder / "data" / "sam.writers" / token).exists()
    again = program.stream(*scripted(program, "second", after=1))
    assert again.result["result"] == "second"
    assert "The program ended before this call did" in str(rows(program))
    assert list((program.folder / "data" / "sam.writers").iterdir()) == []


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.requirement("storage:take-over")
def test_a_takeover_in_the_middle_of_a_call_ends_it_and_the_first_writes_nothing_more(
    program: Program,
) -> None:
    words = scripted(program, "first", holds("echo lost >> log"), shell("echo later >> log"))
    with program.start(*words) as first:
        _, command = until_progress(first)
        goes_on = scripted(program, "second", shell("echo 2 >> log"), after=1)
        second = program.stream("--take-over", *goes_on)
        assert second.result["result"] == "second"
        between = rows(program)
        out, err = first.communicate(timeout=SECONDS)
    assert not _alive(command)
    (program.workspace / "on").touch()
    result = json.loads(out.splitlines()[-1])
    assert (first.returncode, result["subtype"]) == (1, "error_during_execution")
    assert "took conversation both over" in err
    assert rows(program) == between
    assert logged(program) == ["2"]
    results = [body for kind, body in between if kind == "tool"]
    assert "taken over from another program" in results[0] and len(results) == 2


@pytest.mark.requirement("storage:fork")
def test_a_copy_goes_on_with_the_history_while_the_original_is_at_work(program: Program) -> None:
    program.stream(*scripted(program, "before", shell("seq 1 30000")))
    before = rows(program)
    with program.start(*scripted(program, "first", holds("echo 0 >> log"), after=2)) as first:
        until_progress(first)
        whole = {"name": "read_tool_result", "arguments": {"toolCallId": _call(program)}}
        copy = program.stream("--fork", *scripted(program, "second", {"calls": [whole]}, after=3))
        copied = copy.result["session_id"]
        (program.workspace / "on").touch()
        first.communicate(timeout=SECONDS)
    assert copied != "both" and copy.result["result"] == "second"
    assert rows(program, copied)[: len(before)] == before
    assert "is a copy that was made before this call ended" in str(rows(program, copied))
    told = [body for kind, body in rows(program, copied) if kind == "tool"]
    assert "ERROR" not in told[-1]
    assert logged(program) == ["0"]


def _call(program: Program) -> str:
    """The first call whose whole result was stored."""
    with closing(sqlite3.connect(program.folder / "data" / "sam.db")) as database:
        return database.execute("SELECT call FROM results").fetchone()[0]


@pytest.mark.requirement("storage:fork")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--fork", "go"), "--fork needs"),
        (("--take-over", "go"), "--take-over needs"),
        (("--fork", "--take-over", *NAMED), "exclude each other"),
        (("--fork", *NAMED), "There is no conversation both to copy"),
    ],
)
def test_a_copy_or_takeover_of_nothing_is_refused(
    program: Program, words: tuple[str, ...], why: str
) -> None:
    ended = program.run("--model", program.script({"text": "no"}), *words)
    assert ended.code == 2 and why in ended.err


@pytest.mark.requirement("storage:watch")
def test_a_conversation_is_read_along_while_it_grows(program: Program) -> None:
    with program.start(*scripted(program, "first", holds("echo in the step"))) as first:
        until_progress(first)
        place = ["--data-dir", str(program.folder / "data")]
        words = [sys.executable, "-P", "-m", "sam_tui", "sessions", "watch", "both", *place]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watcher:
            assert watcher.stdout is not None
            assert watcher.stdout.readline() == "> go\n"
            (program.workspace / "on").touch()
            lines = [watcher.stdout.readline() for _ in range(6)]
            while lines[-1].strip() != "first":
                lines.append(watcher.stdout.readline())
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(SECONDS) == 130
        first.communicate(timeout=SECONDS)
    assert any(line.startswith("✓") for line in lines)
    assert any("in the step" in line for line in lines)
