import time

import pytest

from sam_tui.adapters.terminal.emulator import host
from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.ports.processes.screens import CellRun, ClipboardRequest, MouseInput, TextSpan


def shown(*pieces: str, columns: int = 20, rows: int = 4) -> EmulatedScreen:
    screen = EmulatedScreen(columns, rows)
    for piece in pieces:
        screen.feed(piece.encode())
    return screen


def clicked(
    screen: EmulatedScreen, action: str = "press", button: str | None = "left", **more: int
) -> bytes:
    place = {"column": 3, "row": 1} | more
    return screen.input.mouse(MouseInput(action, button, **place))  # pyright: ignore[reportArgumentType]


# ---- links, cursor, synchronized output


@pytest.mark.requirement("terminal:screen-links")
def test_a_link_is_told_with_its_text_and_cuts_runs_at_its_ends() -> None:
    screen = shown("a \x1b]8;;http://x.y/1\x1b\\漢l\x1b[1mink\x1b[m\x1b]8;;\x1b\\ b")
    row = screen.all_rows()[0]
    assert row[:4] == [
        CellRun("a "),
        CellRun("漢l", link="http://x.y/1"),
        CellRun("ink", attributes=frozenset({"bold"}), link="http://x.y/1"),
        CellRun(" b" + " " * 10),
    ]
    assert dict(screen.dirty_rows())[0] == row
    assert screen.text().split("\n")[0] == "a 漢link b"


@pytest.mark.requirement("terminal:screen-links")
def test_neighbouring_links_and_wrapped_ones_are_told_apart() -> None:
    screen = shown(
        "\x1b]8;;http://a\x07one\x1b]8;;http://b\x07two three four\x1b]8;;\x07", columns=10
    )
    first, second = screen.all_rows()[:2]
    assert first == [CellRun("one", link="http://a"), CellRun("two thr", link="http://b")]
    assert second[0] == CellRun("ee four", link="http://b")


@pytest.mark.requirement("terminal:screen-links")
def test_an_address_too_long_to_be_read_is_none() -> None:
    screen = shown(f"\x1b]8;;http://{'x' * 5000}\x07text\x1b]8;;\x07")
    assert screen.all_rows()[0][0].link == ""


@pytest.mark.requirement("terminal:screen-cursor")
@pytest.mark.parametrize(
    ("style", "shape", "blinks"),
    [
        (1, "block", True),
        (2, "block", False),
        (3, "underline", True),
        (4, "underline", False),
        (5, "bar", True),
        (6, "bar", False),
    ],
)
def test_the_cursor_has_the_shape_the_program_chose(
    style: int, shape: str, *, blinks: bool
) -> None:
    screen = shown(f"\x1b[{style} q")
    assert (screen.cursor_shape, screen.cursor_blinks) == (shape, blinks)


@pytest.mark.requirement("terminal:screen-held")
def test_what_is_half_drawn_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    screen = shown("before")
    screen.dirty_rows()
    screen.feed(b"\x1b[?2026h\x1b[Hhalf")
    assert (screen.drawing, screen.dirty_rows()) == (True, ())
    screen.feed(b"way\x1b[?2026l")
    assert not screen.drawing
    assert [y for y, _ in screen.dirty_rows()] == [0]
    screen.feed(b"\x1b[?2026hnever ends")
    assert screen.dirty_rows() == ()
    now += host.LONGEST_HOLD
    assert [y for y, _ in screen.dirty_rows()] == [0]


# ---- the clipboard, the bell, colours


@pytest.mark.requirement("terminal:screen-clipboard")
def test_programs_only_ask_for_the_clipboard() -> None:
    screen = EmulatedScreen(20, 4)
    answers: list[bytes] = []
    asked: list[ClipboardRequest] = []
    screen.reply = answers.append
    ask = b"\x1b]52;c;aMOp\x07\x1b]52;c;?\x07\x1b]52;p;?\x1b\\"
    screen.feed(ask)
    screen.on_clipboard(asked.append)
    screen.feed(ask)
    assert asked == [
        ClipboardRequest("write", "hé", "clipboard"),
        ClipboardRequest("read", "", "clipboard"),
        ClipboardRequest("read", "", "primary"),
    ]
    assert answers == []
    screen.answer_clipboard("né")
    assert answers == [b"\x1b]52;c;bsOp\x1b\\"]


