import gc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.ports.processes.screens import CellRun, KeyPress
from scripts import ghostty_declarations


def shown(*pieces: str, columns: int = 20, rows: int = 4) -> EmulatedScreen:
    screen = EmulatedScreen(columns, rows)
    for piece in pieces:
        screen.feed(piece.encode())
    return screen


@pytest.mark.requirement("terminal:screen-cells")
def test_colours_and_attributes_become_runs() -> None:
    screen = shown(
        "\x1b[31;1mred\x1b[0m\x1b[38;5;200;48;2;1;2;3mx\x1b[0m\x1b[2;3;4;5;7;8;9mall\x1b[0m plain"
    )
    row = screen.all_rows()[0]
    assert row[0] == CellRun("red", 1, None, frozenset({"bold"}))
    assert row[1] == CellRun("x", 200, (1, 2, 3))
    everything = {"dim", "italic", "underline", "blink", "reverse", "hidden", "strike"}
    assert row[2] == CellRun("all", None, None, frozenset(everything))
    assert row[3].text.rstrip() == " plain"
    assert row[3] == CellRun(row[3].text)


@pytest.mark.requirement("terminal:screen-cells")
def test_a_background_fills_cells_without_text() -> None:
    screen = shown("\x1b[44m\x1b[K\x1b[48;2;9;8;7m\x1b[2;1H\x1b[K", columns=5)
    assert screen.all_rows()[0] == [CellRun("     ", None, 4)]
    assert screen.all_rows()[1] == [CellRun("     ", None, (9, 8, 7))]


@pytest.mark.requirement("terminal:screen-cells")
@pytest.mark.parametrize("text", ["漢字ab", "e\u0301a", "👨\u200d👩\u200d👧x", "한글!"])
def test_wide_and_combined_characters_are_whole(text: str) -> None:
    assert shown(text).text().splitlines()[0] == text


@pytest.mark.requirement("terminal:screen-cells")
def test_the_cursor_is_addressed_shown_and_hidden() -> None:
    screen = shown("\x1b[3;5Hhere")
    assert screen.text().split("\n") == ["", "", "    here", ""]
    assert screen.cursor == (8, 2)
    screen.feed(b"\x1b[?25l")
    assert screen.cursor is None
    screen.feed(b"\x1b[?25h")
    assert screen.cursor == (8, 2)


@pytest.mark.requirement("terminal:screen-cells")
def test_the_alternate_screen_hides_the_first_one_and_gives_it_back() -> None:
    screen = shown("before", "\x1b[?1049h\x1b[Halternate")
    assert screen.text().split() == ["alternate"]
    screen.feed(b"\x1b[?1049l")
    assert screen.text().split() == ["before"]


@pytest.mark.requirement("terminal:screen-dirty")
def test_only_changed_rows_are_dirty_and_only_once() -> None:
    screen = shown("a\r\nb\r\nc")
    assert [y for y, _ in screen.dirty_rows()] == [0, 1, 2, 3]
    assert screen.dirty_rows() == []
    screen.feed(b"\x1b[2;1HB")
    screen.all_rows()
    dirty = dict(screen.dirty_rows())
    assert dirty[1][0].text.rstrip() == "B"
    assert 0 not in dirty
    assert screen.dirty_rows() == []


@pytest.mark.requirement("terminal:screen-scroll")
def test_the_view_moves_through_the_scrollback_and_back() -> None:
    screen = shown(*(f"line {n}\r\n" for n in range(20)))
    assert screen.text().split("\n") == ["line 17", "line 18", "line 19", ""]
    screen.scroll(-5)
    assert screen.text().split("\n") == ["line 12", "line 13", "line 14", "line 15"]
    assert screen.cursor is None
    screen.scroll(2)
    assert screen.text().split("\n")[0] == "line 14"
    screen.scroll(-999)
    assert screen.text().split("\n")[0] == "line 0"
    screen.scroll(0)
    assert screen.text().split("\n") == ["line 17", "line 18", "line 19", ""]


@pytest.mark.requirement("terminal:screen-cells")
def test_a_new_size_wraps_the_text_anew() -> None:
    screen = shown("abcdefghij")
    screen.resize(5, 6)
    assert (screen.columns, screen.rows) == (5, 6)
    assert screen.text().split() == ["abcde", "fghij"]
    assert len(screen.all_rows()) == 6


@pytest.mark.requirement("terminal:screen-answers")
def test_questions_are_answered_and_only_while_somebody_listens() -> None:
    answers: list[bytes] = []
    screen = shown("\x1b[6n")
    screen.reply = answers.append
    screen.feed(b"\x1b[2;3H\x1b[6n\x1b[5n")
    assert answers == [b"\x1b[2;3R\x1b[0n"]
    screen.feed(b"\x1b[c")
    assert answers[1].startswith(b"\x1b[?")


@pytest.mark.requirement("terminal:screen-cells")
def test_a_title_is_one_line_without_control_characters() -> None:
    assert shown("\x1b]2;my title\x07").title == "my title"
    screen = EmulatedScreen(20, 4)
    screen.feed("\x1b]2;\u202eevil\u200b".encode() + b"x" * 5000 + b"\x07")
    assert screen.title == "" or screen.title.isprintable()
    assert len(screen.title) <= 200


