"""Terminals that are not UTF-8: ASCII frames and marks, as many cells as before, and one warning."""

import json
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import sam_tui
from sam_tui.core.text import charsets

NOT_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
BY_ITS_LOCALE = {"LC_ALL": "C"}
"""Python takes such a terminal for UTF-8."""
plain_path = pytest.mark.skipif(
    not sys.prefix.isascii(),
    reason="with such a locale Python reads no path file that is not ASCII",
)
MARGIN = frozenset("␡")
"""A deleted character, which is a question mark in ASCII, too."""


def on_terminal(words: list[str], environ: dict[str, str], until: bytes = b"") -> bytes:
    """What the program writes to a terminal, to its end or until a text came."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (40, 100))
    program = subprocess.Popen(
        [sys.executable, "-P", "-m", "sam_tui", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", **environ},
        start_new_session=True,
    )
    os.close(theirs)
    written = b""
    try:
        while not until or until not in written:
            try:
                written += os.read(ours, 65536)
            except OSError:  # how Linux says that nobody is at the other end
                break
    finally:
        program.kill()
        program.wait()
        os.close(ours)
    return written


@pytest.mark.requirement("ui:not-utf8")
@plain_path
def test_a_terminal_that_is_not_utf8_gets_ascii_frames_and_a_warning(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "- one … 日本 “two” ✓\n\nthe-end"}]))
    words = ["-C", str(tmp_path), "--data-dir", str(tmp_path / "data")]
    words += ["--model", f"scripted:{script}", "go"]
    drawn = on_terminal(words, NOT_UTF8, b"the-end").decode("ascii")
    assert re.search(r"\+(\x1b\[[0-9;]*m)*-----", drawn)
    assert "By its locale" in drawn
    assert 'one ~ ???? "two" v' in drawn


@pytest.mark.requirement("ui:not-utf8")
@plain_path
@pytest.mark.parametrize("environ", [NOT_UTF8, BY_ITS_LOCALE])
def test_marks_of_commands_are_ascii_on_such_a_terminal(environ: dict[str, str]) -> None:
    told = on_terminal(["doctor"], environ).decode("ascii")
    assert "\nv policy" in told
    assert "Traceback" not in told


@pytest.mark.requirement("ui:not-utf8")
def test_a_pipe_of_an_encoding_without_our_marks_ends_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sam_tui", "doctor"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert b"\nv policy" in done.stdout and "\n· keys".encode("latin-1") in done.stdout


@pytest.mark.requirement("ui:not-utf8")
@pytest.mark.parametrize(
    ("environ", "encoding"),
    [
        ({}, ""),
        ({"LANG": "de_DE.UTF-8"}, "utf-8"),
        ({"LANG": "de_DE"}, ""),
        ({"LANG": "POSIX"}, "ascii"),
        ({"LANG": "C.UTF-8", "LC_ALL": "C"}, "ascii"),
        ({"LANG": "de_DE.ISO-8859-15@euro", "LC_ALL": ""}, "iso8859-15"),
        ({"LANG": "x.nothing"}, ""),
        ({"LC_ALL": "C", "PYTHONUTF8": "1"}, ""),
        ({"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, ""),
    ],
)
def test_the_encoding_is_the_one_the_locale_names(environ: dict[str, str], encoding: str) -> None:
    assert charsets.of_terminal(environ) == encoding


@pytest.mark.requirement("ui:not-utf8")
def test_every_mark_of_ours_has_one_in_ascii_and_takes_the_same_cells() -> None:
    files = [
        f
        for part in ("ui", "cli", "headless")
        for f in Path(sam_tui.__path__[0], part).rglob("*.py")
    ]
    marks = {c for file in files for c in file.read_text("utf-8") if not c.isascii()} - MARGIN
    shown = {mark: mark.encode("ascii", charsets.AS_CELLS) for mark in marks}
    assert (
        marks and {mark for mark, like in shown.items() if like == b"?" or len(like) != 1} == set()
    )
    assert "日e\u0301╭ü…".encode("latin-1", charsets.AS_CELLS) == b"??e+\xfc~"
    assert "…→ü".encode("latin-1", charsets.AS_TEXT) == b"...->\xfc"
