"""Compacts a conversation and takes it back in children that are killed at each statement in turn."""

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import ReminderMessage
from sam_tui.core.ports.memory import ArchivedChunk

C = ConversationId("c")


class Counted(sqlite3.Connection):
    """A connection that ends the process before a statement."""

    left = -1

    def execute(self, *arguments):  # pyright: ignore
        """Count, then run it."""
        Counted.left -= 1
        if Counted.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*arguments)  # pyright: ignore


def shorten(storage: Storage) -> None:
    chunks = [
        ArchivedChunk(C, n, 1.0, 2.0, f"part {n}", ("prompt",), (("user", f"prompt {n}"),))
        for n in (1, 2)
    ]
    storage.conversations.shorten(
        C, dropped=4, opening=[ReminderMessage("thread_summary", "short")], archived=chunks
    )


def restore(storage: Storage) -> None:
    storage.conversations.restore_dropped(C)


def state(data: Path) -> tuple[int, int, int]:
    """Messages that the model sees, all that there are, chunks of the archive."""
    storage = open_storage(data)
    try:
        store = storage.conversations
        chunks = storage.archive.search([C], "prompt", hint="", limit=9)
        assert len(chunks) == storage.archive.last_number(C)
        return len(store.messages(C)), len(store.everything(C)), len(chunks)
    finally:
        storage.close()


def killed(data: Path, work: Callable[[Storage], object], statement: int) -> bool:
    child = os.fork()
    if child == 0:
        storage = open_storage(data)
        Counted.left = statement
        work(storage)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


data, kills, seen = Path(sys.argv[1]), 0, {(6, 6, 0): 0, (3, 6, 2): 0}
connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, factory=Counted, **k)  # pyright: ignore
for work in (shorten, restore):
    statement = 1
    while killed(data, work, statement):
        seen[state(data)] += 1
        kills += 1
        statement += 1
    seen[state(data)] += 1
print(kills, *seen.values())