KEYS = {
    "a": b"a",
    "A": b"A",
    "é": "é".encode(),
    "exclamation_mark": b"!",
    "minus": b"-",
    "plus": b"+",
    "space": b" ",
    "ctrl+space": b"\x00",
    "ctrl+@": b"\x00",
    "ctrl+a": b"\x01",
    "ctrl+c": b"\x03",
    "ctrl+z": b"\x1a",
    "ctrl+backslash": b"\x1c",
    "ctrl+right_square_bracket": b"\x1d",
    "ctrl+circumflex_accent": b"\x1e",
    "ctrl+underscore": b"\x1f",
    "alt+b": b"\x1bb",
    "alt+full_stop": b"\x1b.",
    "enter": b"\r",
    "tab": b"\t",
    "shift+tab": b"\x1b[Z",
    "escape": b"\x1b",
    "backspace": b"\x7f",
    "alt+backspace": b"\x1b\x7f",
    "up": b"\x1b[A",
    "ctrl+left": b"\x1b[1;5D",
    "shift+down": b"\x1b[1;2B",
    "alt+right": b"\x1b[1;3C",
    "ctrl+shift+right": b"\x1b[1;6C",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    "insert": b"\x1b[2~",
    "delete": b"\x1b[3~",
    "f1": b"\x1bOP",
    "f5": b"\x1b[15~",
    "shift+f5": b"\x1b[15;2~",
    "f12": b"\x1b[24~",
}


@pytest.mark.requirement("terminal:keys")
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_what_terminals_send(key: str) -> None:
    character = key if len(key) == 1 else None
    assert EmulatedScreen(20, 4).input.key(KeyPress(key, character)) == KEYS[key]


@pytest.mark.requirement("terminal:keys")
def test_cursor_keys_follow_the_mode_the_program_chose() -> None:
    screen = shown("\x1b[?1h")
    assert screen.input.key(KeyPress("up", None)) == b"\x1bOA"
    assert screen.input.key(KeyPress("home", None)) == b"\x1bOH"
    screen.feed(b"\x1b[?1l")
    assert screen.input.key(KeyPress("up", None)) == b"\x1b[A"
    screen.feed(b"\x1b[>1u")
    assert screen.input.key(KeyPress("shift+enter", None)) == b"\x1b[13;2u"
    assert screen.input.key(KeyPress("escape", None)) == b"\x1b[27u"


@pytest.mark.requirement("terminal:keys")
def test_enter_and_tab_are_themselves_with_modifiers_unless_a_program_asks_to_tell_them_apart() -> (
    None
):
    screen = EmulatedScreen(20, 4)
    pressed = ("shift+enter", "ctrl+enter", "alt+enter", "ctrl+tab", "backtab")

    def made() -> list[bytes]:
        return [screen.input.key(KeyPress(key, None)) for key in pressed]

    assert made() == [b"\r", b"\r", b"\x1b\r", b"\t", b"\x1b[Z"]
    screen.feed(b"\x1b[>4;2m")
    assert made()[:2] == [b"\x1b[27;2;13~", b"\x1b[27;5;13~"]


@pytest.mark.requirement("terminal:keys")
def test_enter_is_both_ends_of_a_line_in_new_line_mode() -> None:
    screen = EmulatedScreen(20, 4)
    screen.feed(b"\x1b[20h")
    assert screen.input.key(KeyPress("enter", None)) == b"\r\n"
    screen.feed(b"\x1b[20l")
    assert screen.input.key(KeyPress("enter", None)) == b"\r"


@pytest.mark.requirement("terminal:keys")
@pytest.mark.parametrize("key", ["<any>", "", "+", "super+a", "no_such_key", "ctrl+", "++"])
def test_an_unknown_key_types_nothing_unwanted(key: str) -> None:
    assert EmulatedScreen(20, 4).input.key(KeyPress(key, None)) in (b"", b"+")


@pytest.mark.requirement("terminal:keys")
def test_a_paste_is_bracketed_where_asked_and_cannot_break_out() -> None:
    screen = EmulatedScreen(20, 4)
    assert screen.input.paste("one\ntwo") == b"one\rtwo"
    assert screen.input.paste("one\r\ntwo\r\n") == b"one\rtwo\r"
    assert screen.input.paste("") == b""
    screen.feed(b"\x1b[?2004h")
    pasted = screen.input.paste("é\x1b[201~rm -rf /\x03")
    assert pasted.startswith(b"\x1b[200~")
    assert pasted.endswith(b"\x1b[201~")
    assert pasted.count(b"\x1b") == 2
    assert b"\x03" not in pasted
    assert screen.input.paste("a\x9b201~b") == b"\x1b[200~a 201~b\x1b[201~"


@pytest.mark.requirement("terminal:screen-robust")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.text(max_size=20).map(lambda t: t.encode(errors="replace")),
            st.builds(
                "\x1b[{};{}{}".format,
                st.integers(0, 70000),
                st.integers(0, 70000),
                st.characters(min_codepoint=0x40, max_codepoint=0x7E),
            ).map(str.encode),
        ),
        max_size=12,
    ),
    st.integers(1, 60),
    st.integers(1, 20),
)
def test_no_bytes_break_the_screen(pieces: list[bytes], columns: int, rows: int) -> None:
    screen = EmulatedScreen(30, 6)
    screen.reply = lambda _: None
    for piece in pieces:
        screen.feed(piece)
        screen.dirty_rows()
    screen.resize(columns, rows)
    screen.scroll(-2)
    assert len(screen.all_rows()) == rows
    assert len(screen.text().split("\n")) == rows
    assert screen.title.isprintable()
    assert screen.cursor is None or screen.cursor < (columns, rows)


@pytest.mark.requirement("terminal:screen-robust")
def test_a_screen_is_freed_with_its_last_reference() -> None:
    screen = shown("text")
    screen.reply = lambda _: None
    screen.all_rows()
    gone = weakref.ref(screen)
    del screen
    gc.collect()
    assert gone() is None


@pytest.mark.requirement("terminal:declarations")
def test_the_compiled_declarations_are_those_of_the_installed_version() -> None:
    assert ghostty_declarations.source() == ghostty_declarations.FILE.read_text(encoding="utf-8")
