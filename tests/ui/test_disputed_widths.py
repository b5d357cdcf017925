"""Characters that terminals draw in different widths: the workbench in a terminal, seen from outside."""

import fcntl
import json
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from tests.fakes.terminals import start_at

ROWS = 30
WIDTHS = (121, 90, 104)
TOP = 1
"""A row of the conversation that a dialog leaves in sight."""
PATIENCE = 60.0
LINES = (
    "क्षत्रिय हिन्दी में लिखी हुई एक पंक्ति है " * 4,
    "தமிழ் மொழியில் எழுதப்பட்ட ஒரு வரி " * 4,
    "مَرْحَبًا بِكُمْ فِي هٰذَا السَّطْرِ " * 4,
    "👨‍👩‍👧‍👦👩🏽‍💻🏳️‍🌈" * 12,
    "🇩🇪🇫🇷🇯🇵" * 12,
    "❤️❤︎☂️1️⃣" * 14,
    "e\u0301\u0302\u0303\u0304" * 70,
    "ᄒ\u1161\u11ab각" * 30,
    "กำลังทำงานที่นี่" * 10,
)
PROMPTS = ("plain", LINES[0][:12], LINES[1][:8], LINES[3][:9], "½×§±→①■", "e\u0301\u0302")
"""What is written at the prompt."""


class Outside:
    """The terminal that the workbench runs in. ``clusters`` says how it draws what is joined.

    ``term`` is what it calls itself.
    """

    def __init__(self, folder: Path, *, clusters: bool, term: str = "xterm-256color") -> None:
        home, workspace = folder / "home", folder / "workspace"
        home.mkdir()
        workspace.mkdir()
        (home / ".bashrc").write_text("PS1='ready> '\n", encoding="utf-8")
        (workspace / "lines").write_text("\n".join([*LINES, "the-end"]), encoding="utf-8")
        answer = {"text": "\n\n".join([*LINES, "all said"])}
        (folder / "script").write_text(json.dumps([answer]), encoding="utf-8")
        environ = {
            "HOME": str(home),
            "XDG_DATA_HOME": str(folder / "data"),
            "SHELL": "/bin/bash",
            "TERM": term,
            **dict.fromkeys(("TERM_PROGRAM", "VTE_VERSION", "KONSOLE_VERSION"), ""),
        }
        words = ["--model", f"scripted:{folder / 'script'}"]
        self._master, theirs = pty.openpty()
        self.screen = EmulatedScreen(WIDTHS[0], ROWS)
        self.screen.reply = self.type
        if not clusters:
            self.screen.feed(b"\x1b[?2027l")
        self.resize(WIDTHS[0])
        self._program = start_at(theirs, *words, folder=workspace, environ=environ)

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def resize(self, columns: int) -> None:
        self.screen.resize(columns, ROWS)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))

    def until(self, told: Callable[[], bool]) -> None:
        """Read until something is so, and nothing more comes for a moment."""
        deadline = time.monotonic() + PATIENCE
        while not told() or select.select([self._master], [], [], 0.1)[0]:
            left = max(0.0, deadline - time.monotonic())
            assert select.select([self._master], [], [], left)[0], self.screen.text()
            self.screen.feed(os.read(self._master, 65536))

    def shows(self, wanted: str) -> None:
        self.until(lambda: wanted in self.screen.text())

    def laid_out(self) -> None:
        """Wait until a corner of a frame stands at the right edge."""
        self.until(lambda: "╮" in self.column(self.screen.columns - 1))

    def column(self, column: int) -> list[str]:
        """What stands in one column of each row."""
        return [self.screen.scrollback.text((column, y), (column, y)) for y in range(ROWS)]

    def behind(self, character: str) -> tuple[str, bool] | None:
        """What stands right behind a character that stands once, and whether its ground is another."""
        for row in self.screen.all_rows():
            for run, follower in pairwise(row):
                if run.text.endswith(character):
                    return follower.text, follower.background != run.background
        return None

    def close(self) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._master)


@pytest.fixture(params=[True, False], ids=["by clusters", "by code points"])
def outside(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Outside]:
    made = Outside(tmp_path, clusters=request.param)
    yield made
    made.close()


@pytest.mark.requirement("ui:disputed-widths")
def test_the_frame_stands_whatever_the_terminal_around_makes_of_a_row(outside: Outside) -> None:
    outside.shows("● ready")
    outside.type(b"\x1d")
    outside.shows("twice leaves")
    for columns in WIDTHS:
        outside.resize(columns)
        outside.laid_out()
        outside.type(b"clear; echo a''t-%d\r" % columns)
        outside.shows(f"at-{columns}")
        frame = {x: outside.column(x) for x in range(columns)}
        sides = [x for x, cells in frame.items() if cells.count("│") > ROWS // 2]
        assert sides, outside.screen.text()
        outside.type(b"clear; cat lines; echo\r")
        outside.shows("the-end")
        assert "த" in outside.screen.text()
        pane = [line.partition("│")[2] for line in outside.screen.text().splitlines()]
        assert not any("ee" in line for line in pane), "a mark is missing"
        for x in sides:
            assert outside.column(x) == frame[x], outside.screen.text()
        outside.type(b"clear; echo d''one\r")
        outside.shows("done")
        assert "த" not in outside.screen.text()
        for x in sides:
            assert outside.column(x) == frame[x], outside.screen.text()


@pytest.mark.requirement("ui:disputed-widths")
def test_the_conversation_moves_nothing_and_a_dialog_over_it_hides_no_character_beside_it(
    outside: Outside,
) -> None:
    outside.shows("● ready")
    outside.type(b"\x1bOQ")
    outside.shows("╭─ todos")
    outside.laid_out()
    frame = {x: outside.column(x) for x in range(WIDTHS[0])}
    sides = [x for x, cells in frame.items() if cells.count("│") > ROWS // 2]
    for text in PROMPTS:
        outside.type(f"{text}Q".encode())
        outside.until(lambda: outside.behind("Q") is not None)
        assert outside.behind("Q") == (" ", True), f"no cursor behind {text}"
        for x in sides[-2:]:
            assert outside.column(x) == frame[x], outside.screen.text()
        outside.type(b"\x15")
        outside.until(lambda: outside.behind("Q") is None)
    outside.type(b"say it\r")
    outside.shows("all said")
    text = outside.screen.text()
    assert LINES[1].split()[0] in text
    assert "ee" not in text, "a mark is missing"
    for x in sides[-2:]:
        assert outside.column(x) == frame[x], text
    row = outside.screen.scrollback.text((0, TOP), (sides[-2] - 1, TOP))
    outside.type(b"\x10")
    outside.shows("Search for commands")
    assert outside.screen.scrollback.text((0, TOP), (sides[-2] - 1, TOP)) == row
    assert LINES[1].split()[0] in row
