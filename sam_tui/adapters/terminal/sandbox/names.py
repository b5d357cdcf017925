"""Judging the calls that open files for writing, or make, rename and remove names."""

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.adapters.terminal.sandbox import chances, deeds
from sam_tui.adapters.terminal.sandbox.filter import (
    RENAMING_HELD,
    TRUNCATION_HELD,
    WRITE_FLAGS,
)
from sam_tui.adapters.terminal.sandbox.kernel import (
    AT_FDCWD,
    AT_REMOVEDIR,
    AT_SYMLINK_FOLLOW,
)
from sam_tui.adapters.terminal.sandbox.notifications import Notification
from sam_tui.adapters.terminal.sandbox.own import TERMINAL_MAKERS
from sam_tui.adapters.terminal.sandbox.targets import Place, Target
from sam_tui.adapters.terminal.sandbox.watch import Watch, Wish

_SMALLEST_HOW = 24
_UNASKED = ("/proc/", "/sys/")
"""Views of the kernel: nobody is asked about these, Landlock refuses them."""


@dataclass(frozen=True, slots=True)
class Named:
    """A path argument: the descriptor it starts from, where its text stands, what its end means."""

    directory: int
    address: int
    follow: bool = False


@dataclass(frozen=True, slots=True)
class _Deed:
    """What a call does to a name: ``act`` is given its real path and the caller's umask."""

    kind: str
    act: Callable[[str, int], None]
    could: chances.Chance = chances.can_make
    trusted: bool = True
    """Whether Landlock can be left to decide it."""
    makes_folder: bool = False


def signed(word: int) -> int:
    """An argument as the kernel reads an int: its low 32 bits with their sign."""
    low = word & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def judge_open(watch: Watch, call: Notification, named: Named, flags: int, mode: int) -> None:
    """A file opened for writing: inside Landlock decides, outside the person."""
    target = Target(call.thread, watch.memory)
    if not flags & WRITE_FLAGS:
        _judge_read(watch, call, named, flags)
        return
    excluding = os.O_CREAT | os.O_EXCL
    follow = not flags & os.O_NOFOLLOW and flags & excluding != excluding
    path = target.text(named.address)
    trusted = watch.landlock >= TRUNCATION_HELD or not _only_truncates(flags)
    if trusted and (
        path in watch.devices or watch.granted.surely(target, named.directory, path, follow=follow)
    ):
        watch.proceed(call)
        return
    place = target.place(named.directory, path, follow=follow)
    left = _left_to_landlock(watch, place) or place.real in watch.devices
    if left or not chances.can_open(place.real, flags):
        if trusted:
            watch.proceed(call)
            return
        if not _is_inside(watch, place):
            watch.refuse(call)
            return
    _settle_open(watch, call, place.real, flags, mode)


def _judge_read(watch: Watch, call: Notification, named: Named, flags: int) -> None:
    """A file opened for reading, where something inside is kept: what is new, Landlock does not know."""
    target = Target(call.thread, watch.memory)
    follow = not flags & os.O_NOFOLLOW
    path = target.text(named.address)
    if flags & os.O_PATH or watch.granted.surely(target, named.directory, path, follow=follow):
        watch.proceed(call)
        return
    place = target.place(named.directory, path, follow=follow)
    new = _is_inside(watch, place) and not watch.granted.holds(place.real)
    if not new or not os.path.isfile(place.real):
        watch.proceed(call)
        return
    _settle_open(watch, call, place.real, flags, 0)


def _only_truncates(flags: int) -> bool:
    """Whether a file would be emptied without being opened for writing."""
    return bool(flags & os.O_TRUNC) and flags & os.O_ACCMODE not in (os.O_WRONLY, os.O_RDWR)


