"""What the terminal around sends, as the workbench takes it."""

import os
from queue import Queue
from selectors import SelectSelector
from threading import Thread
from typing import Any

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from sam_tui.ui.driver.keys import ESCAPE_WITHIN, Ending, Pastes, TerminalAnswers, read_input


def heard(data: bytes) -> list[str]:
    """What is told of these bytes: keys by name, pastes as ``paste: text``."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    told: list[Message] = []
    try:
        read_input(reading, Ending(), told.append, TerminalAnswers(told.append), debug=False)
    finally:
        os.close(reading)
    return [
        f"paste: {message.text}" if isinstance(message, events.Paste) else message.key
        for message in told
        if isinstance(message, (events.Key, events.Paste))
    ]


@pytest.mark.requirement("ui:input")
def test_nothing_in_a_paste_is_a_key() -> None:
    pasted = b"\x1b[200~one\x1b[31m two\nrm x\n\x1b\x1b[A\x1b[<0;1;1M\x1b[201~z\x1b[A"
    assert heard(pasted) == ["paste: one[31m two\nrm x\n[A[<0;1;1M", "z", "up"]


@pytest.mark.requirement("ui:input")
def test_a_paste_is_the_same_however_its_bytes_come() -> None:
    text = "a\x1b[200~one\x1b[2Jtwo\x1b\x1b[201~\x1b[200~\x1b[200~b\x1b[20\x1b[201~c\x1b[B"
    wanted = "a\x1b[200~one[2Jtwo\x1b[201~\x1b[200~[200~b[20\x1b[201~c\x1b[B"
    for size in range(1, len(text) + 1):
        pastes, parser = Pastes(), XTermParser(debug=False)
        tamed = [pastes.tamed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(tamed) == wanted
        told = [message for piece in tamed if piece for message in parser.feed(piece)]
        assert [m.text for m in told if isinstance(m, events.Paste)] == ["one[2Jtwo", "[200~b[20"]


@pytest.mark.requirement("ui:input")
def test_reading_sleeps_until_there_is_input_or_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    select = SelectSelector.select

    def counted(self: SelectSelector, timeout: float | None = None) -> Any:
        waits.append(timeout)
        return select(self, timeout)

    monkeypatch.setattr(SelectSelector, "select", counted)
    (reading, writing), ended, told = os.pipe(), Ending(), Queue[Message]()
    answers = TerminalAnswers(told.put)
    for _ in range(2):  # as before and after the workbench is stopped with Ctrl+Z
        thread = Thread(target=lambda: read_input(reading, ended, told.put, answers, debug=False))
        thread.start()
        os.write(writing, b"a\x1b")
        assert [told.get().key, told.get().key] == ["a", "escape"]  # pyright: ignore
        ended.set()
        thread.join()
        ended.clear()
    os.close(reading)
    os.close(writing)
    assert waits[0] is waits[-1] is None
    assert {wait for wait in waits if wait is not None} == {ESCAPE_WITHIN}


@pytest.mark.requirement("ui:input")
def test_bytes_that_are_no_text_break_nothing() -> None:
    assert heard(b"a\xffb\xc3") == ["a", "replacement_character", "b"]
    assert heard("é漢".encode()) == ["é", "漢"]


@pytest.mark.requirement("ui:input")
@pytest.mark.parametrize(
    ("data", "keys"),
    [
        ("\x1b[97;5:1ub\x1b[97;5:3u\x1b[1;5:2A\x1b[1;5:3A", ["ctrl+a", "b", "ctrl+up"]),  # kinds
        (
            "\x1b[97:65;6u\x1b[98:66:98;5u\x1b[:;:u",
            ["ctrl+shift+a", "ctrl+b", "\x01"],
        ),  # other keys
        ("\x1b[1114112u\x1b[97;;1114112u", []),  # no character
        ("\x1b[48;24;80;0;0t\x1b[<0;5;5M\x1b[<0;5;5m", []),  # no pixels
        ("\x1b[48;0;0;0;0t\x1b[<64;99999;99999M\x1b[<0;0;0M\x1b[M\x7f\x7f\x7f", []),
    ],
)
def test_no_sequence_ends_the_reading(data: str, keys: list[str]) -> None:
    assert heard(f"{data}z".encode()) == [*keys, "z"]
