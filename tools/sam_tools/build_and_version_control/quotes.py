"""Texts as words of a shell command: exact, and readable where that is possible."""

import re
import shlex
from collections.abc import Iterable

_SPACE = re.compile(r"\s")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def word(text: str) -> str:
    """A word quoted so that the shell reads exactly this text.

    Invisible characters, and bytes that are not UTF-8 (as lone surrogates), are written as escapes of
    bash, so that a person who is asked sees them. Raises nothing; NUL is left for the port to refuse.
    """
    if text.replace("\n", "").isprintable() or "\0" in text:
        return shlex.quote(text)
    return "$'" + "".join(map(_octal, text.encode("utf-8", "surrogateescape"))) + "'"


def words(texts: Iterable[str]) -> str:
    """Several words."""
    return " ".join(map(word, texts))


def needs_quotes(text: str) -> bool:
    """Whether an argument of a shell task is quoted: as in VS Code, if it contains a blank."""
    return text == "" or (_SPACE.search(text) is not None and not _QUOTED.fullmatch(text))


def document(text: str) -> tuple[str, str]:
    """A text as the standard input of a command: (``<<'END'``, the lines after the command)."""
    lines, end = set(text.split("\n")), "END"
    while end in lines:
        end += "_"
    return f"<<'{end}'", f"{text}\n{end}\n"


def _octal(byte: int) -> str:
    if 32 <= byte < 127 and byte not in b"'\\":
        return chr(byte)
    return f"\\{byte:03o}"
