"""The emulator without a UI: the screen of a terminal, and typing, clicks and pastes into it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class CellRun:
    """Neighbouring cells of one style on a screen row. Colours: palette index, (r, g, b), or None."""

    text: str
    foreground: int | tuple[int, int, int] | None = None
    background: int | tuple[int, int, int] | None = None
    attributes: frozenset[str] = frozenset()
    """Some of bold, dim, italic, underline, blink, reverse, strike, hidden.

    With underline also one of double, curly, dotted, dashed if the line is not plain."""
    underline: int | tuple[int, int, int] | None = None
    """The colour of the underline; None for the colour of the text."""
    link: str = ""
    """The address of a link (OSC 8) as the program wrote it, to be shown before it is followed."""
    cells: int = 0
    """The number of cells, if the run is one character whose width terminals disagree on (``DISPUTED``)."""


@dataclass(frozen=True, slots=True)
class KeyPress:
    """One key for a terminal program. ``key`` is the Textual name (``up``, ``ctrl+c``, ``a``).

    ``character`` is the text that it types; both are set if it came as an escape and a character.
    """

    key: str
    character: str | None


CursorShape = Literal["block", "underline", "bar", "hollow"]
MouseMode = Literal["none", "click", "drag", "motion"]


@dataclass(frozen=True, slots=True)
class MouseInput:
    """A mouse event for a terminal program, at a cell counted from 0. ``button`` None: just moving."""

    action: Literal["press", "release", "motion"]
    button: (
        Literal["left", "middle", "right", "wheel_up", "wheel_down", "wheel_left", "wheel_right"]
        | None
    )
    column: int
    row: int
    shift: bool = False
    ctrl: bool = False
    alt: bool = False


@dataclass(frozen=True, slots=True)
class ClipboardRequest:
    """A program in a terminal wants to set the clipboard to ``text``, or to read it: ask first."""

    kind: Literal["write", "read"]
    text: str
    location: str
    """``clipboard``, ``primary`` or ``selection``."""


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A stretch of a screen's text: first and last cell, each (column, row) with 0 the oldest row."""

    start: tuple[int, int]
    end: tuple[int, int]


class Pin(Protocol):
    """A cell that is followed while the screen scrolls, is resized, and lets old rows go."""

    @property
    def position(self) -> tuple[int, int] | None:
        """(column, row), where 0 is the oldest stored row; None once the row is dropped or not visible."""
        ...


class InputEncoding(Protocol):
    """The key encoding and mouse encoding in the modes that a program set."""

    @property
    def mouse_mode(self) -> MouseMode:
        """The mouse events that the program requested."""
        ...

    def key(self, press: KeyPress) -> bytes:
        """The bytes for a key in the program's present mode; none for an unknown key."""
        ...

    def paste(self, text: str) -> bytes:
        """The bytes for pasted text, bracketed where the program asked for that."""
        ...

    def mouse(self, mouse_event: MouseInput) -> bytes:
        """The bytes for a mouse event; none where the program does not want it."""
        ...

    def focus(self, *, gained: bool) -> bytes:
        """The bytes for gaining or losing the focus; none where the program does not ask."""
        ...


class ScreenText(Protocol):
    """All stored rows of a screen; row 0 is the oldest, a place is (column, row)."""

    @property
    def total(self) -> int:
        """The number of rows, scrollback and visible ones together."""
        ...

    @property
    def top(self) -> int:
        """The number of the first visible row."""
        ...

    def search(self, needle: str, *, limit: int = 1000) -> Sequence[TextSpan]:
        """The places of a text, newest first, without regard to ASCII case."""
        ...

    def text(self, start: tuple[int, int], end: tuple[int, int], *, block: bool = False) -> str:
        """The text between two cells, both included, with soft wraps joined and blank ends cut.

        As a ``block`` it is the rectangle between them, each row a line of its own.
        """
        ...

    def line_at(self, row: int) -> TextSpan:
        """The whole line that a row is part of, with all rows it was wrapped into."""
        ...

    def pin(self, column: int, row: int) -> Pin:
        """Follow a cell through scrolling and resizing; a place outside is the nearest within."""
        ...

    def word_at(self, column: int, row: int) -> TextSpan | None:
        """The word at a cell."""
        ...


class Screen(Protocol):
    """The screen of a terminal session: the emulator's grid, without any UI."""

    @property
    def columns(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def title(self) -> str: ...

    @property
    def cursor(self) -> tuple[int, int] | None:
        """(column, row) from 0, or None while hidden."""
        ...

    def dirty_rows(self) -> Sequence[tuple[int, Sequence[CellRun]]]:
        """The rows that changed since the last call, and their cells; clears the marks."""
        ...

    def all_rows(self) -> Sequence[Sequence[CellRun]]:
        """Every visible row."""
        ...

    def text(self) -> str:
        """The visible rows as plain text."""
        ...

    def scroll(self, lines: int) -> None:
        """Move the view through the scrollback: negative is up, 0 jumps to the bottom."""
        ...

    @property
    def input(self) -> InputEncoding:
        """The encoder of keys, clicks and pastes in the form that the program expects."""
        ...

    @property
    def scrollback(self) -> ScreenText:
        """The text of all stored rows."""
        ...

    @property
    def cursor_shape(self) -> CursorShape:
        """The shape in which the program wants its cursor drawn."""
        ...

    @property
    def cursor_blinks(self) -> bool:
        """Whether it wants the cursor to blink."""
        ...

    @property
    def cursor_colour(self) -> tuple[int, int, int] | None:
        """The colour it wants the cursor in (0 to 255 each); None for that of the text."""
        ...

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown, which has no scrollback."""
        ...

    def scroll_to(self, row: int) -> None:
        """Move the view so that a row is its first, as far as there are rows below."""
        ...

    def on_clipboard(self, on_request: Callable[[ClipboardRequest], None] | None) -> None:
        """Call a function when a program uses the clipboard; without one, such requests have no effect."""
        ...

    def on_bell(self, listener: Callable[[], None] | None) -> None:
        """Hear the bell, at most once per piece of output."""
        ...

    def answer_clipboard(self, text: str) -> None:
        """Give the program the clipboard's text that it asked for, once the person agreed."""
        ...

    def use_colours(
        self,
        foreground: tuple[int, int, int],
        background: tuple[int, int, int],
        *,
        dark: bool,
        palette: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        """Set the colours for answers to programs (0 to 255 each).

        ``palette`` are the first of the 256, in order; the others stay xterm's.
        """
        ...


class ShownSession(Protocol):
    """The source of a terminal's view: a session, or a recording that is played."""

    @property
    def running(self) -> bool:
        """Whether there is a program that takes keys and the mouse."""
        ...

    @property
    def screen(self) -> Screen: ...

    def resize(self, columns: int, rows: int) -> None:
        """The view has this size now."""
        ...

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after every change of the screen; return a function that stops this."""
        ...
