"""What programs ask of a terminal, one question a line: how many are answered as xterm does."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from tests.terminal.test_conformance import raw

_LINE = re.compile(
    r"(!?)(\w+): (?:\[(\d+)x(\d+)\])?(.*?) => ([^\s@<]*)(?: ?@(\d+),(\d+))?(?: ?<(.*))?"
)
_FILE = Path(__file__).with_name("questions.txt")
_DOCUMENT = Path(__file__).parents[2] / "docs" / "terminal.md"


@dataclass(frozen=True)
class Question:
    """One line of the file. ``other``: answered in another way than by xterm."""

    line: str
    other: bool
    size: tuple[int, int]
    feed: bytes
    rows: str
    cursor: tuple[int, int] | None
    answer: bytes | None

    def answered(self) -> bool:
        """Whether the terminal shows and says what xterm does."""
        screen, said = EmulatedScreen(*self.size), list[bytes]()
        screen.reply = said.append
        screen.feed(self.feed)
        rows = screen.text().rstrip("\n").replace(" ", "·").split("\n")
        wanted = [row.rstrip("·") for row in self.rows.split("/")]
        return (
            (self.answer is not None or rows == wanted)
            and self.cursor in (None, screen.cursor)
            and self.answer in (None, b"".join(said))
        )


def _questions() -> list[Question]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    found: list[Question] = []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        assert match is not None, line
        other, _, columns, height, feed, rows, x, y, answer = match.groups()
        size = (int(columns or 10), int(height or 4))
        cursor = (int(x), int(y)) if x else None
        reply = None if answer is None else raw(answer)
        found.append(Question(line, bool(other), size, raw(feed), rows, cursor, reply))
    return found


@pytest.mark.requirement("terminal:conformance")
def test_questions_are_answered_as_xterm_does_but_for_those_that_are_marked() -> None:
    questions = _questions()
    differing = [question.line for question in questions if question.answered() is question.other]
    assert differing == []
    answered = sum(not question.other for question in questions)
    told = " ".join(_DOCUMENT.read_text(encoding="utf-8").split())
    assert f"Of the {len(questions)} questions" in told
    assert f"{answered} are answered as xterm does" in told


@pytest.mark.requirement("terminal:no-checksums")
def test_no_checksum_tells_a_program_what_others_left_on_the_screen() -> None:
    screen, said = EmulatedScreen(10, 4), list[bytes]()
    screen.reply = said.append
    for sequence in (b"*y", b"1;1;1;1;1;1*y", b"1;0*y", b"1;1;2;1;3;9*y"):
        screen.feed(b"secret\x1b[" + sequence)
    assert said == []
