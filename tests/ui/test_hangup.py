"""A terminal that goes away, without a word: the program ends, and waits for nothing."""

import ctypes
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.terminals import start_at

SECONDS = 120
"""For a program to start, draw and end on a machine with other work."""

pytestmark = pytest.mark.timeout(3 * SECONDS)


@contextmanager
def working(tmp_path: Path, script: object, *prompt: str) -> Generator[tuple[Any, int, str]]:
    """The workbench on a terminal: the program, our end, and the name of the terminal."""
    told = tmp_path / "script.json"
    told.write_text(json.dumps(script))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (30, 100))
    words = ["-C", str(workspace), "--data-dir", str(tmp_path / "data")]
    words += ["--model", f"scripted:{told}", "--permission-mode", "auto"]
    # It is not its controlling terminal, so no signal tells of the end either.
    program = subprocess.Popen(
        [sys.executable, "-P", "-m", "sam_tui", *words, *prompt],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    name = os.ttyname(theirs)
    os.close(theirs)
    try:
        yield program, ours, name
    finally:
        program.kill()
        program.wait()


def reads(ours: int, text: bytes) -> None:
    """Read until the text was drawn."""
    seen = b""
    while text not in seen:
        seen = seen[-100_000:] + os.read(ours, 65536)


@pytest.mark.requirement("ui:hang-up")
@pytest.mark.parametrize("busy", [False, True])
def test_the_workbench_ends_when_its_terminal_is_gone(tmp_path: Path, busy: bool) -> None:
    script = [{"rate": 200, "text": "word " * 20_000}]
    with working(tmp_path, script, *(["go"] if busy else [])) as (program, ours, _):
        reads(ours, b"word word" if busy else b"ready")
        while not busy and select.select([ours], [], [], 1.0)[0]:
            os.read(ours, 65536)  # it ends also where nothing is drawn any more
        os.close(ours)
        assert program.wait(SECONDS) == 143


@pytest.mark.requirement("ui:stalled")
@pytest.mark.skipif(sys.platform != "linux", reason="sends signals to one thread")
def test_a_signal_that_does_not_interrupt_the_wait_for_events_is_handled_all_the_same(
    tmp_path: Path,
) -> None:
    with working(tmp_path, []) as (program, ours, _):
        reads(ours, b"ready")
        while select.select([ours], [], [], 1.0)[0]:
            os.read(ours, 65536)
        threads = [int(name) for name in os.listdir(f"/proc/{program.pid}/task")]
        other = next(thread for thread in threads if thread != program.pid)
        assert ctypes.CDLL(None).tgkill(program.pid, other, signal.SIGTERM) == 0
        reads(ours, b"\x1b[?1049l")
        assert program.wait(SECONDS) == 143
        os.close(ours)


@pytest.mark.requirement("ui:stalled")
def test_work_and_signals_do_not_wait_for_a_terminal_that_reads_nothing(tmp_path: Path) -> None:
    flood = {"rate": 2000, "text": "word " * 1_000}
    write = {"name": "create_file", "arguments": {"filePath": "done", "content": "done"}}
    with working(tmp_path, [{**flood, "calls": [write]}, flood], "go") as (program, ours, name):
        reads(ours, b"word word")
        terminal = os.open(name, os.O_WRONLY | os.O_NOCTTY)
        termios.tcflow(terminal, termios.TCOOFF)  # from here on it takes nothing
        os.close(terminal)
        done = tmp_path / "workspace" / "done"
        deadline = time.monotonic() + SECONDS
        while not done.exists():
            assert time.monotonic() < deadline
            assert program.poll() is None
            select.select([], [], [], 0.05)
        program.send_signal(signal.SIGTERM)
        assert program.wait(SECONDS) == 143
        os.close(ours)


@pytest.mark.requirement("ui:hang-up")
def test_the_demo_puts_the_terminal_back_on_a_signal_at_its_first_byte(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "TERM": "xterm-256color"}
    ours, theirs = pty.openpty()
    program = start_at(theirs, "demo", folder=tmp_path, environ=environ)
    reads(ours, b"\x1b[?1049h")
    program.send_signal(signal.SIGHUP)
    reads(ours, b"\x1b[?1049l")
    assert program.wait() == 143
    os.close(ours)
