"""The limits of a document's size, and the errors for a broken one, for every format."""

import csv
import struct
import time
import zipfile
import zlib
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from sam_tui.core.errors import ToolError

MOST_BYTES = 50_000_000
MOST_CHARACTERS = 2_000_000
MOST_PAGES = 2_000
MOST_CELLS = 500_000
SECONDS = 45.0
"""Seconds after which reading stops at the next page, sheet or chapter and returns what it has."""

_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    csv.Error,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""The errors that parsers raise on a broken file, be it on purpose or through a bug."""


def understood(what: str, *further: type[Exception]) -> AbstractContextManager[None]:
    """Turn a parser's exception on a broken file into a ``ToolError``; ``further`` are its own errors."""
    hint = "Check that it was saved or downloaded in full."
    return _explained(f"The {what} is broken and cannot be read", hint, further)


def writable(what: str, *further: type[Exception]) -> AbstractContextManager[None]:
    """Turn a writer's exception on content that it cannot place into a ``ToolError``."""
    hint = "Leave out unusual content (very wide tables, very long words), or use markdown."
    return _explained(f"The content cannot be written as {what}", hint, further)


@contextmanager
def _explained(
    words: str, hint: str, further: tuple[type[Exception], ...]
) -> Generator[None, None, None]:
    try:
        yield
    except ToolError:
        raise
    except (*_FAULTS, *further) as error:
        raise ToolError(f"{words} ({type(error).__name__}).", hint=hint) from error


class GatheredText:
    """Pieces of text up to the limits of size and time."""

    def __init__(self, unit: str, most: int = MOST_PAGES) -> None:
        self._unit = unit
        self._most = most
        self._ends_at = time.monotonic() + SECONDS
        self.pieces: list[str] = []
        self.characters = 0
        self.size = 0
        self.cut = ""
        """Why reading stopped early; empty if it did not."""

    def goes_on(self) -> bool:
        """Whether one more page (sheet, chapter) may be taken."""
        if self.size >= self._most:
            self.cut = f"only the first {self._most} {self._unit} were read"
        elif self.characters >= MOST_CHARACTERS:
            self.cut = f"cut after {MOST_CHARACTERS} characters"
        elif time.monotonic() > self._ends_at:
            self.cut = f"only {self.size} {self._unit} could be read in {SECONDS:g} s"
        return not self.cut

    def add(self, text: str) -> None:
        """Add a page."""
        self.size += 1
        self.pieces.append(text[: MOST_CHARACTERS - self.characters])
        self.characters += len(text)

    @property
    def text(self) -> str:
        """All pages, separated by empty lines."""
        return "\n\n".join(piece.strip("\n") for piece in self.pieces if piece.strip())

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on omitted text, if there is any."""
        return (self.cut,) if self.cut else ()
