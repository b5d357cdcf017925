"""Judging the calls that change metadata of a file. The supervisor always carries them out itself.

Landlock does not know these calls. To let one continue would trust memory, links and descriptors that
another thread of the caller can exchange meanwhile.
"""

import errno
import os
import stat
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sam_tui.adapters.terminal.sandbox.judgement.paths import signed
from sam_tui.adapters.terminal.sandbox.kernel.calls import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_NOFOLLOW,
    open_exactly,
)
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target
from sam_tui.adapters.terminal.sandbox.supervised.places import change_of
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch

_SET_ID_BITS = stat.S_ISUID | stat.S_ISGID
_LONGEST_NAME = 255
_LONGEST_VALUE = 65536
_SETXFLAGS = 0x401C5820
_FSXATTR = 28
_MICRO = 1_000_000

Change = Callable[[int], None]
"""Changes the metadata of the object behind an O_PATH descriptor. Raises OSError."""


@dataclass(frozen=True, slots=True)
class MetadataSubject:
    """The subject of a metadata call: a path, or with ``path`` None the open descriptor ``directory``
    itself.
    """

    directory: int
    path: str | None
    follow: bool = True


def _judge(
    watch: Watch, call: Notification, subject: MetadataSubject, change: Change, *, mode: int = 0
) -> None:
    """Judge one change of metadata and carry it out. ``mode`` has the permission bits to set, or 0."""
    target = Target(call.thread, watch.memory)
    rights = watch.rights(call)
    try:
        with file_calls.acting_as(rights):
            opened = _opened(watch, target, subject)
    except FileNotFoundError:
        if not watch.later_run.asking:
            raise
        # It was written to a place, and the person is still asked for that.
        watch.later_run.when_settled(
            lambda: watch.carry_out(call, lambda: _judge(watch, call, subject, change, mode=mode))
        )
        return
    with file_calls.acting_as(rights), _handle(opened) as handle:
        real = _real(handle)
        gain = _gain(watch, handle, real, mode)
        if not gain and (_is_own(watch, target, real) or not os.fstat(handle).st_nlink):
            if watch.waits(call):
                change(handle)
                watch.succeed(call)
            return

    def do_it() -> None:
        with file_calls.acting_as(rights), _again(target, subject, real) as handle:
            change(handle)
        watch.succeed(call)

    why = f"{real} would run with the rights of its owner or group, whoever starts it"
    lending = change_of(why, None, b"") if gain == "lent" else None
    watch.settle(call, OutsideWish("metadata", real, content=gain), do_it, lending)


def _gain(watch: Watch, handle: int, real: str, mode: int) -> str:
    """Return what new permissions add that is asked about inside, too: ``lent`` lends rights to whoever
    starts the file, ``executable`` makes a place run; empty if neither."""
    status = os.fstat(handle)
    gained = mode & ~status.st_mode
    if gained & _SET_ID_BITS and not stat.S_ISDIR(status.st_mode):
        return "lent"
    return "executable" if gained & 0o111 and watch.later_run.runs(real) else ""


def _is_own(watch: Watch, target: Target, real: str) -> bool:
    """Whether the object is inside, made by the run, or a pipe or socket without a path."""
    return watch.inside.holds(real) or real[:1] != "/" or watch.created.holds(target, real)


@contextmanager
def _handle(handle: int) -> Generator[int]:
    """Close a descriptor in the end."""
    try:
        yield handle
    finally:
        os.close(handle)


def _opened(watch: Watch, target: Target, subject: MetadataSubject) -> int:
    if subject.path is None:
        return _descriptor(target, subject.directory)
    likely = watch.inside.likely(target, subject.directory, subject.path)
    if likely:
        with suppress(OSError):
            handle = open_exactly(likely, os.O_PATH | os.O_NOFOLLOW)
            if not (subject.follow and stat.S_ISLNK(os.fstat(handle).st_mode)):
                return handle
            os.close(handle)
    target_path = target.resolve(subject.directory, subject.path, follow=subject.follow)
    if target_path.special:
        raise PermissionError(errno.EACCES, "Not a name in a file system")
    return open_exactly(target_path.real, os.O_PATH | os.O_NOFOLLOW)


@contextmanager
def _again(target: Target, subject: MetadataSubject, agreed: str) -> Generator[int]:
    """The same subject after the person agreed to its real path. Raises OSError if it moved away."""
    if subject.path is None:
        handle = _descriptor(target, subject.directory)
    else:
        handle = open_exactly(agreed, os.O_PATH | os.O_NOFOLLOW)
    try:
        if _real(handle) != agreed:
            raise PermissionError(errno.EACCES, "It is another file by now")
        yield handle
    finally:
        os.close(handle)


def _descriptor(target: Target, number: int) -> int:
    name = "cwd" if number == AT_FDCWD else f"fd/{number}"
    try:
        return os.open(f"/proc/{target.thread}/{name}", os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        raise OSError(errno.EBADF, "Bad file descriptor") from None


def _real(handle: int) -> str:
    return os.readlink(f"/proc/self/fd/{handle}")


def _subject(target: Target, directory: int, address: int, flags: int) -> MetadataSubject:
    """The subject of a call with a folder, a path and AT_ flags. Raises OSError for flags of others."""
    if flags & 0xFFFFFFFF & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW):
        raise OSError(errno.EINVAL, "Invalid argument")
    path = target.text(address)
    if not path and flags & AT_EMPTY_PATH:
        return MetadataSubject(signed(directory), None)
    return MetadataSubject(signed(directory), path, not flags & AT_SYMLINK_NOFOLLOW)


