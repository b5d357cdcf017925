"""The single writer of each conversation: a row that is valid only while its program holds a lock."""

import contextlib
import fcntl
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Generator

from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.errors import ConversationInUse, ConversationTakenOver, StorageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.storage import Writer

FOLDER = ".writers"
"""The suffix of the folder of the locks, which is otherwise named like the database."""
_TOKEN = re.compile("[0-9a-f]{32}")
_SELECT = "SELECT token, program, process, since FROM writers WHERE conversation = ?"


class Writers:
    """The conversations that this program may write to. ``program`` is its name for people."""

    def __init__(self, database: Database, program: str) -> None:
        self._database = database
        self._program = program
        self._folder = database.path.with_suffix(FOLDER)
        self._token = secrets.token_hex(16)
        self._lock: int | None = None
        self._claimed: set[str] = set()

    def claim(self, conversation: ConversationId, *, take_over: bool = False) -> None:
        """Become the one writer of a conversation. Raises ``ConversationInUse`` if another program is,
        unless ``take_over`` is set."""
        key = storable(conversation)
        self._hold()
        with self._database.transaction() as connection:
            row = connection.execute(_SELECT, (key,)).fetchone()
            if row is not None and row[0] == self._token and key in self._claimed:
                return
            other = self._living(row)
            if other is not None and not take_over:
                raise _in_use(conversation, other)
            connection.execute(
                "INSERT OR REPLACE INTO writers VALUES (?, ?, ?, ?, ?)",
                (key, self._token, self._program, os.getpid(), time.time()),
            )
        self._claimed.add(key)
        if row is not None and other is None:
            self._remove(row[0])

    def release(self, conversation: ConversationId) -> None:
        """Give up the lease, so that other programs can write to the conversation."""
        key = storable(conversation)
        if key not in self._claimed:
            return
        self._claimed.discard(key)
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM writers WHERE conversation = ? AND token = ?", (key, self._token)
            )

    def writer(self, conversation: ConversationId) -> Writer | None:
        """The other program that writes to the conversation now, or None."""
        rows = self._database.query(_SELECT, storable(conversation))
        return self._living(rows[0]) if rows else None

    @contextlib.contextmanager
    def writing(self, conversation: ConversationId) -> Generator[sqlite3.Connection, None, None]:
        """A transaction that writes to a conversation, refused where this program may not.

        Raises ``ConversationTakenOver`` permanently once another writer took over this one's
        conversation, and ``ConversationInUse`` while another writer has one that this one never
        claimed.
        """
        key = storable(conversation)
        with self._database.transaction() as connection:
            row = connection.execute(_SELECT, (key,)).fetchone()
            if key in self._claimed:
                if row is None or row[0] != self._token:
                    raise _taken_over(conversation, row)
            elif (other := self._living(row)) is not None:
                raise _in_use(conversation, other)
            yield connection

    def lost(self, conversation: ConversationId) -> ConversationTakenOver | None:
        """The error that names the program which took over a claimed conversation; None if none did."""
        key = storable(conversation)
        if key not in self._claimed:
            return None
        rows = self._database.query(_SELECT, key)
        row = rows[0] if rows else None
        owned = row is not None and row[0] == self._token
        return None if owned else _taken_over(conversation, row)

    def close(self) -> None:
        """Release everything."""
        if self._lock is None:
            return
        with contextlib.suppress(StorageError), self._database.transaction() as connection:
            connection.execute("DELETE FROM writers WHERE token = ?", (self._token,))
        self._remove(self._token)
        os.close(self._lock)
        self._lock = None

    def _hold(self) -> None:
        """Lock a file that shows other processes that this process is alive."""
        if self._lock is not None:
            return
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            lock = os.open(self._folder / self._token, flags, 0o600)
        except OSError as error:
            raise StorageError(
                f"{error.filename} could not be made: {error.strerror}.",
                hint=f"Make {self._folder.parent} writable for you, or choose another folder with"
                " --data-dir.",
            ) from error
        fcntl.flock(lock, fcntl.LOCK_EX)
        self._lock = lock

    def _living(self, row: Row | None) -> Writer | None:
        """The program that a row names, if it is another one and still running."""
        if row is None or row[0] == self._token or not _TOKEN.fullmatch(row[0]):
            return None
        try:
            other = os.open(self._folder / row[0], os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(
                f"{error.filename} could not be read: {error.strerror}.",
                hint=f"Check that {self._folder} belongs to you.",
            ) from error
        try:
            # Shared, so that two programs that look at once do not take each other for its holder.
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return Writer(row[1], row[2], row[3])
        finally:
            os.close(other)
        return None

    def _remove(self, token: str) -> None:
        if _TOKEN.fullmatch(token):
            with contextlib.suppress(OSError):
                (self._folder / token).unlink()


def _in_use(conversation: ConversationId, other: Writer) -> ConversationInUse:
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(other.since))
    return ConversationInUse(
        f"Conversation {conversation} is open in {other}, since {since}.",
        hint=f"End that program, watch (“sam-tui sessions watch {conversation}”), continue in "
        "a copy (--fork), or take the conversation over (--take-over).",
    )


def _taken_over(conversation: ConversationId, row: Row | None) -> ConversationTakenOver:
    who = str(Writer(row[1], row[2], row[3])) if row is not None else "Another program"
    return ConversationTakenOver(
        f"{who[:1].upper()}{who[1:]} took conversation {conversation} over. Nothing more is written to"
        " it here.",
        hint="Open it again to continue from its latest state.",
    )
