"""Settings as TOML: parsed with the line of a fault; the position of each setting, which parsers omit."""

import re
import tomllib
from collections.abc import Iterator, Sequence

from sam_tui.core.errors import ConfigurationError

_HEADER = re.compile(r"\s*(\[{1,2})\s*([^\]]*?)\s*\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*[.=]""")
_AT_LINE = re.compile(r"\((?:at line (\d+), column \d+|at end of document)\)")
_MARK = "\ufeff"
"""The byte order mark with which some editors begin a file."""
_DUPLICATES = (
    (re.compile(r"Duplicate inline table key '(.+)'"), r"the key “\1” is set twice"),
    (re.compile(r"Cannot declare \('(.+)',?\) twice"), r"the table [\1] is there twice"),
)
"""Messages of the parser about names that occur twice, each with plain words for it."""
_LONG = re.compile(r'"""|' + "'''")


def toml_table(text: str, path: str, hint: str) -> dict[str, object]:
    """Parse a text as TOML. Raises ``ConfigurationError`` with ``path``, line and ``hint``."""
    try:
        return tomllib.loads(text.removeprefix(_MARK))
    except tomllib.TOMLDecodeError as error:
        match = _AT_LINE.search(str(error))
        line = int(match[1]) if match and match[1] else text.count("\n") + 1
        fault = _AT_LINE.sub("", str(error)).strip()
        for pattern, words in _DUPLICATES:
            fault = pattern.sub(words, fault)
        if fault == "Cannot overwrite a value":
            key = _KEY.match(text.removeprefix(_MARK).splitlines()[line - 1])
            name = key[1].strip("\"'") if key else ""
            fault = f"the key “{name}” is set twice" if name else "a key is set twice"
        raise ConfigurationError(f"{path}:{line}: {fault}.", hint=hint) from None
    except (ValueError, RecursionError):
        fault = "a number is too long, or brackets are nested too deep"
        raise ConfigurationError(f"{path}: {fault}.", hint=hint) from None


def line_of(text: str, at: Sequence[str | int]) -> int:
    """The line (from 1) of a key, such as ``("rule", 2, "path")``, or of the table that holds it."""
    best = 1
    for number, path in _places(text):
        if path == tuple(at):
            return number
        if path == tuple(at[: len(path)]) and len(path) > 0:
            best = number
    return best


def rule_blocks(text: str) -> list[tuple[int, int]]:
    """First and last line (from 0, exclusive end) of every ``[[rule]]`` table, in order."""
    lines = text.splitlines()
    heads = [
        (number - 1, path)
        for number, path in _places(text)
        if len(path) in (1, 2) and _HEADER.match(lines[number - 1])
    ]
    blocks: list[tuple[int, int]] = []
    for index, (start, path) in enumerate(heads):
        if path[:1] == ("rule",) and len(path) == 2:
            end = heads[index + 1][0] if index + 1 < len(heads) else len(lines)
            blocks.append((start, end))
    return blocks


def _places(text: str) -> Iterator[tuple[int, tuple[str | int, ...]]]:
    """Line number and place of every header and key; text inside long strings is passed over."""
    table: tuple[str | int, ...] = ()
    counts: dict[str, int] = {}
    inside = ""
    for number, line in enumerate(text.removeprefix(_MARK).splitlines(), 1):
        if inside:
            inside = "" if line.count(inside) % 2 else inside
            continue
        if header := _HEADER.match(line):
            name = header[2].strip("\"'")
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (name, counts[name])
            else:
                table = (name,)
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, key[1].strip("\"'"))
        if long := _LONG.search(line):
            inside = long[0] if line.count(long[0]) % 2 else ""
