"""Images drawn by the terminal around, as kitty, iTerm2 and sixel have them. 3 s of CPU."""

import codecs
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

import pytest

from sam_tui.core.ports.documents import Pixels
from sam_tui.ui.driver.images.detection import protocol_behind_tmux, protocol_of
from sam_tui.ui.driver.images.graphics import (
    NUMERALS,
    iterm_image,
    kitty_image,
    png_of,
    scaled,
    sixel_image,
)
from sam_tui.ui.driver.keys import TerminalAnswers, TerminalTold
from tests.ui.outer import PLACEHOLDER, OuterTerminal, png_pixels, sixel_pixels
from tests.ui.test_pictures import png

SECONDS = 60
ANSWERS = {
    "sixel": "\x1b[?62;4;22c",
    "kitty": "\x1bP>|kitty(0.35.1)\x1b\\\x1b[?62c",
}
WIDTH, HEIGHT = 160, 48
LINES = [[0, *(part for x in range(WIDTH) for part in (x, y * 5, 128))] for y in range(HEIGHT)]
SHADES = png(WIDTH, HEIGHT, b"".join(map(bytes, LINES)))
FULL = 80 * 12
"""Cells of the picture: as wide as pictures are."""


class Window:
    """The window in which the program runs."""

    def __init__(self, terminal: int, answers: str) -> None:
        self._terminal = terminal
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self.program = 0
        self.outer = OuterTerminal(answers=answers)

    def until(self, holds: Callable[[], object]) -> None:
        """Draw what the program writes until something holds."""
        while not holds():
            assert select.select([self._terminal], [], [], SECONDS)[0], self.outer.shown()
            back = self.outer.feed(self._decode(os.read(self._terminal, 65536)))
            os.write(self._terminal, back.encode())
            assert not self.outer.faults, self.outer.faults[:3]

    def types(self, keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, keys.encode())

    def resize(self, columns: int) -> None:
        """Give the window another width."""
        self.outer.columns = columns
        self.outer.__post_init__()
        size = struct.pack("HHHH", 30, columns, columns * 4, 180)
        ioctl(self._terminal, termios.TIOCSWINSZ, size)

    def until_gone(self) -> None:
        """Draw until the program has ended."""
        try:
            self.until(lambda: False)
        except OSError:
            return


@contextmanager
def window(folder: Path, answers: str) -> Generator[Window]:
    """The program at the end of a conversation with an image."""
    (folder / "ws").mkdir()
    (folder / "ws" / "shades.png").write_bytes(SHADES)
    (folder / "script.json").write_text(json.dumps([{"text": "I see.\n\n" + "line\n\n" * 8}]))
    ours, theirs = pty.openpty()
    words = ["-C", "ws", "--data-dir", "data", "--model", "scripted:script.json", "@shades.png ?"]
    environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "TMUX": ""}
    me = Window(ours, answers)
    me.resize(100)
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "sam_tui", *words],
        cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True,
    ) as program:  # fmt: skip
        os.close(theirs)
        me.program = program.pid
        try:
            me.until(lambda: "ready" in me.outer.shown() and "line" in me.outer.shown())
            yield me
        finally:
            program.kill()
            os.close(ours)


@pytest.mark.requirement("images:by-the-terminal")
def test_no_pixel_of_an_image_over_cells_stays_where_it_does_not_belong(tmp_path: Path) -> None:
    with window(tmp_path, ANSWERS["sixel"]) as me:
        outer = me.outer
        me.until(lambda: 0 < outer.shown().count("▀") < FULL)
        assert not outer.covered()  # cut at the edge of the pane: half blocks
        me.types("\x1b[5~")
        me.until(lambda: outer.covered() == FULL)
        me.types("\x10")  # a dialog over it
        me.until(lambda: not outer.covered())
        me.types("\x1b")
        me.until(lambda: outer.covered() == FULL)
        me.types("\x1b[6~")
        me.until(lambda: 0 < outer.shown().count("▀") < FULL and not outer.covered())
        me.types("\x1b[5~")
        me.until(lambda: outer.covered() == FULL)
        me.resize(60)
        os.kill(me.program, signal.SIGWINCH)
        me.until(lambda: 0 < outer.covered() < FULL)
        assert outer.covered() == outer.shown().count("▀") and outer.asked == 1
        me.types("\x11")
        me.until_gone()


