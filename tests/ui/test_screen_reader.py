"""For people who listen: plain lines with labels, nothing that moves, and what happens is said."""

import select
from pathlib import Path

import pytest

from sam_tui.ui.transcript.blocks import Block, Markdown
from sam_tui.ui.transcript.render.spoken import spoken_lines
from tests.ui.test_inline import Around, around

FRAMES = frozenset("▔▁╭╮╰╯│─┃━┏┓┗┛▌▸●⠋⠙⠹⠸")


def words(me: Around) -> str:
    """What the program said, below what the shell had."""
    return me.text().split("$ sam-tui\n", 1)[1]


@pytest.mark.requirement("ui:screen-reader")
def test_a_turn_with_an_approval_is_plain_lines_and_rest_writes_nothing(tmp_path: Path) -> None:
    with around(tmp_path, "--screen-reader", "--permission-mode", "ask-all", "go") as me:
        me.shows("Approval needed: Editing: a.txt", "+three", "1 Allow once. 2 Allow 5 min. 3 Deny")
        me.presses(b"1", lambda: "You allowed" in me.text())
        me.shows("paragraph 39 of it", "Done in ")
        assert b"\x1b[?1049h" not in me.written and b"\x1b[?25l" not in me.written
        lines = words(me)
        assert not FRAMES & set(lines)
        order = ["You: go", "Working.", "Agent: I change it.", "Approval needed", "Decision: "]
        order += ["Tool: Edited: a.txt, done", "Agent: paragraph 0 of it", "Done in "]
        assert [part for part in order if part not in lines] == [], lines
        places = [lines.index(part) for part in order]
        assert places == sorted(places)
        me.silent()
        before = len(me.written)
        assert not select.select([me._master], [], [], 2.0)[0]  # pyright: ignore[reportPrivateUsage]
        assert len(me.written) == before


@pytest.mark.requirement("ui:screen-reader")
def test_dialogs_have_no_frames_and_the_cursor_stands_where_one_types(tmp_path: Path) -> None:
    with around(tmp_path, "--screen-reader") as me:
        me.shows("Ask anything")
        me.type(b"some words")
        me.shows("some words")
        me.silent()
        cursor = me.screen.cursor
        assert cursor is not None
        assert me.screen.text().split("\n")[cursor[1]].startswith("some words")
        assert cursor[0] == len("some words")
        me.type(b"\x1bOP")
        me.shows("type to search")
        me.silent()  # no cursor blinks
        me.type(b"\x1b")
        me.silent()  # a key right behind it would be one with Alt
        me.presses(b"!", lambda: "some words!" in me.screen.text())
        me.type(b"\x15")
        me.until(lambda: "Ask anything" in me.screen.text())
        me.type(b"/model\r")
        me.shows("choose a model", "1 of 2: ")
        me.type(b"\x1b[B")
        me.shows("2 of 2: Scripted demo")
        me.type(b"\x1b")
        me.silent()  # a key right behind it would be one with Alt
        me.presses(b"q", lambda: "q" in me.screen.text().split())
        me.type(b"\x10")
        me.shows("Search for commands", ": Write in the editor")
        me.type(b"\x1b[B")
        me.shows(": Help F1 /help")
        assert not FRAMES & set(words(me))


@pytest.mark.requirement("ui:screen-reader")
def test_tables_are_sentences_and_nothing_in_a_line_draws() -> None:
    table = "Two:\n\n| name | value |\n|---|---|\n| a | 1 |\n| b | \x1b[2J2 |"
    lines = spoken_lines(Block(1, 1, Markdown(table), 0), first=True)
    assert lines[0] == "Agent: Two:"
    assert lines[2] == "name: a; value: 1."
    assert lines[3].startswith("name: b; value: ")
    assert "\x1b" not in "".join(lines)