@pytest.mark.requirement("terminal:screen-clipboard")
def test_a_flood_of_clipboard_requests_is_bounded() -> None:
    screen = EmulatedScreen(20, 4)
    asked: list[ClipboardRequest] = []
    screen.on_clipboard(asked.append)
    screen.feed(b"\x1b]52;c;?\x07" * 1000)
    screen.feed(b"\x1b]52;c;" + b"QUFB" * 200_000 + b"\x07")
    assert len(asked) <= 4


@pytest.mark.requirement("terminal:screen-answers")
def test_colours_are_told_once_they_are_known() -> None:
    screen = EmulatedScreen(20, 4)
    answers: list[bytes] = []
    screen.reply = answers.append
    screen.use_colours((255, 255, 255), (0, 0, 16), dark=True)
    screen.feed(b"\x1b]10;?\x07\x1b]11;?\x07\x1b[?996n")
    assert b"".join(answers) == (
        b"\x1b]10;rgb:ffff/ffff/ffff\x07\x1b]11;rgb:0000/0000/1010\x07\x1b[?997;1n"
    )
    answers.clear()
    screen.use_colours((0, 0, 0), (255, 255, 255), dark=False)
    screen.feed(b"\x1b[?996n")
    assert answers == [b"\x1b[?997;2n"]


@pytest.mark.requirement("terminal:screen-colours")
def test_plain_text_in_reverse_has_the_colours_of_each_other() -> None:
    screen = shown("a\x1b[31mb")
    screen.use_colours((200, 200, 200), (10, 10, 10), dark=True)
    screen.dirty_rows()
    screen.feed(b"\x1b[?5h")
    rows = dict(screen.dirty_rows())
    assert len(rows) == 4
    assert rows[0][0] == CellRun("a", (10, 10, 10), (200, 200, 200))
    assert rows[0][1] == CellRun("b", 1, (200, 200, 200))
    screen.feed(b"\x1b[?5l")
    assert dict(screen.dirty_rows())[0][0] == CellRun("a")
    assert screen.dirty_rows() == []


@pytest.mark.requirement("terminal:screen-colours")
def test_a_chosen_colour_draws_all_rows_once_and_a_new_theme_is_none() -> None:
    screen = shown("plain")
    screen.use_colours((200, 200, 200), (10, 10, 10), dark=True)
    screen.dirty_rows()
    screen.feed(b"\x1b]11;#102030\x07")
    assert [y for y, _ in screen.dirty_rows()] == [0, 1, 2, 3]
    assert screen.dirty_rows() == []
    screen.feed(b"\x1b]111\x07")
    screen.use_colours((0, 0, 0), (255, 255, 255), dark=False)
    assert screen.all_rows()[0] == [CellRun("plain" + " " * 15)]


@pytest.mark.requirement("terminal:screen-colours")
def test_the_cursor_has_the_colour_that_a_program_chose() -> None:
    screen = shown("")
    assert screen.cursor_colour is None
    screen.feed(b"\x1b]12;#ff8000\x07")
    assert screen.cursor_colour == (255, 128, 0)
    screen.feed(b"\x1b]112\x07")
    assert screen.cursor_colour is None


@pytest.mark.requirement("terminal:screen-answers")
def test_a_program_that_asked_for_it_is_told_a_new_size() -> None:
    screen = shown("\x1b[?2048h")
    answers: list[bytes] = []
    screen.reply = answers.append
    screen.resize(30, 5)
    assert answers == [b"\x1b[48;5;30;80;240t"]


@pytest.mark.requirement("terminal:screen-answers")
def test_the_bell_is_heard_once_for_each_piece_of_output() -> None:
    screen = EmulatedScreen(20, 4)
    rung: list[int] = []
    screen.on_bell(lambda: rung.append(1))
    screen.feed(b"\x07" * 50)
    screen.feed(b"no bell: \x1b]2;title\x07")
    assert rung == [1]


# ---- mouse and focus


