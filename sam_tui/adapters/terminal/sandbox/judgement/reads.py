"""Opens for reading: the supervisor judges a name, opens exactly that file, and hands it over.

The kernel opens nothing itself: it would read the path again, which a thread could have changed. A path
without links is opened with links refused, so the judged name is the opened file's. A path with links is
opened as an object first, and then the object's own name is judged.
"""

import errno
import os
import re
import select
import stat
import threading
from collections.abc import Callable
from contextlib import suppress

from sam_tui.adapters.terminal.sandbox.judgement.paths import UNRESOLVED, Named
from sam_tui.adapters.terminal.sandbox.judgement.process_calls import belongs
from sam_tui.adapters.terminal.sandbox.kernel.calls import NO_MAGIC_LINKS, open_exactly
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target, has_signal, own_rights
from sam_tui.adapters.terminal.sandbox.supervised.own_objects import controlling, is_shared
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch

_MOST_WAITING = threading.BoundedSemaphore(64)
_MOMENT = 500
"""Milliseconds between two checks whether the caller still waits."""


def hand_over_pipe(watch: Watch, call: Notification, reading: int, flags: int) -> None:
    """Hand over the reading end of a named pipe, which was opened without waiting, and close it here.

    Raises OSError where too many wait.
    """
    if flags & os.O_NONBLOCK:
        try:
            watch.give(call, reading, flags)
        finally:
            os.close(reading)
        return
    if not _MOST_WAITING.acquire(blocking=False):
        os.close(reading)
        raise OSError(24, "Too many open files")
    threading.Thread(
        target=_wait, args=(watch, call, reading, flags), name="pipe", daemon=True
    ).start()


def _wait(watch: Watch, call: Notification, reading: int, flags: int) -> None:
    """Wait on a thread until somebody opens the pipe for writing: only another open for reading, which
    blocks, notices that. ``reading`` shows a writer that came and left meanwhile."""
    path = f"/proc/self/fd/{reading}"
    opened, opening = os.pipe()

    def open_and_wait() -> None:
        with suppress(OSError):
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        os.close(opening)
        _MOST_WAITING.release()

    waiting = threading.Thread(target=open_and_wait, name="pipe-reader", daemon=True)
    waiting.start()
    try:
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        poll.register(opened, select.POLLIN)
        while not poll.poll(_MOMENT) and watch.waits(call):
            if has_signal(call.thread):
                watch.refuse(call, 4)  # EINTR, as an open that waits is interrupted
                return
        file_calls.restore_waiting(reading, flags)
        watch.give(call, reading, flags)
    except OSError:
        return  # the caller is gone
    finally:
        if waiting.is_alive():
            with suppress(OSError):  # a writer for a moment, by which that open ends
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        os.close(opened)
        os.close(reading)


_VIEWS = ("/proc/", "/sys/")
"""Folders of the kernel, which also checks the capabilities of who opens a file there."""
_PROCESS = re.compile(r"/proc/(\d+)(?:/task/\d+)?/([^/]+)")
_FOR_ALL = frozenset({
    "stat", "status", "statm", "cmdline", "comm", "cgroup", "cpuset", "limits", "loginuid", "sessionid",
    "oom_score", "oom_score_adj", "oom_adj", "sched", "schedstat", "autogroup", "wchan", "uid_map",
    "gid_map", "projid_map", "setgroups", "mounts", "mountinfo", "net", "task",
})  # fmt: skip
"""Files of a process in /proc that every process may read; others are only for those who may trace it."""
_DELETED = " (deleted)"
_MEMORY_FILE = "/memfd:"
_DEVICES = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9)}
"""null, zero, full, random, urandom. With a descriptor of another device that the supervisor opened, a run
could do what Landlock refuses."""
_TERMINAL, _TERMINAL_MAKER = (5, 0), (5, 2)
_TERMINALS = range(136, 144)
_FOLDER_SECRETS = {
    ".m2": ("settings.xml", "settings-security.xml"),
    ".gradle": ("gradle.properties",),
    ".streamlit": ("secrets.toml",),
}
"""Files that are secret only in a folder of this name."""


