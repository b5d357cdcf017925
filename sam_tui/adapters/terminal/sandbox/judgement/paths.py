"""Path arguments of waiting system calls: resolution, and the judgement of the resolved place."""

import errno
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.adapters.terminal.sandbox.supervised.caller import ResolvedPath, Target
from sam_tui.adapters.terminal.sandbox.supervised.file_calls import RESERVED
from sam_tui.adapters.terminal.sandbox.supervised.run import Watch
from sam_tui.core.authorization.paths.places import Place as PlaceKind

UNRESOLVED = re.compile(r"/\.{0,2}(?:/|\Z)")
"""A part of a path that is empty, ``.`` or ``..``."""
_KERNEL_FOLDERS = ("/proc/", "/sys/")
"""Folders of the kernel. Nobody is asked about changes there: Landlock refuses them."""


@dataclass(frozen=True, slots=True)
class Named:
    """A path argument: the descriptor it starts from, its text, and whether a final link is followed.

    The text is read once, because the caller's memory can change between judgement and action.
    """

    directory: int
    text: str
    follow: bool = False


def signed(word: int) -> int:
    """An argument as the kernel reads an int: its low 32 bits with their sign."""
    low = word & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def left_to_landlock(watch: Watch, path: ResolvedPath) -> bool:
    """Whether the kernel alone decides: its ruleset allows the path, or no question is asked about it."""
    return path.special or watch.granted.holds(path.real) or path.real.startswith(_KERNEL_FOLDERS)


def is_inside(watch: Watch, path: ResolvedPath) -> bool:
    """Whether the run may write to a real path."""
    return not path.special and watch.inside.holds(path.real)


def hopeless(path: ResolvedPath) -> bool:
    """Whether accesses to the path are denied without a question."""
    return path.special or path.real.startswith(_KERNEL_FOLDERS)


def is_watched(watch: Watch, path: ResolvedPath) -> bool:
    """Whether the supervisor makes every change there."""
    return not path.special and bool(watch.later_run.root_of(path.real))


def plainly(watch: Watch, target: Target, directory: int, text: str) -> str:
    """A path in a watched folder that needs no resolving if no part of it is a link; else empty.

    Not for places: whether something is one is decided on real paths.
    """
    path = target.absolute(directory, text)
    if UNRESOLVED.search(path) or RESERVED in path:
        return ""
    return path if watch.later_run.ordinary(path) else ""


def carried_inside(
    watch: Watch,
    target: Target,
    path: Named,
    act: Callable[[str, PlaceKind | None], None],
    *,
    quick: bool = True,
) -> bool:
    """Carry out a call on a path in a watched folder; False if the path leads elsewhere.

    ``act`` gets the real path and the kind of place there, and raises OSError: ELOOP if the path
    has a link after all.
    """
    if quick and (real := plainly(watch, target, path.directory, path.text)):
        try:
            act(real, None)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        else:
            return True
    target_path = target.resolve(path.directory, path.text, follow=path.follow)
    if not is_watched(watch, target_path):
        return False
    act(target_path.real, judged(watch, target_path.real))
    return True


def judged(watch: Watch, real: str) -> PlaceKind | None:
    """The kind of place at a real path, or None. Raises OSError for a name that is always refused."""
    if RESERVED in real:
        raise PermissionError(errno.EACCES, "Permission denied")
    return watch.later_run.at(real)


def nameless(watch: Watch, link: str) -> int:
    """An O_PATH descriptor of a file without a name that a run made in its folders, by its link in /proc.

    -1 for any other.
    """
    handle = os.open(link, os.O_PATH | os.O_CLOEXEC)
    status = os.fstat(handle)
    made_here = watch.later_run.root_of(os.readlink(f"/proc/self/fd/{handle}"))
    if made_here and stat.S_ISREG(status.st_mode) and not status.st_nlink:
        return handle
    os.close(handle)
    return -1