@pytest.mark.requirement("terminal:mouse")
def test_the_mouse_is_silent_until_a_program_wants_it() -> None:
    screen = EmulatedScreen(20, 4)
    assert (screen.input.mouse_mode, clicked(screen)) == ("none", b"")
    screen.feed(b"\x1b[?1000h")
    assert (screen.input.mouse_mode, clicked(screen)) == ("click", b'\x1b[M $"')
    screen.feed(b"\x1b[?1006h")
    assert clicked(screen) == b"\x1b[<0;4;2M"
    assert clicked(screen, "release") == b"\x1b[<0;4;2m"
    assert clicked(screen, button="right", ctrl=True) == b"\x1b[<18;4;2M"
    assert clicked(screen, button="wheel_up") == b"\x1b[<64;4;2M"
    assert clicked(screen, button="wheel_down", shift=True) == b"\x1b[<69;4;2M"
    assert clicked(screen, "motion") == b""


@pytest.mark.requirement("terminal:mouse")
def test_dragging_and_moving_are_told_cell_by_cell_where_wanted() -> None:
    screen = shown("\x1b[?1002;1006h")
    assert screen.input.mouse_mode == "drag"
    clicked(screen)
    assert clicked(screen, "motion", column=4) == b"\x1b[<32;5;2M"
    assert clicked(screen, "motion", column=4) == b""
    assert clicked(screen, "motion", column=5) == b"\x1b[<32;6;2M"
    assert clicked(screen, "motion", None, column=6) == b""
    screen.feed(b"\x1b[?1003h")
    assert screen.input.mouse_mode == "motion"
    assert clicked(screen, "motion", None, column=7) == b"\x1b[<35;8;2M"


@pytest.mark.requirement("terminal:mouse")
@pytest.mark.parametrize(
    ("modes", "press", "release", "far"),
    [
        ("9", b'\x1b[M $"', b"", b""),
        ("1000", b'\x1b[M $"', b'\x1b[M#$"', b""),
        ("1000;1005", "\x1b[M \u011b\x99".encode(), "\x1b[M#\u011b\x99".encode(), None),
        ("1000;1015", b"\x1b[32;4;2M", b"\x1b[35;4;2M", b"\x1b[32;251;121M"),
        ("1000;1006", b"\x1b[<0;4;2M", b"\x1b[<0;4;2m", b"\x1b[<0;251;121M"),
        ("1000;1016", b"\x1b[<0;28;24M", b"\x1b[<0;28;24m", b"\x1b[<0;2004;1928M"),
    ],
)
def test_a_click_is_told_in_the_encoding_that_was_asked_for(
    modes: str, press: bytes, release: bytes, far: bytes | None
) -> None:
    screen = shown(f"\x1b[?{modes}h", columns=300, rows=200)
    if far is None:  # where both are big enough to be two bytes long
        assert clicked(screen, column=250, row=120) == press
        assert clicked(screen, "release", column=250, row=120) == release
    else:
        assert (clicked(screen), clicked(screen, "release")) == (press, release)
        assert clicked(screen, column=250, row=120) == far
    screen.feed(b"\x1bc")
    assert (screen.input.mouse_mode, clicked(screen)) == ("none", b"")


@pytest.mark.requirement("terminal:mouse")
def test_a_click_outside_counts_at_the_edge() -> None:
    screen = shown("\x1b[?1000;1006h")
    assert clicked(screen, column=999, row=-4) == b"\x1b[<0;20;1M"


@pytest.mark.requirement("terminal:mouse")
def test_the_wheel_is_cursor_keys_on_an_alternate_screen_without_mouse() -> None:
    screen = EmulatedScreen(20, 4)
    assert clicked(screen, button="wheel_up") == b""
    screen.feed(b"\x1b[?1049h")
    assert screen.alternate
    assert clicked(screen, button="wheel_up") == b"\x1b[A" * 3
    screen.feed(b"\x1b[?1h")
    assert clicked(screen, button="wheel_down") == b"\x1bOB" * 3
    screen.feed(b"\x1b[?1007l")
    assert clicked(screen, button="wheel_down") == b""


@pytest.mark.requirement("terminal:mouse")
def test_focus_is_told_where_asked() -> None:
    screen = EmulatedScreen(20, 4)
    assert screen.input.focus(gained=True) == b""
    screen.feed(b"\x1b[?1004h")
    assert screen.input.focus(gained=True) == b"\x1b[I"
    assert screen.input.focus(gained=False) == b"\x1b[O"


