"""What looking at a program's output costs, in calls of Python: the library parses, we only look."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import pytest

from sam_tui.adapters.terminal.emulator.rectangles import MOST_CELLS
from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.person_input.redaction import HIDDEN
from sam_tui.adapters.terminal.sessions.agent_view import AgentView

SIZE = 120, 40
PIECE = 32 * 1024
MEGABYTE = 1_000_000
MOST_CALLS = 200
"""Of Python, and by it, for each piece of output that holds nothing for us."""
PLACES = [(n % 40 + 1, n * 7 % 110 + 1) for n in range(1000)]
OUTPUT = {
    "short lines": b"y\r\n",
    "colours": b"".join(b"\x1b[38;2;%d;%d;90mx\x1b[48;5;%dm" % (n, n, n) for n in range(256)),
    "cursor": b"".join(b"\x1b[%d;%dHx\x1b[K\x1b[2D\x1b[?7l" % place for place in PLACES),
    "hidden cursor": b"".join(b"\x1b[?25l\x1b[%d;%dHx\x1b[?25h" % place for place in PLACES),
    "titles and links": b"\x1b]0;title\x07\x1b]8;;http://a\x1b\\a\x1b]8;;\x1b\\\x1b]133;A\x07" * 50,
    "scrolling": b"\x1b[2;9r\x1b[3L\x1b[2M\x1b[4P\x1b[2S\x1b(B\x1b[r" * 50,
}


@contextmanager
def counted_calls() -> Generator[Callable[[], int]]:
    """Counts calls of functions of Python and of C, but those that are neither ours nor by us."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield lambda: count
    finally:
        sys.setprofile(before)


@pytest.mark.requirement("terminal:scan")
@pytest.mark.parametrize("kind", OUTPUT)
def test_a_piece_of_output_costs_some_calls_however_many_sequences_it_holds(kind: str) -> None:
    screen = EmulatedScreen(*SIZE)
    data = OUTPUT[kind] * (MEGABYTE // len(OUTPUT[kind]))
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    screen.feed(pieces[0])
    with counted_calls() as calls:
        for piece in pieces:
            screen.feed(piece)
        assert calls() <= MOST_CALLS * len(pieces)


@pytest.mark.requirement("terminal:scan")
def test_operations_on_rectangles_are_bounded_in_each_piece_of_output() -> None:
    screen = EmulatedScreen(*SIZE)
    whole = MOST_CELLS // (SIZE[0] * SIZE[1])
    screen.feed(b"\x1b[43$x" * whole + b"\x1b[42$x" * 2000)
    assert "*" not in screen.text() and "+" in screen.text()
    screen.feed(b"\x1b[42$x")
    assert "*" in screen.text() and "+" not in screen.text()


@pytest.mark.requirement("terminal:scan")
def test_covering_a_flood_while_the_person_holds_it_costs_some_calls_a_piece() -> None:
    view = AgentView(SIZE, "")
    view.begin()
    piece = OUTPUT["short lines"] * (PIECE // len(OUTPUT["short lines"]))
    view.feed(piece, visible=False)
    with counted_calls() as calls:
        view.feed(piece, visible=False)
        assert calls() <= MOST_CALLS
    view.feed("é\x1b[31mab\x1b]0;title\x07cd".encode(), visible=False)
    assert "y" not in view.screen.text()
    assert view.screen.text().rstrip().endswith("\n" + HIDDEN * 5)
