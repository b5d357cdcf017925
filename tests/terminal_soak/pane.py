"""What stands in the pane, cell by cell: as the terminal around shows it, and as a recording has it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from rich.cells import split_graphemes

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.recordings.asciicast import Recording, Stage, play
from sam_tui.core.ports.processes.screens import CellRun

Look = tuple[object, object, frozenset[str]]
"""Foreground, background and attributes."""
Cell = tuple[str, Look]
_AS_BOLD = {"blink": "bold"}
"""What the workbench draws in another way on purpose."""
_SEEN_ON_BLANKS = frozenset(["underline", "reverse", "strike"])


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell that is not drawn as the program printed it."""

    row: int
    column: int
    printed: object
    drawn: object


def cells(screen: EmulatedScreen) -> list[list[Cell]]:
    """Every cell of a screen; the second half of a wide character is empty text."""
    return [_line(row) for row in screen.all_rows()]


def _line(row: Sequence[CellRun]) -> list[Cell]:
    line: list[Cell] = []
    for run in row:
        names = frozenset(_AS_BOLD.get(name, name) for name in run.attributes)
        look: Look = (run.foreground, run.background, names)
        if run.cells:
            line.extend([(normalize("NFC", run.text), look), ("", look)][: run.cells])
            continue
        for first, last, width in split_graphemes(run.text)[0]:
            line.append((normalize("NFC", run.text[first:last]), look))
            line.extend([("", look)] * (width - 1))
    return line


def frame(grid: list[list[Cell]], tab: str) -> tuple[int, int] | None:
    """Row and column of the upper left corner of the frame whose border names a tab, if it is in sight."""
    for top, row in enumerate(grid):
        text = _text(row)
        left = text.rfind("╭")
        if left >= 0 and tab in text[left:]:
            return top, left
    return None


def drawn_pane(around: EmulatedScreen, tab: str) -> list[list[Cell]]:
    """The cells within the frame whose border names a tab; none while something lies over that."""
    grid = cells(around)
    corner = frame(grid, tab)
    if corner is None:
        return []
    top, left = corner
    right = _text(grid[top]).rfind("╮")
    bottom = next((y for y in range(top, len(grid)) if grid[y][left][0] == "╰"), top)
    return [row[left + 1 : right] for row in grid[top + 1 : bottom]]


def tab_look(around: EmulatedScreen, tab: str) -> Look | None:
    """How the border writes a tab's name: another way while it has the keys. None while out of sight."""
    for row in around.all_rows():
        text = "".join(run.text for run in row)
        if "╭" in text and tab in text[text.rindex("╭") :]:
            line = _line(row)
            return line[_text(line).rindex(tab)][1]
    return None


def _text(row: list[Cell]) -> str:
    """A row, one character a cell."""
    return "".join(cell[0][:1] or " " for cell in row)


def printed_pane(recording: Path) -> EmulatedScreen:
    """An emulator of our own, fed with what a recording says was printed."""
    screen = EmulatedScreen(10, 10)
    stage = Stage(screen.feed, screen.resize)
    asyncio.run(play(Recording(str(recording)), stage, longest_pause=0))
    return screen


def printed_picture(path: Path) -> EmulatedScreen:
    """An emulator of our own, fed with what ``picture.py`` says it printed last."""
    size, _, data = path.read_bytes().partition(b"\n")
    screen = EmulatedScreen(*map(int, size.split()))
    screen.feed(data)
    return screen


def differences(printed: EmulatedScreen, drawn: list[list[Cell]]) -> list[Difference]:
    """Where the pane does not show what was printed.

    Text is compared as it is, and of a blank what can be seen: the driver writes no more of it. The
    workbench chooses the colours of cells that have none of their own, and the theme those of the palette:
    so looks of one kind must all be drawn in one way, and over one background.
    """
    wanted = cells(printed)
    size = (len(wanted), {len(row) for row in wanted})
    if size != (len(drawn), {len(row) for row in drawn}):
        return [Difference(-1, -1, size, (len(drawn), {len(row) for row in drawn}))]
    found: list[Difference] = []
    ways: dict[Look, Look] = {}
    grounds: dict[Look, object] = {}
    for y, (wanted_row, drawn_row) in enumerate(zip(wanted, drawn, strict=True)):
        for x, cell in enumerate(zip(wanted_row, drawn_row, strict=True)):
            want, have = map(_seen, cell)
            look = cell[0][1]
            ground = grounds.setdefault(look, have[1][1])
            blank = (None, ground, frozenset[str]())
            way = ways.setdefault(look, have[1]) if _is_inked(cell[0]) else blank
            if have[1][1] != ground or (want[0], way) != have or _other(want[1], way):
                found.append(Difference(y, x, want, have))
    return found


def _seen(cell: Cell) -> Cell:
    """What can be seen of a cell: of a blank that nothing is drawn through, its background."""
    text, look = cell
    return (text, look) if _is_inked(cell) else (text, (None, look[1], frozenset()))


def _is_inked(cell: Cell) -> bool:
    text, (_, _, names) = cell
    return text != " " or not names.isdisjoint(_SEEN_ON_BLANKS)


def _other(want: Look, have: Look) -> bool:
    """Whether a colour that the program spelled out became another, or an attribute went."""
    exact = all(
        have[place] == want[place]
        for place in (0, 1)
        if isinstance(want[place], tuple) and "dim" not in want[2] and "reverse" not in want[2]
    )
    return not exact or not want[2] - {"dim"} <= have[2]
