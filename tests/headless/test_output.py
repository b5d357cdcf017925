"""Standard output: harmless on a terminal, quiet when nobody reads."""

import io
import os

import pytest

from sam_tui.headless.output import HeadlessOutput, terminal_safe


@pytest.mark.requirement("headless:broken-pipe")
def test_a_reader_that_left_is_noticed_once_and_nothing_more_is_written() -> None:
    reading, writing = os.pipe()
    told: list[str] = []
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        out = HeadlessOutput(stream)
        out.on_failure(lambda: told.append("stop"))
        out.line({"a": 1})
        os.close(reading)
        out.line({"b": "x" * 100_000})
        out.line({"c": 1})
    assert isinstance(out.failure, BrokenPipeError)
    assert told == ["stop"]


@pytest.mark.requirement("headless:broken-pipe")
def test_a_pipe_that_its_maker_left_non_blocking_loses_nothing() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        HeadlessOutput(stream)
        assert os.get_blocking(writing)
    os.close(reading)


@pytest.mark.requirement("headless:terminal-safe")
@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain\ttext\nhere\r\n", "plain\ttext\nhere\n"),
        ("\x1b[2J\x1b]0;owned\x07gone\x1b]52;c;aGk=\x1b\\", "gone"),
        ("a\rb\x08\x7f\x9b31m", "ab31m"),
        ("safe\u202etxt.exe", "safe⟨U+202E⟩txt.exe"),
        ("pass\u200bword.txt \u2066\u3164\u00ad", "pass⟨U+200B⟩word.txt ⟨U+2066⟩⟨U+3164⟩⟨U+00AD⟩"),
        ("emoji 👩\u200d💻 stays", "emoji 👩\u200d💻 stays"),
    ],
)
def test_text_for_a_terminal_moves_no_cursor_and_reorders_nothing(text: str, safe: str) -> None:
    assert terminal_safe(text) == safe


@pytest.mark.requirement("headless:terminal-safe")
def test_text_is_made_safe_wherever_it_goes() -> None:
    stream = io.StringIO()
    HeadlessOutput(stream).text("\x1b[31mred")
    assert stream.getvalue() == "red\n"


@pytest.mark.requirement("headless:text")
def test_text_that_the_encoding_has_no_bytes_for_is_replaced() -> None:
    buffer = io.BytesIO()
    out = HeadlessOutput(io.TextIOWrapper(buffer, encoding="ascii"))
    out.text("café \ud800")
    assert buffer.getvalue() == b"caf? ?\n"
    assert out.failure is None
