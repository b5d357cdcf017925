"""Paths that a run cannot change in its writable folders: secrets and the program's own data.

A workspace may be the home folder, or everything. Landlock only adds rights further down in the tree, so
the folders above such a path are not allowed as a whole, but entry by entry. The supervisor opens new files
that a run makes there.
"""

import os
from collections.abc import Sequence

from sam_tui.core.local_files.real_paths import RealPaths

_MOST_ENTRIES = 4096
"""In a folder with more entries no entry is allowed as a whole: all accesses go through the supervisor."""


def kept_within(
    paths: Sequence[str], writable: Sequence[str], real_paths: RealPaths
) -> tuple[str, ...]:
    """The real paths of those places below a writable folder, whether they exist or not."""
    below = tuple(f"{folder.rstrip('/')}/" for folder in writable)
    resolved = map(real_paths.of, paths)
    return tuple(dict.fromkeys(real for real in resolved if real.startswith(below)))


def ways(folder: str, secret_paths: Sequence[str]) -> tuple[str, ...]:
    """The existing folders from ``folder`` down to each of the secret paths below it."""
    top = folder.rstrip("/")
    parents: set[str] = set()
    for path in secret_paths:
        above = os.path.dirname(path)
        while above not in parents and (above == folder or above.startswith(f"{top}/")):
            parents.add(above)
            above = os.path.dirname(above)
    return tuple(sorted(filter(os.path.isdir, parents)))


def carved(folder: str, secret_paths: Sequence[str]) -> tuple[str, ...]:
    """The paths that can be allowed as a whole: the folder itself if no secret is below it, else the
    entries next to the path of each secret."""
    split = ways(folder, secret_paths)
    if not split:
        return (folder,)
    apart = {*split, *secret_paths}
    folders: list[str] = []
    for parent in split:
        try:
            names = os.listdir(parent)
        except OSError:
            continue
        if len(names) <= _MOST_ENTRIES:
            folders += [path for name in names if (path := os.path.join(parent, name)) not in apart]
    return tuple(folders)
