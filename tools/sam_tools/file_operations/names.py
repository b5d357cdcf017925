"""The form of paths and sizes for people and models."""

from datetime import UTC, datetime

from sam_tui.core.accesses import Location
from sam_tui.core.text.plain import printable

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def named(where: Location, workspace: str) -> str:
    """A path that can be passed back: relative in the workspace, absolute elsewhere."""
    return printable(where.display_path if where.root == workspace else where.real)


def basename(path: str) -> str:
    """The last part of a path as an argument gave it, at most 60 characters."""
    name = printable(path.rstrip("/").rsplit("/", 1)[-1] or path)
    return name if len(name) <= 60 else name[:59] + "…"


def sized(count: int) -> str:
    """A number of bytes for people: ``12 bytes``, ``3.4 kB``."""
    amount, unit = float(count), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{count} bytes" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def dated(seconds: float) -> str:
    """A time of a file in UTC: ``2025-01-31T12:00:00Z``; empty where no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 line``, ``2 lines``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