def judge_read(watch: Watch, call: Notification, target: Target, named: Named, flags: int) -> None:
    """Answer an open that only reads. Raises OSError, which is the call's own."""
    path = target.absolute(named.directory, named.text)
    if not UNRESOLVED.search(path) and watch.reads.is_plain(path):
        try:
            with file_calls.acting_as(watch.rights(call)):
                opened = open_exactly(path, file_calls.unwaiting(flags))
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        else:
            _hand_over(watch, call, opened, flags)
            return
    with file_calls.acting_as(watch.rights(call)):
        handle = _behind(watch, target, named, path, flags & os.O_NOFOLLOW)
    try:
        _judge_object(watch, call, target, handle, flags)
    finally:
        os.close(handle)


def asked_secret(watch: Watch, call: Notification, real: str, go: Callable[[], None]) -> bool:
    """Whether opening a path for writing would also read a secret; then ask, and call ``go`` on a yes."""
    if not watch.reads.secret(real) or not _is_content(real):
        return False
    watch.settle(call, OutsideWish("read", real), go)
    return True


def asked_new_name(
    watch: Watch, call: Notification, names: tuple[tuple[str, str], ...], go: Callable[[], None]
) -> bool:
    """Whether the new names would hide a secret, which counts as reading it; ``go`` is called after a yes.

    ``names`` are pairs of an old and a new name.
    """
    for old, new in names:
        if secret := _loses_its_name(watch, old, new):
            watch.settle(call, OutsideWish("read", secret), go)
            return True
    return False


def _loses_its_name(watch: Watch, old: str, new: str) -> str:
    """The secret at or below ``old`` that is not secret by its name at ``new``; empty for none."""
    within = _FOLDER_SECRETS.get(os.path.basename(old).lower(), ())
    for end in ("", *(f"/{name}" for name in within)):
        secret = f"{old}{end}"
        lost = watch.reads.secret(secret) and not watch.reads.secret(f"{new}{end}")
        if lost and _is_content(secret):
            return secret
    return ""


def _is_content(real: str) -> bool:
    return os.path.exists(real) and not os.path.isdir(real)


def _behind(watch: Watch, target: Target, named: Named, path: str, nofollow: int) -> int:
    """Return an O_PATH descriptor of a path's target for its caller. Raises OSError."""
    flags = os.O_PATH | nofollow
    try:
        handle = open_exactly(path, flags, resolve=NO_MAGIC_LINKS)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOENT, errno.EACCES):
            raise
    else:
        if not f"{_name(handle)}/".startswith("/proc/"):
            return handle
        os.close(handle)
    # Links of /proc lead elsewhere for each process.
    resolved = target.resolve(named.directory, named.text, follow=not nofollow)
    if not resolved.special:
        return open_exactly(resolved.real, flags | os.O_NOFOLLOW)
    handle = os.open(resolved.link, flags | os.O_CLOEXEC)
    if not _may_see(watch, target, resolved.link):
        os.close(handle)
        raise PermissionError(errno.EACCES, "Permission denied")
    return handle


def _name(handle: int) -> str:
    return os.readlink(f"/proc/self/fd/{handle}")


def _may_see(watch: Watch, target: Target, real: str) -> bool:
    """Whether the caller may read this file of ``/proc``: its own run's, or what every process may.

    To be asked while a descriptor is held: so the number cannot mean another process by then.
    """
    match = _PROCESS.match(real)
    if match is None or match[2] in _FOR_ALL:
        return True
    pid = int(match[1])
    if pid == target.process or belongs(target.thread, pid):
        return True
    return bool(watch.tracker.state_of(pid))


def _judge_object(
    watch: Watch, call: Notification, target: Target, handle: int, flags: int
) -> None:
    """Answer the open of an object that is held. Raises OSError."""
    status, real = os.fstat(handle), _name(handle)
    deleted = not status.st_nlink and real.endswith(_DELETED)
    name = real.removesuffix(_DELETED) if deleted else real
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "Too many levels of symbolic links")
    if stat.S_ISDIR(status.st_mode) or not _is_file_name(name, deleted=deleted):
        if not _may_see(watch, target, f"{name}/"):
            raise PermissionError(errno.EACCES, "Permission denied")
        _open_held(watch, call, handle, name, flags)
    elif watch.reads.is_hidden(name) or not _may_see(watch, target, name):
        raise PermissionError(errno.EACCES, "Permission denied")
    elif stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        _open_device(watch, call, target, handle, flags)
    elif (secret := watch.reads.secret(name)) or not _is_free(watch, target, name, deleted=deleted):
        if deleted:
            raise PermissionError(errno.EACCES, "Permission denied")
        _ask(watch, call, (handle, name), flags, secret=secret)
    else:
        _open_held(watch, call, handle, name, flags)


