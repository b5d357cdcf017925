"""Temporary folders, removed by the next process if theirs was killed."""

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress

_RUN = "sam-tui-run-"
SHELL = "sam-tui-shell-"
"""The prefix of folders with the start-up files of a shell."""
ACP = "sam-tui-acp-"
"""The prefix of folders with the socket for programs in an editor's terminals."""


class Scratch:
    """A temporary folder with a lock that this process holds as long as it lives."""

    def __init__(self, prefix: str = _RUN) -> None:
        sweep()
        while True:
            self.path = os.path.realpath(tempfile.mkdtemp(prefix=prefix))
            # Another program may sweep it before the lock is taken, before it is opened, too.
            try:
                self._handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            if os.path.isdir(self.path) and os.path.samestat(
                os.stat(self.path), os.fstat(self._handle)
            ):
                return
            os.close(self._handle)

    @classmethod
    def adopted(cls, path: str) -> "Scratch | None":
        """A folder that an earlier process created and a holder keeps; None if it is gone."""
        folder = cls.__new__(cls)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        folder.path, folder._handle = path, handle
        return folder

    @property
    def descriptor(self) -> int:
        """A descriptor of the folder with the lock; an open duplicate protects it from ``sweep``."""
        return self._handle

    def remove(self) -> None:
        """Remove the folder with its contents. Can be called again."""
        if self._handle >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._handle)
            self._handle = -1


def sweep() -> None:
    """Remove the folders of the same person's programs that are gone. Never raises."""
    top = tempfile.gettempdir()
    with suppress(OSError):
        for name in os.listdir(top):
            if name.startswith((_RUN, SHELL, ACP)):
                _remove_abandoned(os.path.join(top, name))


def _remove_abandoned(path: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o077 == 0:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(handle)
