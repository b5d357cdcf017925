"""A private folder for each conversation, and the removal of conversations that stayed empty."""

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Collection, Generator
from pathlib import Path

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import ConversationId

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")


class ConversationFolders:
    """The conversations' folders below the person's data folder. Each is made with its first file."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def of(self, conversation: ConversationId) -> Path:
        """Return the path of a conversation's folder, whether it exists or not.

        It is named by the id if that is unambiguous on every file system, else by a hash.
        """
        if _PLAIN.fullmatch(conversation) and not conversation.startswith("x-"):
            return self._root / conversation
        return self._root / f"x-{_digest(conversation)}"

    def save(self, conversation: ConversationId, kind: str, key: str, text: str) -> str:
        """Store a text in one step; returns the name to ``load`` it by.

        Raises ``StorageError``.
        """
        name = f"{kind}/{_digest(key)}.txt"
        path = self.of(conversation) / name
        with _explained(path, "written"):
            for folder in (self._root, self.of(conversation), path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            half = path.with_suffix(f".{os.getpid()}.half")
            half.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            with open(os.open(half, flags, 0o600), "wb") as file:
                file.write(text.encode("utf-8", "replace"))
            half.replace(path)
        return name

    def load(self, conversation: ConversationId, name: str) -> str | None:
        """A kept text, or None where its file is gone. Raises ``StorageError``."""
        path = self.of(conversation) / name
        with _explained(path, "read"):
            try:
                return path.read_bytes().decode("utf-8", "replace")
            except FileNotFoundError:
                return None

    def remove(self, conversation: ConversationId) -> None:
        """Remove the folder of a conversation with its contents. Raises ``StorageError``."""
        folder = self.of(conversation)
        with _explained(folder, "removed"), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)

    def remove_empty(self, conversation: ConversationId) -> bool:
        """Remove the folder if it is empty; False if it is not."""
        folder = self.of(conversation)
        for inner in sorted(folder.glob("*")):
            with contextlib.suppress(OSError):
                inner.rmdir()
        with contextlib.suppress(OSError):
            folder.rmdir()
        return not folder.exists()


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@contextlib.contextmanager
def _explained(path: Path, verb: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} could not be {verb}: {error.strerror}.",
            hint=f"Check that {path.parent} is writable and that its disk has room.",
        ) from error


_BY_CONVERSATION = (
    "topics",
    "results",
    "documents",
    "archive",
    "prompt_choices",
    "reminder_choices",
    "decisions",
)
_BY_SCOPE = ("memories", "notes", "knowledge")
_UNUSED = " AND ".join([
    "c.messages = 0 AND c.queued = '[]'",
    "NOT EXISTS (SELECT 1 FROM conversations WHERE parent = c.id)",
    "NOT EXISTS (SELECT 1 FROM todos WHERE conversation = c.id AND items <> '[]')",
    *(f"NOT EXISTS (SELECT 1 FROM {t} WHERE conversation = c.id)" for t in _BY_CONVERSATION),
    *(f"NOT EXISTS (SELECT 1 FROM {t} WHERE scope = c.id)" for t in _BY_SCOPE),
])


def remove_unused(
    database: Database,
    folders: ConversationFolders,
    *,
    before: float,
    also: Collection[ConversationId] = (),
) -> list[ConversationId]:
    """Remove the unused conversations made ``before`` a time, and of ``also`` those that are unused.

    A conversation stays if it has a message, a waiting prompt, a subagent, a shared topic, todos,
    results, memories, documents, choices or decisions, or a file in its folder. Returns the ids
    that went. A younger one may be another process's that has only just begun.
    """
    rows = database.query(f"SELECT id, created_at FROM conversations c WHERE {_UNUSED}")
    chosen = [ConversationId(key) for key, made_at in rows if made_at < before or key in also]
    removed = [key for key in chosen if folders.remove_empty(key)]
    with database.transaction() as connection:
        for key in removed:
            connection.execute(
                f"DELETE FROM conversations AS c WHERE id = ? AND {_UNUSED}", (storable(key),)
            )
            connection.execute(
                "DELETE FROM notices WHERE conversation = ?"
                " AND NOT EXISTS (SELECT 1 FROM conversations WHERE id = conversation)",
                (storable(key),),
            )
    return removed