@pytest.mark.requirement("images:by-the-terminal")
def test_kitty_is_handed_an_image_once_draws_it_by_cells_and_forgets_it_at_the_end(
    tmp_path: Path,
) -> None:
    with window(tmp_path, ANSWERS["kitty"]) as me:
        outer = me.outer
        me.types("\x1b[5~")
        me.until(lambda: outer.shown().count(PLACEHOLDER) == FULL)
        ((number, (head, image)),) = outer.images.items()
        assert (head["U"], head["c"], head["r"]) == ("1", "80", "12")
        width, height, pixels = png_pixels(image)
        assert (width, height) == (WIDTH, HEIGHT)
        assert all(abs(a - b) < 24 for a, b in zip(pixels[40][100], (100, 200, 128), strict=True))
        top = next(y for y, row in enumerate(outer.grid) if row[4].text[0] == PLACEHOLDER)
        for y in range(12):
            for x in range(80):
                cell = outer.grid[top + y][4 + x]
                assert cell.text == PLACEHOLDER + NUMERALS[y] + NUMERALS[x]
                red, green, blue = map(int, cell.ink.split(";"))
                assert red << 16 | green << 8 | blue == number
        me.types("\x10")  # a dialog over it, and what is seen through that
        me.until(lambda: PLACEHOLDER not in outer.shown())
        me.types("\x1b")
        me.until(lambda: outer.shown().count(PLACEHOLDER) == FULL)
        assert list(outer.images) == [number]
        me.types("\x11")
        me.until_gone()
        assert not outer.images


@pytest.mark.requirement("images:asked")
def test_an_answer_is_no_key_wherever_it_is_cut_and_keys_around_it_are_kept() -> None:
    heard: list[object] = []
    answers = TerminalAnswers(heard.append)
    assert answers.without("a\x1bPb") == "a\x1bPb"  # nothing was asked
    answers.expected = True
    whole = f"a{ANSWERS['kitty']}b"
    for cut in range(2, len(whole) - 4):
        if whole[cut - 1] != "\x1b":  # alone it is the Escape key
            parts = [whole[:cut], whole[cut:-4], whole[-4:]]
            assert "".join(map(answers.without, parts)) == "ab", cut
            told = heard.pop()
            assert isinstance(told, TerminalTold) and told.name == "kitty(0.35.1)"
    keys = [answers.without(key) or answers.overdue() for key in ("\x1bP", "\x1b[", "\x1b[A", "x")]
    assert keys == ["\x1bP", "\x1b[", "\x1b[A", "x"]


@pytest.mark.requirement("images:asked")
def test_a_terminal_is_known_by_what_it_says_and_behind_tmux_by_what_tmux_heard() -> None:
    assert protocol_of("iTerm2 3.5.0", frozenset(["62", "4"])) == "iterm"
    assert protocol_of("XTerm(390)", frozenset(["64", "1", "2"])) is None
    told = {"kitty(0.35.1) on": "kitty", "ghostty 1.1 all": "kitty", "kitty(0.35.1) off": None,
            "kitty(0.20.0) on": None, "iTerm2 3.5 on": None, "": None, "no server": None}  # fmt: skip
    assert {words: protocol_behind_tmux(words) for words in told} == told
    wrapped = kitty_image(7, b"x" * 9000, 4, 2, tmux=True)
    parts = re.findall(r"\x1bPtmux;((?:[^\x1b]|\x1b\x1b)*)\x1b\\", wrapped)
    outer = OuterTerminal()
    outer.feed("".join(parts).replace("\x1b\x1b", "\x1b"))
    assert outer.images[7][1] == b"x" * 9000


@pytest.mark.requirement("images:by-the-terminal")
def test_what_is_written_decodes_to_the_same_pixels() -> None:
    palette = bytes(part for n in range(7) for part in (n * 40, 255 - n * 40, n * 20))
    indices = bytes((x * 7 + y * y) % 7 for y in range(13) for x in range(31))
    pixels = Pixels(31, 13, palette, indices)
    colours = [tuple(palette[3 * n : 3 * n + 3]) for n in range(7)]
    expected = [[colours[n] for n in indices[31 * y : 31 * y + 31]] for y in range(13)]
    assert png_pixels(png_of(pixels)) == (31, 13, expected)
    width, height, drawn = sixel_pixels(sixel_image(pixels)[2:-2])
    near = [max(abs(a - b) for a, b in zip(p, q, strict=True))
            for one, other in zip(drawn, expected, strict=True)
            for p, q in zip(one, other, strict=True)]  # fmt: skip
    assert (width, height) == (31, 13) and max(near) <= 2  # hundredths of 255
    outer = OuterTerminal()
    outer.feed(f"\x1b[3;5H{iterm_image(png_of(pixels), 31, 13)}")
    assert outer.covered() == 31 * 13 and outer.grid[2][4].pixels == expected[0][:1] * 2
    double = scaled(pixels, 62, 26)
    assert double.indices[62 * 5 : 62 * 6 : 2] == indices[31 * 2 : 31 * 3]
