"""Judging the calls that open files for writing, or make, rename and remove names."""

import errno
import os
import stat
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from sam_tui.adapters.terminal.sandbox.judgement import changes, feasibility
from sam_tui.adapters.terminal.sandbox.judgement.drafts import Drafts
from sam_tui.adapters.terminal.sandbox.judgement.name_pairs import judge_link, judge_rename
from sam_tui.adapters.terminal.sandbox.judgement.paths import (
    Named,
    carried_inside,
    is_inside,
    left_to_landlock,
    signed,
)
from sam_tui.adapters.terminal.sandbox.judgement.reads import asked_read
from sam_tui.adapters.terminal.sandbox.kernel.calls import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_REMOVEDIR,
    AT_SYMLINK_FOLLOW,
)
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import STARTING, TRUNCATION_HELD, WRITE_FLAGS
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target
from sam_tui.adapters.terminal.sandbox.supervised.own_objects import TERMINAL_MAKERS, TERMINALS
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch
from sam_tui.core.authorization.paths.places import Place as Kind

_SMALLEST_HOW = 24
_EXCLUDING = os.O_CREAT | os.O_EXCL


@dataclass(frozen=True, slots=True)
class _Deed:
    """What a call does to a name: ``act`` is given its real path and the caller's umask."""

    kind: str
    act: Callable[[str, int], None]
    could: feasibility.Chance = feasibility.can_make
    trusted: bool = True
    """Whether Landlock can be left to decide it."""
    makes_folder: bool = False
    leads: str = ""
    """What a name would lead to that is made so, no file or folder of its own."""


def judge_open(
    watch: Watch, call: Notification, drafts: Drafts, named: Named, flags: int, mode: int
) -> None:
    """A file opened. For writing, inside Landlock decides, outside the person."""
    target = Target(call.thread, watch.memory)
    fresh = flags & _EXCLUDING == _EXCLUDING  # of what is not there, nothing is read
    path = ""
    if flags & os.O_ACCMODE != os.O_WRONLY and not flags & os.O_PATH and not fresh:

        def go_on() -> None:
            _judge_write(watch, call, drafts, named, (flags, mode))

        path = target.text(named.address)
        if asked_read(watch, call, target, (named.directory, path), (flags, go_on)):
            return
    if flags & WRITE_FLAGS:
        _judge_write(watch, call, drafts, named, (flags, mode))
    elif path.startswith(TERMINALS) and (terminal := _own_terminal(watch, target, path)):
        _settle_open(watch, call, terminal, flags, mode)
    elif watch.inside.keeps:
        _judge_read(watch, call, named, flags)
    else:
        watch.proceed(call)


def _own_terminal(watch: Watch, target: Target, path: str) -> str:
    """The run's own terminal where that is opened for reading, else nothing.

    Landlock takes the settings of a terminal from those that it lets read: a pager got no keys.
    """
    real = target.resolve(AT_FDCWD, path, follow=True).real
    return real if watch.created.holds(target, real) else ""


def _judge_write(
    watch: Watch, call: Notification, drafts: Drafts, named: Named, how: tuple[int, int]
) -> None:
    """A file opened for writing: what is read of it has been judged."""
    flags, mode = how
    target = Target(call.thread, watch.memory)
    follow = not flags & os.O_NOFOLLOW and flags & _EXCLUDING != _EXCLUDING
    if carried_inside(
        watch,
        target,
        Named(named.directory, named.address, follow),
        lambda real, kind: changes.open_inside(watch, call, drafts, (real, kind), (flags, mode)),
    ):
        return
    path = target.text(named.address)
    trusted = watch.landlock >= TRUNCATION_HELD or not _only_truncates(flags)
    if trusted and (
        path in watch.devices or watch.granted.surely(target, named.directory, path, follow=follow)
    ):
        watch.proceed(call)
        return
    target_path = target.resolve(named.directory, path, follow=follow)
    if target_path.link and changes.opened_again(watch, call, drafts, target_path.link, flags):
        return
    left = left_to_landlock(watch, target_path) or target_path.real in watch.devices
    if left or not feasibility.can_open(target_path.real, flags):
        if trusted:
            watch.proceed(call)
            return
        if not is_inside(watch, target_path):
            watch.refuse(call)
            return
    _settle_open(watch, call, target_path.real, flags, mode)


def _judge_read(watch: Watch, call: Notification, named: Named, flags: int) -> None:
    """A file opened for reading, where something inside is kept: what is new, Landlock does not know."""
    target = Target(call.thread, watch.memory)
    follow = not flags & os.O_NOFOLLOW
    path = target.text(named.address)
    if flags & os.O_PATH or watch.readable.surely(target, named.directory, path, follow=follow):
        watch.proceed(call)
        return
    target_path = target.resolve(named.directory, path, follow=follow)
    new = is_inside(watch, target_path) and not watch.readable.holds(target_path.real)
    if not new or not os.path.isfile(target_path.real):
        watch.proceed(call)
        return
    _settle_open(watch, call, target_path.real, flags, 0)