def _settle_open(watch: Watch, call: Notification, real: str, flags: int, mode: int) -> None:
    target = Target(call.thread, watch.memory)
    rights = target.rights()
    own = watch.own
    new = bool(flags & os.O_CREAT) and own.may_make(real)
    master = real in TERMINAL_MAKERS

    def open_it() -> None:
        exclusively = os.O_EXCL if new else 0
        with deeds.acting_as(rights):
            opened = deeds.open_file(real, flags | exclusively, mode & ~rights.umask)
        try:
            if new:
                own.made(real)
            elif master:
                own.opened_master(opened)
            watch.give(call, opened, flags)
        finally:
            os.close(opened)

    if new or master or watch.inside.holds(real) or own.holds(target, real):
        watch.carry_out(call, open_it)
    else:
        watch.settle(call, Wish("write", real), open_it)


def judge_openat2(watch: Watch, call: Notification) -> None:
    """openat2, whose flags stand in memory. Reading goes on; resolving in special ways is refused."""
    directory, address, how, size = call.arguments[:4]
    if size < _SMALLEST_HOW:
        watch.proceed(call)
        return
    target = Target(call.thread, watch.memory)
    flags, mode, resolve = struct.unpack("=QQQ", target.data(how, _SMALLEST_HOW))
    if resolve or not (flags & WRITE_FLAGS or watch.inside.keeps):
        watch.proceed(call)  # Landlock alone decides
        return
    judge_open(watch, call, Named(signed(directory), address), flags, mode)


def judge_truncate(watch: Watch, call: Notification) -> None:
    """truncate by path."""
    size = call.arguments[1]
    if size >> 63:
        watch.proceed(call)
        return
    path = Named(AT_FDCWD, call.arguments[0], follow=True)
    deed = _Deed(
        "write",
        lambda real, _: deeds.truncate(real, size),
        chances.can_change,
        trusted=watch.landlock >= TRUNCATION_HELD,
    )
    _judge_name(watch, call, path, deed)


def judge_remove(watch: Watch, call: Notification, path: Named, *, folder: bool) -> None:
    """unlink, rmdir, unlinkat."""
    deed = _Deed("delete", lambda real, _: deeds.remove(real, folder=folder), chances.can_remove)
    _judge_name(watch, call, path, deed)


def judge_folder(watch: Watch, call: Notification, path: Named, mode: int) -> None:
    """mkdir, mkdirat."""
    deed = _Deed(
        "write", lambda real, umask: deeds.make_folder(real, mode & ~umask), makes_folder=True
    )
    _judge_name(watch, call, path, deed)


def judge_node(watch: Watch, call: Notification, path: Named, mode: int) -> None:
    """mknod, mknodat."""
    deed = _Deed("write", lambda real, umask: deeds.make_node(real, mode & ~umask))
    _judge_name(watch, call, path, deed)


def judge_symlink(watch: Watch, call: Notification, path: Named) -> None:
    """symlink, symlinkat; the text of the link is the first argument."""
    text = Target(call.thread, watch.memory).text(call.arguments[0])
    _judge_name(
        watch, call, path, _Deed("write", lambda real, _: deeds.link_symbolically(text, real))
    )


def judge_rename(watch: Watch, call: Notification, old: Named, new: Named, flags: int) -> None:
    """rename, renameat, renameat2: outside when either end is."""

    def act(first: str, second: str) -> None:
        deeds.rename(first, second, flags)

    _judge_pair(watch, call, (old, new), "rename", act)


def judge_link(watch: Watch, call: Notification, old: Named, new: Named) -> None:
    """link, linkat. One made inside is left to Landlock, which keeps outside files out."""
    target = Target(call.thread, watch.memory)
    first, second = (
        target.place(path.directory, target.text(path.address), follow=path.follow)
        for path in (old, new)
    )
    if _left_to_landlock(watch, second) or _is_inside(watch, second):
        whole = watch.granted.holds(first.real) and watch.granted.holds(second.real)
        early = watch.landlock < RENAMING_HELD
        if (whole and not early) or not _is_inside(watch, first):
            watch.proceed(call)
            return
    _judge_pair(watch, call, (old, new), "write", deeds.link)


