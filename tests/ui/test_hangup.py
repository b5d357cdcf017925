"""A terminal that goes away, without a word: the program ends, and waits for nothing."""

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest


@pytest.mark.requirement("ui:hang-up")
@pytest.mark.parametrize("busy", [False, True])
def test_the_workbench_ends_when_its_terminal_is_gone(tmp_path: Path, busy: bool) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"rate": 200, "text": "word " * 20_000}]))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (30, 100))
    words = [
        "-C",
        str(workspace),
        "--data-dir",
        str(tmp_path / "data"),
        "--model",
        f"scripted:{script}",
    ]
    # It is not its controlling terminal, so no signal tells of the end either.
    program = subprocess.Popen(
        [sys.executable, "-m", "sam_tui", *words, *(["go"] if busy else [])],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        seen = b""
        while (b"word word" if busy else b"ready") not in seen:
            seen = seen[-100_000:] + os.read(ours, 65536)
        os.close(ours)
        assert program.wait(30) == 143
    finally:
        program.kill()
        program.wait()
