"""Judging what opens files for reading: secrets by their names, and what lies where a run may not read.

Where the kernel lets a run read, it opens the file itself; anything else the supervisor opens, on the
path that was judged.
"""

import os
from collections.abc import Callable

from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import WRITE_FLAGS
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch


def asked_read(
    watch: Watch,
    call: Notification,
    target: Target,
    where: tuple[int, str],
    how: tuple[int, Callable[[], None]],
) -> bool:
    """Take on a call that reads what has to be asked for or opened here; False leaves it to others.

    ``where`` is a folder's descriptor and a path; ``how`` are flags, and what judges what the call also
    writes.
    """
    flags, go_on = how
    real = _real(watch, target, *where, follow=not flags & os.O_NOFOLLOW)
    secret = watch.reads.secret(real)
    if not (secret or not watch.reads.within(real)) or not os.path.isfile(real):
        return False
    if not secret and flags & WRITE_FLAGS:
        return False  # a write outside is asked as one, and one that only empties a file, too
    rights = target.rights()

    def open_it() -> None:
        with file_calls.acting_as(rights):
            opened = file_calls.open_file(real, flags, 0)
        try:
            watch.give(call, opened, flags)
        finally:
            os.close(opened)

    if not _readable(real):
        return False
    if not secret and watch.reads.toolchain(real):
        watch.carry_out(call, open_it)
    else:
        watch.settle(call, OutsideWish("read", real), go_on if flags & WRITE_FLAGS else open_it)
    return True


def asked_new_name(
    watch: Watch, call: Notification, old: str, new: str, go: Callable[[], None]
) -> bool:
    """A secret that gets a name which tells nobody that it is one counts as read; ``go`` on a yes."""
    if not watch.reads.secret(old) or watch.reads.secret(new) or not os.path.isfile(old):
        return False
    watch.settle(call, OutsideWish("read", old), go)
    return True


def _readable(real: str) -> bool:
    """Whether it could be read at all; nobody is asked about what fails by itself."""
    return os.access(real, os.R_OK, effective_ids=True)


def _real(watch: Watch, target: Target, directory: int, path: str, *, follow: bool) -> str:
    """Where a path leads; empty for what has no name in a file system."""
    likely = watch.inside.likely(target, directory, path)
    if likely and not likely.startswith("/proc/"):
        try:
            if not follow:
                return likely
            os.readlink(likely)
        except OSError:
            return likely
    target_path = target.resolve(directory, path, follow=follow)
    return "" if target_path.special else target_path.real
