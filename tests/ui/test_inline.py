"""Inline: what is finished is the terminal's own text, the rest stands below it."""

import json
import os
import pty
import select
import signal
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from tests.fakes.terminals import start_at

SECONDS = 90.0
COLUMNS, ROWS = 90, 24
CALL: dict[str, Any] = {
    "name": "file_operations",
    "arguments": {
        "operation": "replace_string",
        "filePath": "a.txt",
        "oldString": "two",
        "newString": "three",
    },
}
LONG = "\n\n".join(f"paragraph {n} of it" for n in range(40))


class Around:
    """A terminal in which a shell printed something before the workbench began."""

    def __init__(self, folder: Path, *options: str, answers: bool = True) -> None:
        (folder / "ws").mkdir()
        (folder / "ws/a.txt").write_text("one\ntwo\n")
        script = folder / "script.json"
        turns = [{"text": "I change it.", "calls": [CALL]}, {"text": LONG}]
        script.write_text(json.dumps(turns))
        words = ["--data-dir", str(folder / "data"), "--model", f"scripted:{script}", *options]
        environ = {"HOME": str(folder), "SHELL": "/bin/bash", "TERM": "xterm-256color"}
        environ |= {"COLUMNS": "70", "LINES": "9"}  # not what counts
        self._master, theirs = pty.openpty()
        self.screen = EmulatedScreen(COLUMNS, ROWS)
        if answers:
            self.screen.reply = self.type
        self.modes = termios.tcgetattr(self._master)
        self.written = b""
        self.resize(COLUMNS, ROWS)
        self.program = start_at(theirs, *words, folder=folder / "ws", environ=environ)
        self.screen.feed(b"$ earlier line\r\n$ sam-tui\r\n")

    def type(self, keys: bytes) -> None:
        """Send keys."""
        os.write(self._master, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        self.screen.resize(columns, rows)
        termios.tcsetwinsize(self._master, (rows, columns))

    def text(self) -> str:
        """All that the terminal has, from the oldest line."""
        kept = self.screen.scrollback
        return kept.text((0, 0), (self.screen.columns - 1, kept.total - 1))

    def shows(self, *words: str) -> None:
        """Wait until the terminal has all of these."""
        self.until(lambda: all(word in self.text() for word in words))

    def until(self, done: Callable[[], bool]) -> None:
        """Read until it is so."""
        while not done():
            assert select.select([self._master], [], [], SECONDS)[0], self.text()
            self._read()

    def silent(self) -> None:
        """Read until nothing more comes for a moment: a frame on its way is meant for the old size."""
        while select.select([self._master], [], [], 0.5)[0]:
            self._read()

    def rests(self) -> None:
        """Wait until the turn has ended, and what came of it stands above."""
        self.until(lambda: "● ready" in self.screen.text() and "paragraph 39" in self.text())
        self.type(b"so")
        self.shows("│ so")
        self.type(b"\x15")
        self.until(lambda: "Ask anything" in self.screen.text())

    def presses(self, key: bytes, done: Callable[[], bool]) -> None:
        """Press a key until it did what it is for: one that comes too early answers no question."""
        while not done():
            self.type(key)
            while not done() and select.select([self._master], [], [], 1.0)[0]:
                self._read()

    def ends(self) -> int:
        """Read to the end; how the program ended."""
        try:
            while self._read():
                pass
        except OSError:
            pass
        return self.program.wait()

    def _read(self) -> bytes:
        data = os.read(self._master, 65536)
        self.written += data
        self.screen.feed(data)
        return data

    def close(self) -> None:
        """Let go of the terminal."""
        os.close(self._master)


@contextmanager
def around(folder: Path, *options: str, answers: bool = True) -> Generator[Around]:
    """A workbench in a terminal."""
    terminal = Around(folder, *options, answers=answers)
    try:
        yield terminal
    finally:
        try:
            terminal.program.kill()
            terminal.program.wait()
        except (ProcessLookupError, ChildProcessError):
            pass
        terminal.close()


def clean(me: Around) -> None:
    """Nothing is left of the workbench but text, and the terminal is as it was."""
    lines = me.text().splitlines()
    assert not [line for line in lines if "╭" in line or "╰" in line or "● ready" in line]
    assert me.screen.cursor is not None
    assert not me.screen.alternate
    assert termios.tcgetattr(me._master)[3] == me.modes[3]  # pyright: ignore[reportPrivateUsage]
    for mode in (b"1004", b"2004"):
        assert me.written.rfind(b"\x1b[?%sl" % mode) > me.written.rfind(b"\x1b[?%sh" % mode)


@pytest.mark.requirement("ui:inline")
def test_what_is_finished_is_text_of_the_terminal_and_the_shell_goes_on_below(
    tmp_path: Path,
) -> None:
    with around(tmp_path, "--inline", "--permission-mode", "ask-all", "go") as me:
        me.shows("Approve?", "+three", "4 Deny, say why")
        me.presses(b"1", lambda: "Approve?" not in me.text())
        me.rests()
        me.type(b"\x11")
        me.ends()
        text = me.text()
        assert text.startswith("$ earlier line\n$ sam-tui\n")
        assert b"\x1b[?1049h" not in me.written
        order = ["▌ go", "I change it.", "Edited: a.txt", *LONG.split("\n\n")]
        assert [text.count(f"{line}") for line in order[:3]] == [1, 1, 1]
        places = [text.index(line) for line in order]
        assert places == sorted(places)
        clean(me)


@pytest.mark.requirement("ui:inline")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_is_left_clean_by_what_ends_the_program(
    number: signal.Signals, tmp_path: Path
) -> None:
    with around(tmp_path, "--inline", "--permission-mode", "ask-all", "go") as me:
        me.shows("Approve?", "4 Deny, say why")
        me.program.send_signal(number)
        me.ends()
        assert "I change it." in me.text()
        clean(me)


@pytest.mark.requirement("ui:inline")
def test_another_size_of_the_window_takes_no_text_and_doubles_none(tmp_path: Path) -> None:
    with around(tmp_path, "--inline", "--permission-mode", "accept-edits", "go") as me:
        me.rests()
        for columns, rows in ((70, 20), (100, 30), (90, 24)):
            me.silent()
            me.resize(columns, rows)
            me.type(b"w%d" % columns)
            me.shows(f"w{columns}")
        me.type(b"\x15\x11")
        me.ends()
        text = me.text()
        assert [text.count(line) for line in LONG.split("\n\n")[10:]] == [1] * 30
        assert text.startswith("$ earlier line")


@pytest.mark.requirement("ui:inline")
def test_a_terminal_that_never_tells_its_cursor_is_drawn_in_all_the_same(tmp_path: Path) -> None:
    with around(tmp_path, "--inline", "--permission-mode", "accept-edits", answers=False) as me:
        me.shows("● ready")
        me.type(b"go\r")
        me.shows("paragraph 39 of it")
        assert me.text().startswith("$ earlier line")


@pytest.mark.requirement("ui:inline")
def test_dialogs_and_the_side_column_get_rows_and_give_them_back(tmp_path: Path) -> None:
    with around(tmp_path, "--inline") as me:
        me.shows("● ready")
        me.type(b"\x1bOP")
        me.shows("type to search", "Send the prompt; while a turn runs")
        me.presses(b"\x1b", lambda: "type to search" not in me.text())
        me.type(b"words")
        me.shows("│ words")
        assert "type to search" not in me.text()
        assert me.text().startswith("$ earlier line\n$ sam-tui\n")
