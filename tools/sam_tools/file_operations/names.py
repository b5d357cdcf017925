"""How paths and sizes are written for people and models."""

import re

from sam_tui.core.accesses import Location

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def printable(text: str) -> str:
    """A path fit for messages: bytes that are not UTF-8, control and direction marks as escapes."""
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], safe)


def named(where: Location, workspace: str) -> str:
    """A path that can be passed back: relative in the workspace, absolute elsewhere."""
    return printable(where.shown if where.root == workspace else where.real)


def basename(path: str) -> str:
    """The last part of a path as an argument gave it, at most 60 characters."""
    name = printable(path.rstrip("/").rsplit("/", 1)[-1] or path)
    return name if len(name) <= 60 else name[:59] + "…"


def gist(text: str, width: int) -> str:
    """Text on one line, at most ``width`` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def sized(count: int) -> str:
    """A number of bytes for people: ``12 bytes``, ``3.4 kB``."""
    amount, unit = float(count), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{count} bytes" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 line``, ``2 lines``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
