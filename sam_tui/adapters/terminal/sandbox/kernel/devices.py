"""Devices that no command may read: disks, memory, and input and output of other terminals."""

import os
import re
import stat
from collections.abc import Iterator
from functools import cached_property

from sam_tui.core.local_files.real_paths import RealPaths

_ROOT = "/dev"
_ELSEWHERE = frozenset({"pts", "shm", "mqueue", "hugepages", "char", "block", "disk", "fd"})
"""Folders of /dev without device files of their own, or with rules of their own."""
_DEEPEST = 3
_RAW = re.compile(
    r"(?:k?mem|oldmem|port|kmsg|nvram|mcelog|crash|snapshot|u?input|uhid|hidraw\d+|vcs[au]?\d*|tty\d+"
    r"|n?st\d+\w*|sg\d+|bsg|raw|rawctl|ng\d+n\d+|nvme\d+|mtd\d+(?:ro)?|tpm(?:rm)?\d+|ipmi\d+|mei\d+|msr"
    r"|watchdog\d*|loop-control|btrfs-control|control|vfio|megaraid\w*|mpt\dctl)$"
)
"""Names of character devices and their folders that give access to disks, memory, keys or screens."""


class SystemLook(RealPaths):
    """Real paths and devices at one moment: each is looked up once, so keep it for one look only."""

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """The ``raw_devices``."""
        return raw_devices()


def raw_devices() -> tuple[str, ...]:
    """The existing devices that no command needs: all block devices, and some others by name.

    All are real paths.
    """
    return tuple(_below(os.path.realpath(_ROOT), 1))


def _below(folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as iterator:
            entries = list(iterator)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or (depth == 1 and entry.name in _ELSEWHERE):
            continue
        if _RAW.match(entry.name):
            yield entry.path
        elif entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST:
                yield from _below(entry.path, depth + 1)
        elif _is_disk(entry):
            yield entry.path


def _is_disk(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISBLK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False