# ---- scrollback


@pytest.mark.requirement("terminal:scrollback")
def test_ten_thousand_lines_are_kept_and_not_many_more() -> None:
    screen = EmulatedScreen(80, 24)
    for start in range(0, 30_000, 1000):
        screen.feed(
            "".join(f"line {n} {'x' * 60}\r\n" for n in range(start, start + 1000)).encode()
        )
    assert 9_500 <= screen.scrollback.total <= 12_000
    oldest = screen.scrollback.text((0, 0), (79, 0))
    assert 18_000 <= int(oldest.split()[1]) <= 20_500


@pytest.mark.requirement("terminal:scrollback")
def test_text_is_taken_with_soft_wraps_joined() -> None:
    screen = shown("one two three four five six  \r\nseven\r\n", columns=10)
    assert screen.scrollback.text((0, 0), (9, 3)) == "one two three four five six\nseven"
    assert screen.scrollback.text((4, 0), (2, 1)) == "two three"
    assert screen.scrollback.text((2, 1), (4, 0)) == "two three"
    assert screen.scrollback.text((0, -5), (99, 99)) == screen.scrollback.text((0, 0), (9, 3))
    assert screen.scrollback.text((0, 99), (0, 120)) == ""


@pytest.mark.requirement("terminal:scrollback")
def test_a_search_finds_across_wraps_and_the_view_goes_there() -> None:
    screen = shown(*(f"{n} a needle in line\r\n" for n in range(30)), columns=8)
    found = screen.scrollback.search("NEEDLE IN", limit=2)
    assert len(found) == 2
    assert [screen.scrollback.text(span.start, span.end) for span in found] == ["needle in"] * 2
    assert found[0].start[1] > found[1].start[1]
    assert len(screen.scrollback.search("needle in")) == 30
    screen.scroll_to(found[1].start[1])
    assert screen.scrollback.top == found[1].start[1]
    assert screen.text().split("\n")[0].startswith("28 a nee")
    screen.scroll(0)
    assert screen.scrollback.top == screen.scrollback.total - 4


@pytest.mark.requirement("terminal:scrollback")
@pytest.mark.parametrize("needle", ["", "absent", "x" * 10_000, "\x00", "\ud800"])
def test_a_search_for_what_is_not_there_finds_nothing(needle: str) -> None:
    assert list(shown("some text").scrollback.search(needle)) == []


@pytest.mark.requirement("terminal:scrollback")
def test_the_word_at_a_cell_is_found() -> None:
    screen = shown("see src/main.py now")
    span = screen.scrollback.word_at(6, 0)
    assert span is not None
    assert span == TextSpan((4, 0), (14, 0))
    assert screen.scrollback.text(span.start, span.end) == "src/main.py"
    assert screen.scrollback.word_at(6, 3) is None
    assert screen.scrollback.word_at(99, 0) is None
    assert screen.scrollback.word_at(0, 99) is None


@pytest.mark.requirement("terminal:mouse")
def test_the_mouse_is_wanted_as_the_last_mode_says_and_free_once_it_ended() -> None:
    screen = shown("\x1b[?1003h\x1b[?1000h\x1b[?1006h")
    assert screen.input.mouse_mode == "click"
    assert clicked(screen, "motion", None) == b""
    screen.feed(b"\x1b[?1000l")
    assert screen.input.mouse_mode == "none"
    assert clicked(screen) == b""


@pytest.mark.requirement("terminal:screen-answers")
def test_a_change_between_light_and_dark_is_told_to_a_program_that_wants_to_hear_of_it() -> None:
    screen = EmulatedScreen(20, 4)
    told: list[bytes] = []
    screen.reply = told.append
    white, black = (255, 255, 255), (0, 0, 0)
    screen.use_colours(black, white, dark=False)
    screen.feed(b"\x1b[?2031h")
    screen.use_colours(black, white, dark=False)
    assert told == []
    screen.use_colours(white, black, dark=True)
    screen.use_colours(black, white, dark=False)
    assert told == [b"\x1b[?997;1n", b"\x1b[?997;2n"]
    screen.feed(b"\x1b[?996n")
    assert told[2:] == [b"\x1b[?997;2n"]
