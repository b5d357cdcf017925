"""Changes in the folders of a run, made by the supervisor itself so that it can judge places among them.

It changes exactly the files it judged: real paths, opened without a link, in folders that nobody
else can change. Every function raises OSError where the call fails.
"""

import errno
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress

from sam_tui.adapters.terminal.sandbox.judgement.drafts import Drafts
from sam_tui.adapters.terminal.sandbox.judgement.folder_moves import move_folder
from sam_tui.adapters.terminal.sandbox.judgement.paths import judged, nameless
from sam_tui.adapters.terminal.sandbox.kernel.calls import libc
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Rights
from sam_tui.adapters.terminal.sandbox.supervised.places import change_of
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch
from sam_tui.core.authorization.paths.places import Place, leads_to_places

_TMPFILE = getattr(os, "O_TMPFILE", 0)
EXCHANGE, _NO_REPLACE = 2, 1
_IN_OPEN = 0x20
_MOST_PIPES = threading.BoundedSemaphore(64)

Act = Callable[[], None]


def open_inside(
    watch: Watch,
    call: Notification,
    drafts: Drafts,
    spot: tuple[str, Place | None],
    how: tuple[int, int],
) -> None:
    """Open for writing: a place by a draft, all else at once. ``how`` are flags and mode."""
    real, kind = spot
    flags, mode = how
    nameless_one = bool(_TMPFILE and flags & _TMPFILE == _TMPFILE)
    if kind is not None and not nameless_one:

        def again() -> None:
            try:
                open_inside(watch, call, drafts, spot, how)
            except OSError as error:
                with suppress(OSError):
                    watch.refuse(call, error.errno or errno.EACCES)

        if not watch.later_run.waits(real, again):
            drafts.open(watch, call, real, kind, flags, mode)
        return
    making = bool(flags & os.O_CREAT) or nameless_one
    rights = watch.rights(call, make=making)
    if not watch.waits(call):
        return
    try:
        with file_calls.acting_as(rights):
            opened = file_calls.open_file(real, flags, mode & ~rights.umask)
    except OSError as error:
        if error.errno == errno.ENXIO and not flags & os.O_NONBLOCK and _is_pipe(real):
            _open_pipe(watch, call, rights, real, flags)
            return
        raise
    try:
        watch.give(call, opened, flags)
    finally:
        os.close(opened)


def opened_again(watch: Watch, call: Notification, drafts: Drafts, link: str, flags: int) -> bool:
    """Open again a nameless file that a descriptor leads to; False if the file is not the run's own."""
    handle = nameless(watch, link)
    if handle < 0:
        return False
    try:
        drafts.reopened(handle)
        rights = watch.rights(call)
        with file_calls.acting_as(rights):
            opened = os.open(f"/proc/self/fd/{handle}", file_calls.known_flags(flags))
    finally:
        os.close(handle)
    try:
        watch.give(call, opened, flags)
    finally:
        os.close(opened)
    return True


def _is_pipe(real: str) -> bool:
    try:
        return stat.S_ISFIFO(os.lstat(real).st_mode)
    except OSError:
        return False