def _only_truncates(flags: int) -> bool:
    """Whether a file would be emptied without being opened for writing."""
    return bool(flags & os.O_TRUNC) and flags & os.O_ACCMODE not in (os.O_WRONLY, os.O_RDWR)


def _settle_open(watch: Watch, call: Notification, real: str, flags: int, mode: int) -> None:
    target = Target(call.thread, watch.memory)
    rights = target.rights()
    mine = watch.created
    new = bool(flags & os.O_CREAT) and mine.may_make(real)
    master = real in TERMINAL_MAKERS

    def open_it() -> None:
        exclusively = os.O_EXCL if new else 0
        with file_calls.acting_as(rights):
            opened = file_calls.open_file(real, flags | exclusively, mode & ~rights.umask)
        try:
            if new:
                mine.add_shared(real)
            elif master:
                mine.opened_master(opened)
            watch.give(call, opened, flags)
        finally:
            os.close(opened)

    if new or master or watch.inside.holds(real) or mine.holds(target, real):
        watch.carry_out(call, open_it)
    else:
        watch.settle(call, OutsideWish("write", real), open_it)


def judge_openat2(watch: Watch, call: Notification, drafts: Drafts) -> None:
    """openat2, whose flags stand in memory. Reading goes on; resolving in special ways is refused.

    Where the supervisor would have to do that there is no such call: callers have openat for that.
    """
    directory, address, how, size = call.arguments[:4]
    if size < _SMALLEST_HOW:
        watch.proceed(call)
        return
    target = Target(call.thread, watch.memory)
    flags, mode, resolve = struct.unpack("=QQQ", target.data(how, _SMALLEST_HOW))
    named = Named(signed(directory), address)
    if resolve and flags & WRITE_FLAGS:
        target_path = target.resolve(named.directory, target.text(address), follow=True)
        if watch.later_run.root_of(target_path.real):
            watch.refuse(call, errno.ENOSYS)
            return
    if resolve and flags & WRITE_FLAGS:
        watch.proceed(call)  # Landlock alone decides
        return
    judge_open(watch, call, drafts, named, flags, mode)


def judge_truncate(watch: Watch, call: Notification) -> None:
    """truncate by path."""
    size = call.arguments[1]
    if size >> 63:
        watch.proceed(call)
        return
    path = Named(AT_FDCWD, call.arguments[0], follow=True)
    target = Target(call.thread, watch.memory)
    if carried_inside(
        watch,
        target,
        path,
        lambda real, kind: changes.truncate_inside(watch, call, real, kind, size),
    ):
        return
    action = _Deed(
        "write",
        lambda real, _: file_calls.truncate(real, size),
        feasibility.can_change,
        trusted=watch.landlock >= TRUNCATION_HELD,
    )
    _judge_name(watch, call, path, action)


def judge_remove(watch: Watch, call: Notification, path: Named, *, folder: bool) -> None:
    """unlink, rmdir, unlinkat."""
    target = Target(call.thread, watch.memory)
    if carried_inside(
        watch,
        target,
        path,
        lambda real, kind: changes.remove_inside(watch, call, real, kind, folder=folder),
    ):
        return
    action = _Deed(
        "delete", lambda real, _: file_calls.remove(real, folder=folder), feasibility.can_remove
    )
    _judge_name(watch, call, path, action)


def judge_folder(watch: Watch, call: Notification, path: Named, mode: int) -> None:
    """mkdir, mkdirat."""
    action = _Deed(
        "write", lambda real, umask: file_calls.make_folder(real, mode & ~umask), makes_folder=True
    )
    _judge_name(watch, call, path, action)


def judge_node(watch: Watch, call: Notification, path: Named, mode: int) -> None:
    """mknod, mknodat."""
    leads = "" if stat.S_IFMT(mode) in (0, stat.S_IFREG, stat.S_IFSOCK) else "a pipe or device"
    action = _Deed(
        "write", lambda real, umask: file_calls.make_node(real, mode & ~umask), leads=leads
    )
    _judge_name(watch, call, path, action)


def judge_symlink(watch: Watch, call: Notification, path: Named) -> None:
    """symlink, symlinkat; the text of the link is the first argument."""
    text = Target(call.thread, watch.memory).text(call.arguments[0])
    action = _Deed("write", lambda real, _: file_calls.link_symbolically(text, real), leads=text)
    _judge_name(watch, call, path, action)


