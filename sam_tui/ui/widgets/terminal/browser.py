"""Scrolling back in a terminal by keyboard: a cursor over all stored rows, marks, and a search."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

from sam_tui.ui.widgets.terminal.selection import Kind, Marking, Place, SearchMarks

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import Screen

Wish = Literal["leave", "copy", "send", "pager", "editor", "link"]
"""An action of a key that the browser leaves to its caller."""

_WISHES: dict[str, Wish] = {
    "escape": "leave",
    "q": "leave",
    "i": "leave",
    "ctrl+c": "leave",
    "y": "copy",
    "enter": "copy",
    "s": "send",
    "o": "pager",
    "e": "editor",
    "f": "link",
}
_KINDS: dict[str, Kind] = {
    "v": "cells",
    "space": "cells",
    "w": "words",
    "V": "lines",
    "ctrl+v": "block",
}
_LONGEST_NEEDLE = 200


class Browser:
    """A cursor in the terminal's output (``kind``), and the person's selection and search in it."""

    def __init__(self, screen: "Screen") -> None:
        self.marking: Marking | None = None
        self.finding = SearchMarks(screen)
        self.typing: str | None = None
        """The text to find, while it is typed."""
        self._screen = screen
        column, row = screen.cursor or (0, screen.rows - 1)
        self._pin = screen.scrollback.pin(column, screen.scrollback.top + row)
        self._before: Place = self.position
        height = max(1, screen.rows - 1)
        self._moves: dict[str, Callable[[int, int], Place]] = {
            "left": lambda x, y: (x - 1, y),
            "right": lambda x, y: (x + 1, y),
            "up": lambda x, y: (x, y - 1),
            "down": lambda x, y: (x, y + 1),
            "home": lambda _, y: (0, y),
            "end": lambda _, y: (screen.columns - 1, y),
            "pageup": lambda x, y: (x, y - height),
            "pagedown": lambda x, y: (x, y + height),
            "g": lambda _, __: (0, 0),
            "G": lambda _, __: (0, screen.scrollback.total - 1),
        }
        twins = {"h": "left", "l": "right", "k": "up", "j": "down", "0": "home"}
        twins |= {"dollar_sign": "end", "ctrl+b": "pageup", "ctrl+f": "pagedown"}
        self._moves |= {key: self._moves[twin] for key, twin in twins.items()}
        self._acts: dict[str, Callable[[], None]] = {
            "n": lambda: self._to_next(1),
            "N": lambda: self._to_next(-1),
            "slash": self._begin_typing,
            "question_mark": self._begin_typing,
            **{key: partial(self._turn, kind) for key, kind in _KINDS.items()},
        }

    @property
    def position(self) -> Place:
        """The cursor's position; the oldest row if its own is no longer stored."""
        return self._pin.position or (0, 0)

    @property
    def words(self) -> str:
        """The state in words."""
        if self.typing is not None:
            count = len(self.finding.hits)
            at = f"{self.finding.at + 1} of {count}" if count else "nothing"
            return f"/{self.typing}▏ {at if self.typing else 'type to find'}"
        if self.marking is not None:
            return "y copies · s to the prompt · o pager · e editor · Esc leaves"
        if self.finding.needle:
            count = len(self.finding.hits)
            return f"/{self.finding.needle} {self.finding.at + bool(count)} of {count} · n N · Esc leaves"
        return "/ finds · v w V Ctrl+V mark · o pager · Esc leaves"

    def key(self, key: str, character: str | None) -> Wish | None:
        """Handle a key. Returns the wish that others have to carry out, if there is one."""
        if self.typing is not None:
            self._type(key, character)
            return None
        if key == "escape" and (self.marking is not None or self.finding.needle):
            self.marking = None
            self.finding.search("", 0)
            return None
        if key in _WISHES:
            return _WISHES[key]
        shifted = key.removeprefix("shift+")
        if key in self._moves:
            self._go(self._moves[key](*self.position))
        elif shifted != key and shifted in self._moves:
            self._mark("cells")
            self._go(self._moves[shifted](*self.position))
        elif key in self._acts:
            self._acts[key]()
        return None

    def _to_next(self, by: int) -> None:
        self.finding.step(by)
        self._to_hit()

    def _begin_typing(self) -> None:
        self.typing, self._before = "", self.position

    def move(self, position: Place) -> None:
        """The cursor goes there; marks follow."""
        self._go(position)

    def _go(self, position: Place) -> None:
        self._pin = self._screen.scrollback.pin(*position)
        if self.marking is not None:
            self.marking.move(self.position)

    def _mark(self, kind: Kind) -> None:
        if self.marking is None:
            self.marking = Marking(self._screen, kind, self.position)

    def _turn(self, kind: Kind) -> None:
        """Begin to mark, mark otherwise, or stop where it is asked for again."""
        if self.marking is None:
            self._mark(kind)
        elif self.marking.kind == kind:
            self.marking = None
        else:
            self.marking.kind = kind

    def _type(self, key: str, character: str | None) -> None:
        typed = self.typing or ""
        if key in ("escape", "ctrl+c"):
            self.typing = None
            self.finding.search("", 0)
            self._go(self._before)
            return
        if key == "enter":
            self.typing = None
            return
        if key in ("up", "down"):
            self.finding.step(1 if key == "up" else -1)
        elif key == "backspace":
            self.typing = typed[:-1]
            self.finding.search(self.typing, self._before[1])
        elif character and character.isprintable():
            self.typing = (typed + character)[:_LONGEST_NEEDLE]
            self.finding.search(self.typing, self._before[1])
        self._to_hit()

    def _to_hit(self) -> None:
        hit = self.finding.present
        if hit is not None:
            self._go(hit.start)
