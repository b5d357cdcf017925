"""What is typed on a real terminal reaches the programs in the pane, whole and at once."""

import json
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from tests.fakes.programs import found, needs

SECONDS = 90.0


class RunningWorkbench:
    """A person at a workbench on a terminal of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._screen = EmulatedScreen(100, 30)
        self._screen.reply = self.type

    def type(self, data: bytes) -> None:
        """Send keys, in one piece."""
        os.write(self._descriptor, data)

    def sees(self, text: str) -> None:
        """Wait until the terminal shows a text."""
        while text not in self._screen.text():
            ready = select.select([self._descriptor], [], [], SECONDS)[0]
            assert ready, self._screen.text()
            self._screen.feed(os.read(self._descriptor, 65536))


@contextmanager
def workbench(folder: Path) -> Generator[RunningWorkbench]:
    """The program, with a bash that has a plain prompt for the person."""
    (folder / "ws").mkdir()
    (folder / "home").mkdir()
    (folder / "home/.bashrc").write_text("PS1='ready> '\n")
    script = folder / "script.json"
    script.write_text(json.dumps([{"text": "hello"}]))
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (30, 100))
    words = ["-C", str(folder / "ws"), "--data-dir", str(folder / "data")]
    program = subprocess.Popen(
        [sys.executable, "-P", "-m", "sam_tui", *words, "--model", f"scripted:{script}"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "HOME": str(folder / "home"), "SHELL": found("bash")},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield RunningWorkbench(ours)
    finally:
        program.terminate()
        os.close(ours)
        program.wait(SECONDS)


@needs("bash")
@needs("vim")
@pytest.mark.requirement("ui:terminal-escape-key")
def test_escape_and_a_key_right_behind_it_are_two_keys_in_vim(tmp_path: Path) -> None:
    with workbench(tmp_path) as me:
        me.sees("scripted")
        # What comes with the key that opens the shell is the shell's, before there is one.
        me.type(b"\x1decho at-on''ce\r")
        me.sees("at-once")
        me.type(b"vim -u NONE -i NONE -n -N note.txt; echo clo''sed\r")
        me.sees("[New")
        me.type(b"ione\x1bothree\x1bkA!!\x1bhr-\x1b0iA \x1b:wq\r")
        me.sees("closed")
        assert (tmp_path / "ws/note.txt").read_text() == "A one-!\nthree\n"
        # Out with the chord and in with the key: what follows on either is not lost.
        me.type(b"\x1d\x1d\x1b[17~echo zoo''med\r")
        me.sees("zoomed")
        me.type(b"\x1decho one-chord-k''ey\r")
        me.sees("one-chord-key")
        # Back from the whole width with the key that led there: it types nothing.
        me.type(b"\x1b[17~echo un''zoomed\r")
        me.sees("Ask anything")
        me.sees("unzoomed")
        # Only the prompt's reader answers.
        me.type(b"\x1d\x1dgreet me\r")
        me.sees("hello")
