"""The agent's view of a session's screen after the person has held it."""

import codecs
import difflib
import re
import unicodedata
from functools import lru_cache

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.person_input.redaction import HIDDEN, uncovered
from sam_tui.core.text.plain import unfinished

_PARTS = re.compile(
    r"(?P<move>\x1b\[[0-?]*[ -#%-/]*[@-~]|\x1b[ -/]*[0-OQ-WYZ`-~\\])"
    r"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x1b\x80-\x9f]"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)",
)
"""Sequences that move the cursor or change modes; other ones, such as titles, which are left out; text."""
_ASCII = dict.fromkeys(range(0x20, 0x7F), HIDDEN)
"""Replaces each ASCII character, all of which take one cell."""


class AgentView:
    """A second emulator, which gets the same output with the person's characters covered.

    So it knows for each cell whether it is redacted, through wraps, scrolling and redraws.
    """

    def __init__(self, size: tuple[int, int], printed: str) -> None:
        self.screen = EmulatedScreen(*size)
        self.screen.feed(printed.encode(errors="replace"))
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        self._before: list[str] = []

    def feed(self, data: bytes, *, visible: bool) -> None:
        """Add output; if it is not ``visible``, with each character covered."""
        if visible:
            self.screen.feed(data)
            return
        text = self._rest + self._decoder.decode(data)
        end = len(text) - unfinished(text)
        text, self._rest = text[:end], text[end:]
        plain = "\x1b" not in text and text.isascii()
        covered = text.translate(_ASCII) if plain else _PARTS.sub(_covered, text)
        self.screen.feed(covered.encode())

    def begin(self) -> None:
        """Begin: the person is the holder from now on."""
        self._before = self._lines()

    def changed(self) -> str:
        """The lines that are new since ``begin``."""
        self._decoder.reset()
        self._rest = ""
        after = self._lines()
        matcher = difflib.SequenceMatcher(None, self._before, after, autojunk=False)
        new: list[str] = []
        for tag, _, _, start, end in matcher.get_opcodes():
            if tag in ("insert", "replace"):
                new += [line for line in after[start:end] if line and new[-1:] != [line]]
        return "\n".join(new)

    def covered_lines(self, real: EmulatedScreen) -> list[str]:
        """The text of the real screen in lines of which the agent may not see a part."""
        top = real.scrollback.total - real.rows
        covered = [
            row
            for row, runs in enumerate(self.screen.all_rows())
            if any(HIDDEN in run.text for run in runs)
        ]
        lines: list[str] = []
        while covered:
            first = last = covered.pop(0)
            while covered[:1] == [last + 1]:
                last = covered.pop(0)
            covered_text = real.scrollback.text((0, top + first), (real.columns - 1, top + last))
            lines += covered_text.split("\n")
        return list(dict.fromkeys(lines))

    def _lines(self) -> list[str]:
        text = uncovered(self.screen.scrollback.visible())
        return [line.rstrip() for line in text.split("\n")]


def _covered(match: re.Match[str]) -> str:
    if match["move"]:
        return match[0]
    text = match["text"] or ""
    return HIDDEN * len(text) if text.isascii() else "".join(map(_cells, text))


@lru_cache(1024)
def _cells(character: str) -> str:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return ""
    return HIDDEN * (2 if unicodedata.east_asian_width(character) in "WF" else 1)
