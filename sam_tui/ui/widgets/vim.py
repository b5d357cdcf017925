"""Vim's keys in the prompt: normal, insert and visual mode over a text area."""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Literal

from textual.widgets import TextArea
from textual.widgets.text_area import Location, Selection

Mode = Literal["insert", "normal", "visual"]
_WORD = re.compile(r"\w+|[^\w\s]+")
_MOTIONS, _LINEWISE = "hjklwbe0^$G", "jkGg"
"""Motions, and the motions over whole lines."""
_TO_CHARACTER = "ft"
"""Motions to the character that is typed after them."""
_MOST = 999
"""How often a motion is repeated at most."""


class VimText:
    """A text as one string; positions are offsets in it, and ``at`` is that of the cursor."""

    def __init__(self, text: str, at: Location) -> None:
        self.text = text
        lines = text.split("\n")
        self._starts = [0]
        for line in lines[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.at = self._starts[at[0]] + at[1]

    def location(self, offset: int) -> Location:
        """Row and column of an offset."""
        row = bisect_right(self._starts, offset) - 1
        return row, offset - self._starts[row]

    def line(self, by: int = 0) -> tuple[int, int]:
        """Return the begin and the end of the cursor's line, or of one so many below it."""
        row = max(0, min(len(self._starts) - 1, self.location(self.at)[0] + by))
        end = self._starts[row + 1] - 1 if row + 1 < len(self._starts) else len(self.text)
        return self._starts[row], end

    def reach(self, motion: str) -> int:
        """The offset to which a motion leads."""
        begin, end = self.line()
        match motion:
            case "h":
                return max(begin, self.at - 1)
            case "l":
                return min(end, self.at + 1)
            case "0":
                return begin
            case "$":
                return end
            case "^":
                return end - len(self.text[begin:end].lstrip())
            case "j" | "k":
                first, last = self.line({"j": 1, "k": -1}[motion])
                return min(first + self.at - begin, last)
            case "g" | "G":
                return {"g": 0, "G": len(self.text)}[motion]
            case _:
                return self._word(motion)

    def reach_after(self, motion: str, times: int) -> int:
        """The offset to which a repeated motion leads."""
        moved = VimText(self.text, self.location(self.at))
        for _ in range(times):
            moved.at = moved.reach(motion)
        return moved.at

    def next_in_line(self, motion: str) -> int | None:
        """The offset to which ``f`` or ``t`` and a character lead; None if the line lacks the character."""
        at = self.text.find(motion[1], self.at + 1, self.line()[1])
        return None if at < 0 else at - (motion[0] == "t")

    def _word(self, motion: str) -> int:
        spans = [match.span() for match in _WORD.finditer(self.text)]
        if motion == "b":
            return max((start for start, _ in spans if start < self.at), default=0)
        if motion == "e":
            ends = (end - 1 for _, end in spans if end - 1 > self.at)
            return min(ends, default=max(0, len(self.text) - 1))
        return min((start for start, _ in spans if start > self.at), default=len(self.text))


class VimKeys:
    """Turns keys into edits. ``search`` is the action of ``/``."""

    def __init__(self, area: TextArea, search: Callable[[], object]) -> None:
        self._area = area
        self.mode: Mode = "insert"
        self._pending = ""
        self._register = ""
        self._anchor = 0
        self._count = ""
        self._whole = False
        """Whether whole lines are marked."""
        self._plain: dict[str, Callable[[VimText], object]] = {
            "i": lambda text: self._insert(text, text.at),
            "a": lambda text: self._insert(text, text.reach("l")),
            "I": lambda text: self._insert(text, text.reach("^")),
            "A": lambda text: self._insert(text, text.reach("$")),
            "o": lambda text: self._open_line(text, text.reach("$"), 1),
            "O": lambda text: self._open_line(text, text.reach("0"), 0),
            "x": lambda text: self._operate(text, "d", "l"),
            "D": lambda text: self._operate(text, "d", "$"),
            "C": lambda text: self._operate(text, "c", "$"),
            "s": lambda text: self._operate(text, "c", "l"),
            "S": lambda text: self._operate_lines(text, "c", *text.line()),
            "J": self._join,
            "p": self._put,
            "P": self._put_before,
            "u": lambda _: area.undo(),
            "v": self._begin_visual,
            "V": lambda text: self._begin_visual(text, whole=True),
            "/": lambda _: search(),
        }

    def takes(self, key: str, character: str | None) -> bool:
        """Whether a key was for Vim's modes; in insert mode only the key that leaves it is."""
        if key == "escape":
            left = self.mode != "normal" or self._pending != ""
            self._enter("normal")
            return left and bool(self._area.text)
        if self.mode == "insert":
            return False
        if key == "ctrl+r":
            self._area.redo()
            return True
        if character is None or not character.isprintable() or "+" in key:
            return False
        text = VimText(self._area.text, self._area.cursor_location)
        self._area.history.checkpoint()
        if self.mode == "visual":
            self._take_visual(text, character)
        else:
            self._take_normal(text, character)
        return True

    def _take_normal(self, text: VimText, key: str) -> None:
        pending, self._pending = self._pending, ""
        if pending.endswith(("g", "r", *_TO_CHARACTER)):
            self._take_second(text, pending, key)
        elif key.isdecimal() and (key != "0" or self._count):
            self._pending, self._count = pending, (self._count + key)[:3]
            return
        else:
            self._take_first(text, pending, key)
        if not self._pending:
            self._count = ""

    def _take_first(self, text: VimText, pending: str, key: str) -> None:
        """Handle a key that comes alone, or after an operator."""
        if key in _MOTIONS:
            self._move_or_operate(text, pending, key)
        elif key in ("g", *_TO_CHARACTER) or (key in "rdcy" and not pending):
            self._pending = pending + key
        elif key == pending:
            self._operate_lines(text, pending, text.line()[0], text.line(self._times - 1)[1])
        elif key in self._plain and not pending:
            self._plain[key](text)

    @property
    def _times(self) -> int:
        return min(int(self._count or 1), _MOST)

    def _take_second(self, text: VimText, pending: str, key: str) -> None:
        """Handle the key after one that needs a second key."""
        first, operator = pending[-1], pending[:-1]
        if first == "r":
            if text.at < text.line()[1]:
                self._area.replace(key, text.location(text.at), text.location(text.at + 1))
                self._area.move_cursor(text.location(text.at))
        elif first == "g":
            if key == "g":
                self._move_or_operate(text, operator, "g")
        elif (reached := text.next_in_line(first + key)) is None:
            return
        elif operator:
            self._apply(text, operator, text.at, reached + 1)
        else:
            self._area.move_cursor(text.location(reached))

    def _move_or_operate(self, text: VimText, operator: str, motion: str) -> None:
        if not operator:
            self._area.move_cursor(text.location(text.reach_after(motion, self._times)))
        elif motion in _LINEWISE:
            reached = text.reach_after(motion, self._times)
            other = text.location(reached)[0] - text.location(text.at)[0]
            edges = (*text.line(), *text.line(other))
            self._operate_lines(text, operator, min(edges), max(edges))
        else:
            self._operate(text, operator, motion)

    def _operate(self, text: VimText, operator: str, motion: str) -> None:
        if operator == "c" and motion == "w":
            motion = "e"
        reached = text.reach_after(motion, self._times)
        if motion == "w":
            reached = min(reached, max(text.line()[1], text.at))
        start, end = sorted((text.at, reached))
        self._apply(text, operator, start, end + (motion == "e" and end < len(text.text)))

    def _operate_lines(self, text: VimText, operator: str, start: int, end: int) -> None:
        row, self._register = text.location(start)[0], text.text[start:end] + "\n"
        if operator == "y":
            self._area.move_cursor(text.location(text.at))
            self._enter("normal")
            return
        if operator == "d":
            # With its line end, or, of the last line, with the one before.
            start, end = (start, end + 1) if end < len(text.text) else (max(0, start - 1), end)
        register = self._register
        self._apply(text, operator, start, end)
        self._register = register
        self._area.move_cursor((min(row, self._area.document.line_count - 1), 0))

    def _apply(self, text: VimText, operator: str, start: int, end: int) -> None:
        self._register = text.text[start:end]
        if operator != "y":
            self._area.replace("", text.location(start), text.location(end))
        self._area.move_cursor(text.location(start))
        self._enter("insert" if operator == "c" else "normal")

    def _insert(self, text: VimText, offset: int) -> None:
        self._area.move_cursor(text.location(offset))
        self._enter("insert")

    def _open_line(self, text: VimText, offset: int, down: int) -> None:
        row, column = text.location(offset)
        self._area.insert("\n", (row, column))
        self._area.move_cursor((row + down, 0))
        self._enter("insert")

    def _put(self, text: VimText) -> None:
        if self._register.endswith("\n"):
            row = text.location(text.at)[0]
            self._area.insert(f"\n{self._register[:-1]}", text.location(text.line()[1]))
            self._area.move_cursor((row + 1, 0))
        elif self._register:
            at = text.location(text.reach("l"))
            self._area.move_cursor(self._area.insert(self._register, at).end_location)

    def _put_before(self, text: VimText) -> None:
        if self._register.endswith("\n"):
            row = text.location(text.at)[0]
            self._area.insert(self._register, (row, 0))
            self._area.move_cursor((row, 0))
        elif self._register:
            self._area.insert(self._register, text.location(text.at))

    def _join(self, text: VimText) -> None:
        """The next line behind this one, with a blank in place of the line's end."""
        end = text.line()[1]
        if end < len(text.text):
            following = text.text[end + 1 :]
            after = len(text.text) - len(following.lstrip(" \t"))
            self._area.replace(" ", text.location(end), text.location(after))
            self._area.move_cursor(text.location(end))

    def _begin_visual(self, text: VimText, *, whole: bool = False) -> None:
        self._enter("visual")
        self._anchor, self._whole = text.at, whole
        self._select(text, text.at)

    def _take_visual(self, text: VimText, key: str) -> None:
        start, end = sorted((self._anchor, text.at))
        if key in _MOTIONS:
            self._select(text, text.reach(key))
        elif key in "dxyc" and self._whole:
            first = VimText(text.text, text.location(start)).line()[0]
            last = VimText(text.text, text.location(end)).line()[1]
            text.at = first
            self._operate_lines(text, key.replace("x", "d"), first, last)
        elif key in "dxyc":
            # The character under the cursor belongs to it.
            self._apply(text, key.replace("x", "d"), start, min(end + 1, len(text.text)))
        elif key in "vV":
            whole = key == "V"
            if whole == self._whole:
                self._enter("normal")
            else:
                self._whole = whole
                self._select(text, text.at)

    def _select(self, text: VimText, offset: int) -> None:
        if self._whole:
            edges = VimText(text.text, text.location(self._anchor)).line()
            others = VimText(text.text, text.location(offset)).line()
            down = offset >= self._anchor
            first, last = (edges[0], others[1]) if down else (edges[1], others[0])
            self._area.selection = Selection(text.location(first), text.location(last))
            return
        self._area.selection = Selection(text.location(self._anchor), text.location(offset))

    def _enter(self, mode: Mode) -> None:
        self.mode, self._pending, self._count = mode, "", ""
        if mode != "visual":
            self._area.selection = Selection.cursor(self._area.cursor_location)
        self._area.border_title = None if mode == "insert" else mode.upper()
