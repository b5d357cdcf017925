"""Temporary folders that are removed by the next program where this one cannot: it was killed."""

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress

_RUN = "sam-tui-run-"
SHELL = "sam-tui-shell-"
"""Begins the folder of what a shell is started with."""


class Scratch:
    """One such folder, which holds a lock for as long as this program lives."""

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
        """The folder that an earlier program made and another process keeps; None if it is gone."""
        folder = cls.__new__(cls)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        folder.path, folder._handle = path, handle
        return folder

    @property
    def descriptor(self) -> int:
        """The folder, open and locked: whoever has it open keeps it from being swept."""
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
            if name.startswith((_RUN, SHELL)):
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
