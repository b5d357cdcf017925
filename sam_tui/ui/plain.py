"""Text from outside made fit to draw: no escape sequence, no bidirectional trick survives."""

import unicodedata
from pathlib import PurePath

_KEPT = frozenset("\n\t")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that Unicode counts as letters or symbols, but that show nothing."""


def visible(text: str) -> str:
    """The text with every control and format character spelled out, such as ``\\x1b``.

    Line breaks and tabs stay. For texts that a person has to approve: nothing is hidden or dropped.
    """
    if text.isprintable():
        return text
    return "".join(c if c in _KEPT or not _is_invisible(c) else _spelled(c) for c in text)


def visible_line(text: str) -> str:
    """Return ``visible`` of a text on one line: line breaks and tabs are spelled out too."""
    if text.isprintable():
        return text
    return "".join(_spelled(c) if _is_invisible(c) else c for c in text)


def one_line(text: str, limit: int = 200) -> str:
    """One line of at most ``limit`` characters, for titles, without invisible characters."""
    head = text[: limit * 4]
    spaced = "".join(" " if c.isspace() else c for c in head if c.isspace() or not _is_invisible(c))
    line = " ".join(spaced.split())
    return line if len(line) <= limit and len(head) == len(text) else line[: limit - 1] + "…"


def short_path(path: str, home: str, limit: int = 32) -> str:
    """A path for a narrow place: ``~`` for the home folder, only the last parts when too long."""
    path_text = one_line(path, 1000)
    if home and (path_text == home or path_text.startswith(home.rstrip("/") + "/")):
        path_text = "~" + path_text[len(home.rstrip("/")) :]
    if len(path_text) <= limit:
        return path_text
    parts = PurePath(path_text).parts
    tail = parts[-1] if parts else path_text
    return f"…/{tail}" if len(tail) + 2 <= limit else "…" + tail[-(limit - 1) :]


def _is_invisible(character: str) -> bool:
    """Controls, formats (bidirectional marks), surrogates, separators but the space, blank letters."""
    if character == " ":
        return False
    category = unicodedata.category(character)
    return category in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs") or character in _BLANK


def _spelled(character: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    if named:
        return named
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
