"""How a run ends when it is stopped: by a signal, by its reader, by the kernel."""

import array
import fcntl
import json
import os
import select
import signal
import subprocess
import termios
from typing import Any

import pytest

from tests.fakes.preloaded import SCRIPT
from tests.headless.conftest import SECONDS, Program, Step, alive, shell

HOLD = "echo pid $$; sleep 1000"


def until_progress(process: "subprocess.Popen[str]") -> tuple[list[dict[str, Any]], int]:
    """Read lines until the command said its process id: (lines so far, that id)."""
    assert process.stdout is not None
    lines: list[dict[str, Any]] = []
    for text in process.stdout:
        lines.append(json.loads(text))
        if lines[-1].get("subtype") == "tool_progress" and "pid" in lines[-1]["text"]:
            return lines, int(lines[-1]["text"].split()[1])
    raise AssertionError(f"no progress: {lines} {process.stderr and process.stderr.read()}")


def begin(program: Program, *steps: Step) -> "subprocess.Popen[str]":
    return program.start("go", "--model", program.script(*steps), "--include-partial-messages")


@pytest.mark.requirement("headless:signals")
@pytest.mark.parametrize(
    ("number", "code", "subtype"),
    [(signal.SIGINT, 130, "cancelled"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_in_the_middle_of_a_tool_still_gives_a_result_and_ends_the_tool(
    program: Program, number: signal.Signals, code: int, subtype: str
) -> None:
    with begin(program, shell(HOLD)) as process:
        _, pid = until_progress(process)
        process.send_signal(number)
        out, err = process.communicate(timeout=SECONDS)
    lines = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == code
    assert [line["subtype"] for line in lines if line["type"] == "result"] == [subtype]
    assert lines[-1]["exit_code"] == code
    assert lines[0]["type"] == "user" and lines[0]["message"]["content"][0]["is_error"]
    assert "Traceback" not in err
    assert not alive(pid)


INTERRUPTED_TWICE = r"""
import os
import signal
from sam_tui.headless.interrupts import Interrupts
interrupts = Interrupts()
interrupts.install()
interrupts.cancel_with(lambda: os.write(1, b"first\n"))
os.write(1, b"ready\n")
while True:
    signal.pause()
"""


@pytest.mark.requirement("headless:signals")
def test_a_second_signal_ends_the_process_whatever_it_is_doing() -> None:
    command = [*SCRIPT, INTERRUPTED_TWICE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "first\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130


@pytest.mark.requirement("headless:signals")
def test_a_signal_while_the_prompt_is_awaited_gives_a_result(program: Program) -> None:
    # Without a prompt standard input is read to its end, which never comes here.
    process = program.start("-", "--model", program.script({"text": "x"}))
    with process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("half a prompt")
        process.stdin.flush()
        until_drained(process.stdin.fileno())
        process.send_signal(signal.SIGTERM)
        out = process.stdout.read()
        assert process.wait(SECONDS) == 143
    assert json.loads(out)["subtype"] == "terminated"


def until_drained(writing_end: int) -> None:
    """Wait until the other side has read all of the pipe."""
    left = array.array("i", [1])
    while left[0]:
        select.select([], [], [], 0.01)
        fcntl.ioctl(writing_end, termios.FIONREAD, left)


@pytest.mark.requirement("headless:stdin-never-hangs")
def test_an_open_pipe_that_says_nothing_does_not_hold_a_run_with_a_prompt(program: Program) -> None:
    with begin(program, {"text": "Done."}) as process:
        assert process.stdout is not None and process.stdin is not None
        # Standard input is closed only after the run has ended.
        lines = [json.loads(line) for line in process.stdout.read().splitlines()]
        assert process.wait(SECONDS) == 0
    assert lines[-1]["result"] == "Done."
    notices = [line for line in lines if line.get("subtype") == "notice"]
    assert len(notices) == 1 and "--stdin" in notices[0]["text"]


@pytest.mark.requirement("headless:broken-pipe")
def test_a_reader_that_leaves_ends_the_run_quietly_and_its_tool_too(program: Program) -> None:
    forever = "echo pid $$; while :; do echo more; sleep 0.02; done"
    with begin(program, shell(forever)) as process:
        _, pid = until_progress(process)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.wait(SECONDS) == 0
        assert process.stderr.read() == ""
    assert not alive(pid)


@pytest.mark.requirement("headless:killed")
def test_a_killed_run_can_be_continued_with_its_open_call_closed(program: Program) -> None:
    with begin(program, shell(HOLD), {"text": "Going on."}) as process:
        lines, pid = until_progress(process)
        process.kill()
        process.communicate(timeout=SECONDS)
    ended = program.stream("again", "--model", f"scripted:{program.folder}/script.json", "-c")
    assert ended.result["result"] == "Going on."
    assert ended.result["session_id"] == lines[0]["session_id"]
    if alive(pid):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.requirement("headless:closed-streams")
@pytest.mark.parametrize(
    ("closing", "code", "out", "err"),
    [
        (">&-", 2, "", "Standard output is closed"),
        ("2>&-", 0, "Done.\n", ""),
        ("<&-", 0, "Done.\n", ""),
        (">/dev/full", 1, "", "could not be written"),
        (">&- 2>&- <&-", 2, "", ""),
    ],
)
def test_closed_standard_streams_are_survived(
    program: Program, closing: str, code: int, out: str, err: str
) -> None:
    command = program.command("go", "--model", program.script({"text": "Done."}))
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {closing}', "sh", *command],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, out)
    assert err in done.stderr and "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
