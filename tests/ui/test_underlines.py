"""Kinds and colours of underlines, from a program in the pane to the terminal around the workbench."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.recordings.picture import drawn
from sam_tui.core.ports.processes.screens import CellRun
from sam_tui.core.text.underlines import drawn_by
from tests.ui.test_disputed_widths import Outside

LINES = {
    "plain": ("4", set[str](), None),
    "double": ("4:2", {"double"}, None),
    "curly": ("4:3;58:2::1:2:3", {"curly"}, (1, 2, 3)),
    "dotted": ("4:4;31;1", {"dotted"}, None),
    "dashed": ("4:5;58:5:9", {"dashed"}, 9),
    "coloured": ("4;58:2::9:8:7", set[str](), (9, 8, 7)),
}
PRINTED = "".join(f"\\033[{codes}m{name}\\033[m\\n" for name, (codes, _, _) in LINES.items())


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Callable[[str], Outside]]:
    opened: list[Outside] = []

    def open_one(term: str) -> Outside:
        opened.append(Outside(tmp_path, clusters=True, term=term))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()


def underlined_runs(screen: EmulatedScreen) -> dict[str, CellRun]:
    """The underlined runs of a screen, by their text."""
    runs = [run for row in screen.all_rows() for run in row]
    return {run.text: run for run in runs if "underline" in run.attributes}


@pytest.mark.requirement("ui:terminal-underlines")
@pytest.mark.parametrize(
    ("term", "kinds_drawn"), [("xterm-ghostty", True), ("xterm-256color", False)]
)
def test_underlines_keep_their_kind_and_colour_where_the_terminal_around_draws_them(
    terminals: Callable[[str], Outside], term: str, kinds_drawn: bool
) -> None:
    outside = terminals(term)
    outside.shows("● ready")
    outside.type(b"\x1d")
    outside.shows("twice leaves")
    outside.type(f"clear; printf '{PRINTED}'; echo the-'end'\r".encode())
    outside.shows("the-end")
    runs = underlined_runs(outside.screen)
    for name, (_, kinds, colour) in LINES.items():
        attributes = runs[name].attributes - {"underline", "bold"}
        expected = (kinds, colour) if kinds_drawn else (set[str](), None)
        assert (attributes, runs[name].underline) == expected, name


@pytest.mark.requirement("ui:terminal-underlines")
def test_a_picture_of_a_screen_has_its_underlines_or_plain_ones() -> None:
    screen = EmulatedScreen(20, 8)
    screen.feed(PRINTED.replace("\\033", "\033").replace("\\n", "\r\n").encode())
    for underlines in (True, False):
        copy = EmulatedScreen(20, 8)
        copy.feed(drawn(screen, underlines=underlines).encode())
        runs = underlined_runs(copy)
        for name, (_, kinds, colour) in LINES.items():
            expected = (kinds, colour) if underlines else (set[str](), None)
            attributes = runs[name].attributes - {"underline", "bold"}
            assert (attributes, runs[name].underline) == expected, name


@pytest.mark.requirement("ui:terminal-underlines")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("", False),
        ("TERM=dumb", False),
        ("TERM=linux", False),
        ("TERM=xterm-256color", False),
        ("TERM=no-such-terminal", False),
        ("TERM=xterm-kitty", True),
        ("TERM=foot-extra", True),
        ("TERM=xterm-256color VTE_VERSION=7600", True),
        ("TERM=xterm-256color VTE_VERSION=4900", False),
        ("TERM=xterm-256color VTE_VERSION=new", False),
        ("TERM=linux VTE_VERSION=7600", False),
        ("TERM=xterm-256color KONSOLE_VERSION=230800", True),
        ("TERM=xterm-256color TERM_PROGRAM=WezTerm", True),
        ("TERM=xterm-256color TERM_PROGRAM=Apple_Terminal", False),
        ("TERM=screen-256color TERM_PROGRAM=tmux", True),
        ("TERM=screen-256color TERM_PROGRAM=WezTerm", False),
        ("TERM=xterm TERM_PROGRAM=tmux", False),
    ],
)
def test_only_terminals_that_are_known_to_draw_kinds_get_them(
    environment: str, expected: bool
) -> None:
    assert drawn_by(dict(part.split("=") for part in environment.split())) is expected
