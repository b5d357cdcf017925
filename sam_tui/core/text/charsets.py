"""Terminals that are not UTF-8: the encoding that the locale names, and the substitutes of our marks.

Characters that an encoding cannot hold are replaced as the text is encoded, behind everything that
draws or prints, by the two error handlers ``AS_CELLS`` and ``AS_TEXT``.
"""

import codecs
from collections.abc import Mapping
from contextlib import suppress

AS_CELLS = "sam-tui-cells"
"""Replaces a character by as many as it takes cells, so that frames keep their shape."""
AS_TEXT = "sam-tui-text"
"""For lines of text: a replacement may be longer."""
ASCII = "sam-tui-ascii"
"""ASCII under another name, because click writes UTF-8 to streams called ``ascii``."""
WARNING = (
    "By its locale (LC_ALL, LC_CTYPE or LANG) this terminal is not UTF-8: frames and marks are drawn in"
    " ASCII, and letters it lacks as “?”. If it is, start with LC_ALL=C.UTF-8."
)
_SAMPLE = "─✓…“"
_LOOKS_LIKE = {
    "-": "─━┄┅┈┉╌╍═╴╶╸╺╼╾‐‑‒–—―−·▔",
    "|": "│┃┆┇┊┋╎╏║╵╷╹╻╽╿‖▌▍▎▏▐▕⠇⠏⠸⠹",
    "/": "⠋⠙╱",
    "\\": "⠦⠧╲↳",
    "=": "⠼⠴☰▤",
    "_": "▁▂▃▄▅▆▇",
    "#": "█▉▊▋▀■▣▓▒░",
    "*": "•●◉✱∙⬤★",
    "[": "⟦",
    "]": "⟧",
    "o": "○◯⭘↻°",
    "%": "◐◑◒◓",
    "v": "✓✔↓▼▾▽⌄",
    "x": "✗✘×✕",
    "^": "↑▲▴△",
    ">": "→▶▸▹►›⟩»❯⇥",
    "<": "←◀◂◁◄‹⟨«❮",
    '"': "“”„‟",
    "'": "‘’‚‛",
    "~": "…⋯≈",
    ":": "∴⋮",
    "!": "↯⚠¡",
    " ": "\u00a0\u2002\u2003\u2007\u2009\u202f",
}
_MARKS = {mark: like for like, marks in _LOOKS_LIKE.items() for mark in marks}
_LONGER = {"…": "...", "→": "->", "←": "<-"}
"""Longer replacements, for lines of text."""


def of_terminal(environ: Mapping[str, str]) -> str:
    """The encoding that the locale of the environment names; empty where it names none.

    Python itself writes UTF-8 in the locale ``C``. The person's settings of Python precede the locale.
    """
    if environ.get("PYTHONIOENCODING") or environ.get("PYTHONUTF8") == "1":
        return ""
    locale = environ.get("LC_ALL") or _given_type(environ) or environ.get("LANG", "")
    name, _, charset = locale.partition("@")[0].partition(".")
    if name in ("C", "POSIX") and not charset:
        return "ascii"
    with suppress(LookupError):
        return codecs.lookup(charset).name
    return ""


def holds_marks(encoding: str | None) -> bool:
    """Whether an encoding can hold the marks that the program draws with."""
    try:
        _SAMPLE.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _given_type(environ: Mapping[str, str]) -> str:
    """LC_CTYPE, unless Python put it there as it started in the locale ``C`` (PEP 538)."""
    value = environ.get("LC_CTYPE", "")
    with suppress(OSError), open("/proc/self/environ", "rb") as started:
        if value and f"LC_CTYPE={value}".encode() not in started.read().split(b"\0"):
            return ""
    return value


def _as_cells(error: UnicodeError) -> tuple[str, int]:
    lacking, end = _lacking(error)
    return "".join(_MARKS.get(c) or _unknown(c) for c in lacking), end


def _as_text(error: UnicodeError) -> tuple[str, int]:
    lacking, end = _lacking(error)
    return "".join(_LONGER.get(c) or _MARKS.get(c) or _unknown(c) for c in lacking), end


def _lacking(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end], error.end


def _unknown(character: str) -> str:
    """A ``?`` for each cell; frames not named above by their corners."""
    import unicodedata  # half a megabyte, which only such terminals need

    if "\u2500" <= character <= "\u257f":
        return "+"
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return ""
    return "??" if unicodedata.east_asian_width(character) in ("W", "F") else "?"


def _find(name: str) -> codecs.CodecInfo | None:
    if name != ASCII.replace("-", "_"):
        return None
    ascii_codec = codecs.lookup("ascii")
    return codecs.CodecInfo(
        ascii_codec.encode,
        ascii_codec.decode,
        ascii_codec.streamreader,
        ascii_codec.streamwriter,
        ascii_codec.incrementalencoder,
        ascii_codec.incrementaldecoder,
        name=ASCII,
    )


codecs.register(_find)
codecs.register_error(AS_CELLS, _as_cells)
codecs.register_error(AS_TEXT, _as_text)