def _made_inside(watch: Watch, call: Notification, path: Named, action: _Deed) -> bool:
    """Make a name in a watched folder; False where it leads elsewhere."""

    def make(real: str, kind: Kind | None) -> None:
        if watch.inside.leads(real) and not action.makes_folder:
            raise PermissionError(errno.EACCES, "Permission denied")
        changes.make_inside(
            watch, call, (real, kind), lambda umask: action.act(real, umask), content=action.leads
        )

    target = Target(call.thread, watch.memory)
    return carried_inside(watch, target, path, make, quick=not action.leads)


def _judge_name(watch: Watch, call: Notification, path: Named, action: _Deed) -> None:
    target = Target(call.thread, watch.memory)
    text = target.text(path.address)
    if action.kind == "write" and _made_inside(watch, call, path, action):
        return
    if action.trusted and watch.granted.surely(target, path.directory, text, follow=path.follow):
        watch.proceed(call)
        return
    target_path = target.resolve(path.directory, text, follow=path.follow)
    if watch.inside.leads(target_path.real) and not action.makes_folder:
        watch.refuse(call)
        return
    inside = is_inside(watch, target_path)
    if left_to_landlock(watch, target_path) or not action.could(target_path.real):
        if action.trusted:
            watch.proceed(call)
            return
        if not inside:
            watch.refuse(call)
            return
    rights = target.rights()
    new = action.kind == "write" and watch.created.may_make(target_path.real)

    def do_it() -> None:
        with file_calls.acting_as(rights):
            action.act(target_path.real, rights.umask)
        if new:
            watch.created.add_shared(target_path.real)
        elif action.kind == "delete":
            watch.created.removed(target_path.real)
        watch.succeed(call)

    if new or inside or watch.created.holds(target, target_path.real):
        watch.carry_out(call, do_it)
    else:
        watch.settle(call, OutsideWish(action.kind, target_path.real), do_it)


def _start(watch: Watch, call: Notification) -> None:
    """A program starts once what was written to places before is there, or refused."""

    def go_on() -> None:
        with suppress(OSError):  # the caller may be gone by then
            watch.proceed(call)

    watch.later_run.when_settled(go_on)


def name_handlers(drafts: Drafts) -> dict[str, Callable[[Watch, Notification], None]]:
    """For each of these calls what judges it."""

    def at(call: Notification, directory: int, path: int, *, follow: bool = False) -> Named:
        return Named(signed(call.arguments[directory]), call.arguments[path], follow)

    def here(call: Notification, path: int = 0) -> Named:
        return Named(AT_FDCWD, call.arguments[path])

    def create(watch: Watch, call: Notification) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        judge_open(watch, call, drafts, here(call), flags, call.arguments[1])

    def remove_at(watch: Watch, call: Notification) -> None:
        folder = bool(call.arguments[2] & AT_REMOVEDIR)
        judge_remove(watch, call, at(call, 0, 1), folder=folder)

    def link_at(watch: Watch, call: Notification) -> None:
        follow = bool(call.arguments[4] & AT_SYMLINK_FOLLOW)
        old = at(call, 0, 1, follow=follow)
        itself = bool(call.arguments[4] & AT_EMPTY_PATH) and not Target(
            call.thread, watch.memory
        ).text(old.address)
        judge_link(watch, call, old, at(call, 2, 3), itself=itself)

    return {
        **dict.fromkeys(STARTING, _start),
        "open": lambda w, c: judge_open(w, c, drafts, here(c), c.arguments[1], c.arguments[2]),
        "openat": lambda w, c: judge_open(
            w, c, drafts, at(c, 0, 1), c.arguments[2], c.arguments[3]
        ),
        "openat2": lambda w, c: judge_openat2(w, c, drafts),
        "creat": create,
        "truncate": judge_truncate,
        "unlink": lambda w, c: judge_remove(w, c, here(c), folder=False),
        "rmdir": lambda w, c: judge_remove(w, c, here(c), folder=True),
        "unlinkat": remove_at,
        "mkdir": lambda w, c: judge_folder(w, c, here(c), c.arguments[1]),
        "mkdirat": lambda w, c: judge_folder(w, c, at(c, 0, 1), c.arguments[2]),
        "mknod": lambda w, c: judge_node(w, c, here(c), c.arguments[1]),
        "mknodat": lambda w, c: judge_node(w, c, at(c, 0, 1), c.arguments[2]),
        "symlink": lambda w, c: judge_symlink(w, c, here(c, 1)),
        "symlinkat": lambda w, c: judge_symlink(w, c, at(c, 1, 2)),
        "link": lambda w, c: judge_link(w, c, here(c), here(c, 1)),
        "linkat": link_at,
        "rename": lambda w, c: judge_rename(w, c, here(c), here(c, 1), 0),
        "renameat": lambda w, c: judge_rename(w, c, at(c, 0, 1), at(c, 2, 3), 0),
        "renameat2": lambda w, c: judge_rename(w, c, at(c, 0, 1), at(c, 2, 3), c.arguments[4]),
    }