def _is_free(watch: Watch, target: Target, name: str, *, deleted: bool) -> bool:
    """Whether a file of that name is read without a question; shared memory only if the run created it."""
    if is_shared(name) and not deleted and not watch.created.holds(target, name):
        return False
    return watch.reads.within(name)


def _is_file_name(name: str, *, deleted: bool) -> bool:
    """Whether the name is a path, and not that of a pipe, a socket or anonymous memory."""
    return name[:1] == "/" and not (deleted and name.startswith(_MEMORY_FILE))


def _open_held(watch: Watch, call: Notification, handle: int, name: str, flags: int) -> None:
    path = f"/proc/self/fd/{handle}"
    if name.startswith(_VIEWS):
        rights = Target(call.thread, watch.memory).rights()
        if rights.user != own_rights().user and not os.fstat(handle).st_mode & stat.S_IROTH:
            raise PermissionError(errno.EACCES, "Permission denied")
        with file_calls.acting_with_capabilities(rights):
            opened = os.open(path, file_calls.unwaiting(flags))
    else:
        with file_calls.acting_as(watch.rights(call)):
            opened = os.open(path, file_calls.unwaiting(flags))
    _hand_over(watch, call, opened, flags, named=name[:1] == "/")


def _ask(
    watch: Watch, call: Notification, held: tuple[int, str], flags: int, *, secret: bool
) -> None:
    """Ask about a read, and open the file after a yes. No question if the open would fail anyway."""
    handle, real = held
    rights = watch.rights(call)
    with file_calls.acting_as(rights):
        if not os.access(f"/proc/self/fd/{handle}", os.R_OK, effective_ids=True):
            raise PermissionError(errno.EACCES, "Permission denied")

    def open_it() -> None:
        with file_calls.acting_as(rights):
            opened = open_exactly(real, file_calls.unwaiting(flags))
        _hand_over(watch, call, opened, flags)

    if not secret and watch.reads.toolchain(real):
        watch.carry_out(call, open_it)
    else:
        watch.settle(call, OutsideWish("read", real), open_it)


def _open_device(watch: Watch, call: Notification, target: Target, handle: int, flags: int) -> None:
    """Open a device without content, or a terminal of the run."""
    device = os.fstat(handle).st_rdev
    numbers, real = (os.major(device), os.minor(device)), _name(handle)
    if numbers == _TERMINAL:
        real = controlling(target)
        if not real:
            raise OSError(errno.ENXIO, "No such device or address")
    elif numbers[0] in _TERMINALS:
        if not watch.created.holds(target, real):
            raise PermissionError(errno.EACCES, "Permission denied")
    elif numbers not in _DEVICES and numbers != _TERMINAL_MAKER:
        raise PermissionError(errno.EACCES, "Permission denied")
    with file_calls.acting_as(watch.rights(call)):
        opened = file_calls.open_file(real, flags, 0)
    try:
        if numbers == _TERMINAL_MAKER:
            watch.created.opened_master(opened)
        watch.give(call, opened, flags)
    finally:
        os.close(opened)


def _hand_over(
    watch: Watch, call: Notification, opened: int, flags: int, *, named: bool = True
) -> None:
    """Return the descriptor opened ``unwaiting`` to the caller, and close it here. Raises OSError."""
    kind = os.fstat(opened).st_mode
    if stat.S_ISFIFO(kind) and named:
        hand_over_pipe(watch, call, opened, flags)
        return
    try:
        if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
            raise PermissionError(errno.EACCES, "Permission denied")
        file_calls.restore_waiting(opened, flags)
        watch.give(call, opened, flags)
    finally:
        os.close(opened)