def _open_pipe(watch: Watch, call: Notification, rights: Rights, real: str, flags: int) -> None:
    """Open a named pipe once it has a reader, as the caller's own open would have waited."""
    if not _MOST_PIPES.acquire(blocking=False):
        raise OSError(errno.EMFILE, "Too many open files")

    def wait() -> None:
        import select

        events = int(libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        try:
            libc().inotify_add_watch(events, os.fsencode(real), _IN_OPEN)
            while watch.waits(call):
                try:
                    with file_calls.acting_as(rights):
                        opened = file_calls.open_file(real, flags & ~os.O_CREAT, 0)
                except OSError as error:
                    if error.errno != errno.ENXIO:
                        watch.refuse(call, error.errno or errno.EACCES)
                        return
                    select.select([events], [], [], 1.0)
                    with suppress(BlockingIOError):
                        os.read(events, 4096)
                else:
                    watch.give(call, opened, flags)
                    os.close(opened)
                    return
        except OSError:
            return  # the caller is gone
        finally:
            os.close(events)
            _MOST_PIPES.release()

    threading.Thread(target=wait, name="pipe", daemon=True).start()


def truncate_inside(
    watch: Watch, call: Notification, real: str, kind: Place | None, size: int
) -> None:
    """truncate by path."""
    rights = watch.rights(call)
    if kind is None:
        watch.do(call, rights, lambda: file_calls.truncate(real, size))
        return
    with file_calls.acting_as(rights):
        os.close(file_calls.open_file(real, os.O_WRONLY, 0))
        content, mode = file_calls.read_file(real)
    if size > file_calls.LARGEST_PLACE:
        raise OSError(errno.EFBIG, "File too large")
    put(watch, call, real, kind, (content[:size].ljust(size, b"\0"), mode), lambda: None)


def put(
    watch: Watch,
    call: Notification,
    real: str,
    kind: Place,
    new: tuple[bytes, int],
    after: Act,
) -> None:
    """Give a place new content and permissions, at once or after the person agreed; then ``after``."""
    rights = watch.rights(call)
    content, mode = new

    def place_it() -> None:
        with file_calls.acting_as(rights):
            watch.later_run.put(real, kind, content, mode)
            after()
        watch.succeed(call)

    change = watch.later_run.judge(real, kind, content)
    if change is None:
        if watch.waits(call):
            place_it()
    else:
        watch.settle(call, OutsideWish("write", real, content=change.digest), place_it, change)


def remove_inside(
    watch: Watch, call: Notification, real: str, kind: Place | None, *, folder: bool
) -> None:
    """unlink and rmdir; a place that must not be removed is asked about."""
    rights = watch.rights(call)

    def remove() -> None:
        if kind is not None:
            watch.later_run.leaves(real)
        file_calls.remove(real, folder=folder)

    loosens = kind is not None and kind.removal and os.path.lexists(real) and not folder
    if kind is not None and loosens and not watch.later_run.is_copy(real):
        why = f"{real} {kind.what}"
        change = change_of(f"{why}, and would be removed", _content(real), b"")
        watch.ask(call, OutsideWish("delete", real, content="gone"), change, rights, remove)
    else:
        watch.do(call, rights, remove)


def make_inside(
    watch: Watch,
    call: Notification,
    spot: tuple[str, Place | None],
    make: Callable[[int], None],
    *,
    content: str = "",
) -> None:
    """Make a name: ``make`` gets the umask. ``content`` describes the program that a place would start."""
    real, kind = spot
    rights = watch.rights(call, make=True)

    def act() -> None:
        make(rights.umask)

    linked = bool(content) and leads_to_places(real, watch.later_run.root_of(real), content)
    if content and (linked or kind is not None) and not os.path.lexists(real):
        change = change_of(
            f"{real} is where programs look for what they start", None, content.encode()
        )
        watch.ask(call, OutsideWish("write", real, content=change.digest), change, rights, act)
    else:
        watch.do(call, rights, act)


def link_inside(watch: Watch, call: Notification, old: str, new: str, handle: int = -1) -> None:
    """Give a file a second name; ``handle`` is the file itself where it has none (O_TMPFILE).

    A place is no file with two names: it gets a copy, and none can be made of it.
    """
    rights = watch.rights(call)
    kind = judged(watch, new)
    if handle < 0 and judged(watch, old) is not None:
        raise PermissionError(errno.EPERM, "Operation not permitted")
    if kind is None:
        if handle >= 0:
            watch.do(call, rights, lambda: file_calls.link_open(handle, new))
        else:
            watch.do(call, rights, lambda: file_calls.link(old, new))
        return
    if os.path.lexists(new):
        raise FileExistsError(errno.EEXIST, "File exists")
    with file_calls.acting_as(rights):
        content = _opened(handle) if handle >= 0 else file_calls.read_file(old)
    put(watch, call, new, kind, content, lambda: None)


def rename_inside(watch: Watch, call: Notification, old: str, new: str, flags: int) -> None:
    """Rename; a file that becomes a place is judged by its content, and written in the judged form."""
    rights = watch.rights(call)
    leaves, kind = judged(watch, old), judged(watch, new)
    mode = os.lstat(old).st_mode

    def rename() -> None:
        file_calls.rename(old, new, flags)

    def leave() -> None:
        if leaves is not None:
            watch.later_run.leaves(old)

    if stat.S_ISDIR(mode) or (flags & EXCHANGE and os.path.isdir(new)):
        move_folder(watch, call, (old, new), flags, rights)
        return
    if leaves is not None and leaves.removal:
        change = change_of(f"{old} {leaves.what}, and would be removed", _content(old), b"")
        wish = OutsideWish("rename", old, new, content="gone")
        watch.ask(call, wish, change, rights, rename)
        return
    if flags & EXCHANGE and (kind is not None or leaves is not None):
        raise OSError(errno.EINVAL, "Invalid argument")
    if not stat.S_ISREG(mode) and (kind is not None or _leads_to_places(watch, new)):
        text = os.readlink(old) if stat.S_ISLNK(mode) else "a pipe, socket or device"
        change = change_of(f"{new} is where programs look for what they start", None, text.encode())
        wish = OutsideWish("rename", old, new, content=change.digest)
        watch.ask(call, wish, change, rights, rename)
        return
    if kind is None or not stat.S_ISREG(mode):
        leave()
        watch.do(call, rights, rename)
        return
    _check_replaceable(new, flags)
    with file_calls.acting_as(rights):
        content = file_calls.read_file(old)

    def after() -> None:
        leave()
        file_calls.remove(old, folder=False)

    put(watch, call, new, kind, content, after)


def _leads_to_places(watch: Watch, path: str) -> bool:
    root = watch.later_run.root_of(path)
    return bool(root) and leads_to_places(path, root)


def _check_replaceable(path: str, flags: int) -> None:
    """Raise the error that the kernel would return if a file cannot take that name."""
    if flags & _NO_REPLACE and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, "File exists")
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "Is a directory")


def _content(real: str) -> bytes | None:
    try:
        return file_calls.read_file(real)[0]
    except OSError:
        return None


def _opened(handle: int) -> tuple[bytes, int]:
    with open(f"/proc/self/fd/{handle}", "rb", buffering=0) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        return file_calls.content_of(file.fileno()), mode
