"""A private folder for each conversation: what is too large for a row lies there, named opaquely."""

import contextlib
import hashlib
import os
import re
from collections.abc import Generator
from pathlib import Path

from sam_tui.core.errors import StorageError
from sam_tui.core.ids import ConversationId

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")


class ConversationFolders:
    """The folders below one of the person's data folder. None is made before something is kept."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def of(self, conversation: ConversationId) -> Path:
        """Where the folder of a conversation is, or would be.

        Its id names it where no file system could mix it up with another's; else a hash does.
        """
        if _PLAIN.fullmatch(conversation) and not conversation.startswith("x-"):
            return self._root / conversation
        return self._root / f"x-{_digest(conversation)}"

    def save(self, conversation: ConversationId, kind: str, key: str, text: str) -> str:
        """Keep a text, whole or not at all; returns the name to ``load`` it by.

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

    def remove_empty(self, conversation: ConversationId) -> bool:
        """Remove the folder where nothing is in it; False where something is."""
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
            hint=f"See that {path.parent} can be written to and that its disk has room.",
        ) from error
