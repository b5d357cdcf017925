"""Databases that do not wait for the disk: tests kill processes, and cut no power.

What a process wrote outlives its death without that wait; only a power cut takes it. A test of the wait
itself opens what it looks at inside ``flushed()``.
"""

import contextlib
import functools
import sqlite3
from collections.abc import Generator
from typing import Any

_connect = sqlite3.connect


class UnflushedConnection(sqlite3.Connection):
    """One that leaves it to the system when to write."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """As ever, but for the statement that says what to wait for."""
        if sql.startswith("PRAGMA synchronous"):
            sql = "PRAGMA synchronous = OFF"
        return super().execute(sql, *values)


def _connect_unflushed(*arguments: Any, **named: Any) -> sqlite3.Connection:
    return _connect(*arguments, **{"factory": UnflushedConnection, **named})


def install() -> None:
    """Have every database of this process be opened so."""
    sqlite3.connect = _connect_unflushed


def uninstall() -> None:
    """Have them be opened as in the program again."""
    sqlite3.connect = _connect


@contextlib.contextmanager
def flushed(kind: type[sqlite3.Connection] = sqlite3.Connection) -> Generator[None]:
    """Databases that are opened meanwhile wait for the disk as in the program."""
    before, sqlite3.connect = sqlite3.connect, functools.partial(_connect, factory=kind)
    try:
        yield
    finally:
        sqlite3.connect = before