def _judge_name(watch: Watch, call: Notification, path: Named, deed: _Deed) -> None:
    target = Target(call.thread, watch.memory)
    text = target.text(path.address)
    if deed.trusted and watch.granted.surely(target, path.directory, text, follow=path.follow):
        watch.proceed(call)
        return
    place = target.place(path.directory, text, follow=path.follow)
    if watch.inside.leads(place.real) and not deed.makes_folder:
        watch.refuse(call)
        return
    inside = _is_inside(watch, place)
    if _left_to_landlock(watch, place) or not deed.could(place.real):
        if deed.trusted:
            watch.proceed(call)
            return
        if not inside:
            watch.refuse(call)
            return
    rights = target.rights()
    new = deed.kind == "write" and watch.own.may_make(place.real)

    def do_it() -> None:
        with deeds.acting_as(rights):
            deed.act(place.real, rights.umask)
        if new:
            watch.own.made(place.real)
        elif deed.kind == "delete":
            watch.own.removed(place.real)
        watch.succeed(call)

    if new or inside or watch.own.holds(target, place.real):
        watch.carry_out(call, do_it)
    else:
        watch.settle(call, Wish(deed.kind, place.real), do_it)


def _judge_pair(
    watch: Watch,
    call: Notification,
    paths: tuple[Named, Named],
    kind: str,
    act: Callable[[str, str], None],
) -> None:
    target = Target(call.thread, watch.memory)
    old, new = (
        target.place(path.directory, target.text(path.address), follow=path.follow)
        for path in paths
    )
    if watch.inside.leads(old.real) or watch.inside.leads(new.real):
        watch.refuse(call)
        return
    inside = _is_inside(watch, old) and _is_inside(watch, new)
    early = watch.landlock < RENAMING_HELD  # which lets nothing change its folder
    if _left_to_landlock(watch, old) and _left_to_landlock(watch, new) and not (inside and early):
        watch.proceed(call)
        return
    if _hopeless(old) or _hopeless(new):
        watch.refuse(call)
        return
    could = chances.can_link if kind == "write" else chances.can_rename
    if not could(old.real, new.real):
        watch.proceed(call)
        return
    rights = target.rights()
    own = watch.own
    free = own.may_make(new.real)

    def do_it() -> None:
        with deeds.acting_as(rights):
            act(old.real, new.real)
        if free:
            own.made(new.real)
        watch.succeed(call)

    if inside or (own.holds(target, old.real) and (free or own.holds(target, new.real))):
        watch.carry_out(call, do_it)
    else:
        watch.settle(call, _pair_wish(kind, old, new), do_it)


def _pair_wish(kind: str, old: Place, new: Place) -> Wish:
    if kind == "write":
        return Wish("write", new.real)
    return Wish(kind, old.real, new.real)


def _left_to_landlock(watch: Watch, place: Place) -> bool:
    """What the kernel lets through, or nothing that a person could decide about."""
    return place.special or watch.granted.holds(place.real) or place.real.startswith(_UNASKED)


def _is_inside(watch: Watch, place: Place) -> bool:
    return not place.special and watch.inside.holds(place.real)


def _hopeless(place: Place) -> bool:
    return place.special or place.real.startswith(_UNASKED)


def name_handlers() -> dict[str, Callable[[Watch, Notification], None]]:
    """For each of these calls what judges it."""

    def at(call: Notification, directory: int, path: int, *, follow: bool = False) -> Named:
        return Named(signed(call.arguments[directory]), call.arguments[path], follow)

    def here(call: Notification, path: int = 0) -> Named:
        return Named(AT_FDCWD, call.arguments[path])

    def create(watch: Watch, call: Notification) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        judge_open(watch, call, here(call), flags, call.arguments[1])

    def remove_at(watch: Watch, call: Notification) -> None:
        folder = bool(call.arguments[2] & AT_REMOVEDIR)
        judge_remove(watch, call, at(call, 0, 1), folder=folder)

    def link_at(watch: Watch, call: Notification) -> None:
        follow = bool(call.arguments[4] & AT_SYMLINK_FOLLOW)
        judge_link(watch, call, at(call, 0, 1, follow=follow), at(call, 2, 3))

    return {
        "open": lambda w, c: judge_open(w, c, here(c), c.arguments[1], c.arguments[2]),
        "openat": lambda w, c: judge_open(w, c, at(c, 0, 1), c.arguments[2], c.arguments[3]),
        "openat2": judge_openat2,
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
