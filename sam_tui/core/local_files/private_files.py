"""Small private files of the settings folder: one writer at a time, whole or not at all."""

import fcntl
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

from sam_tui.core.errors import ConfigurationError


@contextmanager
def exclusive(path: str) -> Generator[None, None, None]:
    """Hold the only right to change a file; its folder is made for the owner alone.

    Raises ``ConfigurationError`` if the system refuses, also for writes inside the block.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        lock = os.open(path + ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename or path} cannot be written: {error.strerror}.",
            hint="Check the permissions of the settings folder.",
        ) from error


def replace_file(path: str, text: str, *, errors: str = "strict", flushed: bool = True) -> None:
    """Write a file anew, mode 0600; a link keeps pointing to it. Raises OSError.

    ``errors``: as of ``open``; ``flushed``: the file has reached the disk when this returns.
    """
    target = os.path.realpath(path)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".sam-tui-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors=errors) as file:
            file.write(text)
            if flushed:
                file.flush()
                os.fsync(handle)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
