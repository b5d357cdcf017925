import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.core.text.plain import PlainStream, escaped, plain


@pytest.mark.requirement("terminal:plain-text")
@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("\x1b[31;1mred\x1b[0m\r\n", "red\n"),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink"),
        ("\x1b(B\x1b=\x1b>\x1bcdone\x1bPq#0\x1b\\", "done"),
        ("\x1b[?2004h$ ls\x07", "$ ls"),
        (" 10%\r 50%\r100%\n", "100%\n"),
        ("long line\rshort\n", "shortline\n"),
        ("a\bab\bbc", "abc"),
        ("\x1b]open\nnext line", "\nnext line"),
        ("cut \x1b[3", "cut \\x1b[3"),
        ("", ""),
    ],
)
def test_control_sequences_take_effect_or_go(raw: str, read: str) -> None:
    assert plain(raw) == read


@pytest.mark.requirement("terminal:plain-text")
@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("vs\U000e0100\ufe00", "vs\\U000e0100\\ufe00"),
        ("\x00\x9b\x7f", "\\x00\\x9b\\x7f"),
        ("half \ud800", "half \\ud800"),
        ("line\u2028separator", "line\\u2028separator"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("👨\u200d👩 ❤\ufe0f ن\u200cم no\u00a0break", "👨\u200d👩 ❤\ufe0f ن\u200cم no break"),
    ],
)
def test_what_hides_or_reorders_is_shown_and_what_scripts_need_stays(raw: str, read: str) -> None:
    assert escaped(raw) == read
    assert plain(raw) == read


@pytest.mark.requirement("terminal:plain-text")
@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab\x1b[]0;m?\\\x07\r\n\bP\u202e漢"), max_size=60))
def test_nothing_but_text_is_ever_left(raw: str) -> None:
    left = plain(raw)
    assert all(c in "\n\t" or c.isprintable() for c in left)


@pytest.mark.requirement("terminal:plain-text")
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_pieces_of_a_stream_show_no_cut_sequences(size: int) -> None:
    raw = "\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07text\x1b]8;;x\x1b\\link\r\nend\x1b(B."
    heard: list[str] = []
    stream = PlainStream(heard.append)
    for start in range(0, len(raw), size):
        stream(raw[start : start + size])
    assert "".join(heard) == "red\ntextlink\nend."
