import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.ports.processes.screens import CellRun
from tests.fakes.rows import every_row

VECTORS = (
    "conformance.txt",
    "conformance_esc.txt",
    "conformance_reports.txt",
    "conformance_rectangles.txt",
)
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|.)")
_NAMED = {"e": "\x1b", "r": "\r", "n": "\n", "t": "\t", "a": "\a", "b": "\b", "N": "\x0e"} | {
    "O": "\x0f",
    "\\": "\\",
}


@dataclass
class Vector:
    """One terminal's life: steps, each a word and what follows it."""

    name: str
    steps: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def vectors() -> Iterator[Vector]:
    found: Vector | None = None
    folder = Path(__file__).parent
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in VECTORS)
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("== "):
            if found is not None:
                yield found
            found = Vector(line[3:])
        elif found is not None and line.startswith("|"):
            found.steps.append(("|", line[1:]))
        elif found is not None and line:
            word, _, rest = line.partition(" ")
            found.steps.append((word, rest))
    if found is not None:
        yield found


def raw(text: str) -> bytes:
    """The bytes that a line of the file stands for."""
    parts: list[bytes] = []
    done = 0
    for match in _ESCAPE.finditer(text):
        parts.append(text[done : match.start()].encode())
        what = match[1]
        if len(what) == 3:
            parts.append(bytes([int(what[1:], 16)]))
        elif len(what) == 5:
            parts.append(chr(int(what[1:], 16)).encode())
        else:
            parts.append(_NAMED[what].encode())
        done = match.end()
    return b"".join(parts) + text[done:].encode()


def style_at(row: list[CellRun], column: int) -> set[str]:
    """The style of a cell in words. Only for rows of narrow characters."""
    run = next(r for r in chain(*([r] * len(r.text) for r in row)) if (column := column - 1) < 0)
    words = set(run.attributes)
    for name, colour in (("fg", run.foreground), ("bg", run.background), ("ul", run.underline)):
        if colour is not None:
            values = colour if isinstance(colour, tuple) else (colour,)
            words.add(f"{name}={','.join(map(str, values))}")
    return words


class Runner:
    """Plays the steps of a vector on a terminal and compares."""

    def __init__(self) -> None:
        self.screen = EmulatedScreen(10, 4)
        self.replies = b""
        self.listen()

    def listen(self) -> None:
        def heard(data: bytes) -> None:
            self.replies += data

        self.screen.reply = heard

    def play(self, vector: Vector) -> None:
        rows: list[str] | None = None
        for word, rest in [*vector.steps, ("end", "")]:
            if word != "|" and rows is not None:
                shown = self.screen.text().split("\n")
                wanted = [raw(row).decode() for row in rows]
                assert shown == wanted + [""] * (self.screen.rows - len(wanted)), vector.name
                rows = None
            if word == "|":
                rows = [*(rows or []), rest]
            elif word != "end":
                step: Callable[[str], None] = getattr(self, f"do_{word}")
                step(rest)

    def do_size(self, rest: str) -> None:
        self.screen = EmulatedScreen(*map(int, rest.split()))
        self.listen()

    def do_feed(self, rest: str) -> None:
        self.screen.feed(raw(rest))

    def do_resize(self, rest: str) -> None:
        columns, rows = map(int, rest.split())
        self.screen.resize(columns, rows)

    def do_cursor(self, rest: str) -> None:
        wanted = None if rest == "hidden" else tuple(map(int, rest.split()))
        assert self.screen.cursor == wanted

    def do_style(self, rest: str) -> None:
        column, row, *words = rest.split()
        assert style_at(list(self.screen.all_rows()[int(row)]), int(column)) == set(words), rest

    def do_reply(self, rest: str) -> None:
        assert self.replies == raw(rest)

    def do_title(self, rest: str) -> None:
        assert self.screen.title == rest


ALL = list(vectors())


@pytest.mark.requirement("terminal:conformance")
def test_a_terminal_shows_what_the_standards_say() -> None:
    with every_row() as row:
        for vector in ALL:
            with row(vector.name):
                Runner().play(vector)


@pytest.mark.requirement("terminal:conformance")
def test_it_shows_the_same_when_every_byte_comes_alone() -> None:
    with every_row() as row:
        for vector in ALL:
            split = Vector(vector.name)
            for word, rest in vector.steps:
                if word == "feed":
                    split.steps.extend(("feed", f"\\x{byte:02x}") for byte in raw(rest))
                else:
                    split.steps.append((word, rest))
            with row(vector.name):
                Runner().play(split)


@pytest.mark.requirement("terminal:screen-robust")
@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 200), st.integers(1, 60), st.binary(max_size=200)), max_size=20
    )
)
def test_a_storm_of_sizes_breaks_nothing(storm: list[tuple[int, int, bytes]]) -> None:
    screen = EmulatedScreen(80, 24)
    screen.feed("\r\n".join(f"{n} \x1b[3{n % 8}m漢字 text\x1b[m" * 9 for n in range(50)).encode())
    for columns, rows, data in storm:
        screen.resize(columns, rows)
        screen.feed(data)
        assert len(screen.all_rows()) == rows
        cursor = screen.cursor
        assert cursor is None or (cursor[0] < columns and cursor[1] < rows)
        for row in screen.all_rows():
            assert sum(len(run.text) for run in row) <= columns * 64


@pytest.mark.requirement("terminal:screen-robust")
def test_a_line_of_a_hundred_million_characters_is_taken_in_bounded_memory() -> None:
    screen = EmulatedScreen(120, 40)
    piece = b"0123456789" * 100_000
    for _ in range(100):
        screen.feed(piece)
    assert 9_000 <= screen.scrollback.total <= 12_000
    assert all(row for row in screen.text().split("\n"))
    screen.resize(30, 10)
    assert len(screen.all_rows()) == 10


@pytest.mark.requirement("terminal:screen-robust")
@settings(max_examples=15, deadline=None)
@given(st.integers())
def test_a_long_stream_of_noise_is_survived(seed: int) -> None:
    screen = EmulatedScreen(60, 20)
    screen.reply = lambda _: None
    noise = random.Random(seed)
    for _ in range(6):  # times 15 seeds and 120 kB: more than 10 MB in all
        data = noise.randbytes(60_000)
        # Noise that looks like sequences gets deeper than noise that does not.
        screen.feed(data)
        screen.feed(
            data.translate(bytes((b // 4) + 27 if b > 200 else b % 96 + 27 for b in range(256)))
        )
        screen.dirty_rows()
    screen.feed(b"\x18\x1bc\x1b[Hstill here")
    assert screen.text().split("\n")[0] == "still here"