def _mode(watch: Watch, call: Notification) -> None:
    """chmod, fchmod, fchmodat, fchmodat2."""
    a, target = call.arguments, Target(call.thread, watch.memory)
    match watch.names[call.number]:
        case "chmod":
            subject, mode = _subject(target, AT_FDCWD, a[0], 0), a[1]
        case "fchmod":
            subject, mode = MetadataSubject(signed(a[0]), None), a[1]
        case "fchmodat":
            subject, mode = _subject(target, a[0], a[1], 0), a[2]
        case _:
            subject, mode = _subject(target, a[0], a[1], a[3]), a[2]
    _judge(watch, call, subject, lambda handle: file_calls.change_mode(handle, mode), mode=mode)


def _owner(watch: Watch, call: Notification) -> None:
    """chown, lchown, fchown, fchownat."""
    a, target = call.arguments, Target(call.thread, watch.memory)
    match watch.names[call.number]:
        case "fchown":
            subject, user, group = MetadataSubject(signed(a[0]), None), a[1], a[2]
        case "fchownat":
            subject, user, group = _subject(target, a[0], a[1], a[4]), a[2], a[3]
        case name:
            flags = AT_SYMLINK_NOFOLLOW if name == "lchown" else 0
            subject, user, group = _subject(target, AT_FDCWD, a[0], flags), a[1], a[2]
    low = 0xFFFFFFFF
    _judge(
        watch,
        call,
        subject,
        lambda handle: file_calls.change_owner(handle, user & low, group & low),
    )


def _times(watch: Watch, call: Notification) -> None:
    """utime, utimes, futimesat, utimensat."""
    a, target = call.arguments, Target(call.thread, watch.memory)
    name = watch.names[call.number]
    if name in ("utime", "utimes"):
        subject, address = _subject(target, AT_FDCWD, a[0], 0), a[1]
    elif not a[1]:
        if signed(a[0]) == AT_FDCWD:
            raise OSError(errno.EFAULT, "Bad address")
        subject, address = MetadataSubject(signed(a[0]), None), a[2]
    else:
        subject, address = _subject(target, a[0], a[1], a[3] if name == "utimensat" else 0), a[2]
    times = _timespecs(target, name, address) if address else None
    _judge(watch, call, subject, lambda handle: file_calls.change_times(handle, times))


def _timespecs(target: Target, name: str, address: int) -> bytes:
    """The times of a call as two struct timespec."""
    if name == "utimensat":
        return target.data(address, 32)
    if name == "utime":
        accessed, changed = struct.unpack("=2q", target.data(address, 16))
        return struct.pack("=4q", accessed, 0, changed, 0)
    seconds, micro, later, fraction = struct.unpack("=4q", target.data(address, 32))
    if not (0 <= micro < _MICRO and 0 <= fraction < _MICRO):
        raise OSError(errno.EINVAL, "Invalid argument")
    return struct.pack("=4q", seconds, micro * 1000, later, fraction * 1000)


def _attribute(watch: Watch, call: Notification) -> None:
    """setxattr, removexattr and their l and f forms."""
    a, target = call.arguments, Target(call.thread, watch.memory)
    name = watch.names[call.number]
    if name[0] == "f":
        subject = MetadataSubject(signed(a[0]), None)
    else:
        subject = _subject(target, AT_FDCWD, a[0], AT_SYMLINK_NOFOLLOW if name[0] == "l" else 0)
    attribute = target.text(a[1])
    if len(attribute) > _LONGEST_NAME:
        raise OSError(errno.ERANGE, "Numerical result out of range")
    if name.endswith("removexattr"):
        _judge(watch, call, subject, lambda handle: file_calls.remove_attribute(handle, attribute))
        return
    if a[3] > _LONGEST_VALUE:
        raise OSError(errno.E2BIG, "Argument list too long")
    value, flags = target.data(a[2], a[3]), signed(a[4])
    _judge(
        watch,
        call,
        subject,
        lambda handle: file_calls.set_attribute(handle, attribute, value, flags),
    )


def _file_flags(watch: Watch, call: Notification) -> None:
    """Judge the ioctls of chattr; no others arrive here."""
    number, request, address = call.arguments[:3]
    request &= 0xFFFFFFFF
    size = _FSXATTR if request == _SETXFLAGS else 4
    argument = Target(call.thread, watch.memory).data(address, size)
    subject = MetadataSubject(signed(number), None)
    _judge(watch, call, subject, lambda h: file_calls.set_file_flags(h, request, argument))


def metadata_handlers() -> dict[str, Callable[[Watch, Notification], None]]:
    """The handlers of system calls that change metadata, by name."""
    groups: tuple[tuple[Callable[[Watch, Notification], None], tuple[str, ...]], ...] = (
        (_mode, ("chmod", "fchmod", "fchmodat", "fchmodat2")),
        (_owner, ("chown", "lchown", "fchown", "fchownat")),
        (_times, ("utime", "utimes", "futimesat", "utimensat")),
        (_attribute, ("setxattr", "lsetxattr", "fsetxattr")),
        (_attribute, ("removexattr", "lremovexattr", "fremovexattr")),
        (_file_flags, ("ioctl",)),
    )
    return {name: handler for handler, names in groups for name in names}
