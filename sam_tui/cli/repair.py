"""The repairs of ``sam-tui doctor --fix``: folders, permissions, remains of ended programs, indexes."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress

from sam_tui.process import is_running

_ABANDONED = re.compile(r"\.(\d+)\.new$|^\.sam-tui-[A-Za-z0-9_]+$")
"""Names of temporary files that a killed program left."""


def mend(data_dir: str, config_dir: str) -> Iterator[str]:
    """Repair what can be repaired; yields in words what was done, and what the system refused."""
    for folder, allowed in ((data_dir, 0o700), (config_dir, 0o755)):
        yield from _folder(folder, allowed)
    yield from _private_files(data_dir)
    for folder in (data_dir, config_dir):
        yield from _abandoned(folder)
    yield from _indexes(data_dir)


def _folder(path: str, allowed: int) -> Iterator[str]:
    try:
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700)
            yield f"made {path}"
            return
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & ~allowed:
            os.chmod(path, mode & allowed)
            yield f"{path}: mode {mode:o} is {mode & allowed:o} now"
    except OSError as error:
        yield f"{path}: {error.strerror}"


def _private_files(folder: str) -> Iterator[str]:
    """Make files of the data folder private to their owner; links are left as they are."""
    for entry in _entries(folder):
        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        if not entry.is_file(follow_symlinks=False) or not mode & 0o077:
            continue
        try:
            os.chmod(entry.path, mode & 0o700)
            yield f"{entry.path}: others could read it, and no longer can"
        except OSError as error:
            yield f"{entry.path}: {error.strerror}"


def _abandoned(folder: str) -> Iterator[str]:
    """New versions of files that a program was ended over."""
    for entry in _entries(folder):
        match = _ABANDONED.search(entry.name)
        if match is None or not entry.is_file(follow_symlinks=False):
            continue
        if match[1] and is_running(int(match[1])):
            continue
        with suppress(OSError):
            os.unlink(entry.path)
            yield f"removed {entry.path}, which an ended program left"


def _indexes(data_dir: str) -> Iterator[str]:
    from sam_tui.adapters.code import forget_damaged

    for path in forget_damaged(data_dir):
        yield f"removed the damaged index {path}: the next search builds it again"


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
