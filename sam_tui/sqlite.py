"""What each of our SQLite files needs: whole transactions, and one process that prepares it.

It stands between the adapters, which do not know each other, and knows nothing but SQLite.
"""

import fcntl
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[sqlite3.Connection, None, None]:
    """A write transaction: committed when the block ends, undone when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # A full disk or a corrupt page has already undone the transaction.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def alone(lock: Path) -> Generator[None, None, None]:
    """Be the one process that prepares a file; ``lock`` lies beside it.

    SQLite's own waiting does not cover the change to a write-ahead log.
    """
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_private(path: Path) -> None:
    """Make the file for its owner alone, before SQLite does; its log and index take its mode."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
