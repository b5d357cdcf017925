"""Judging the calls that take two names: renames and hard links."""

import errno
import os
import stat
from collections.abc import Callable

from sam_tui.adapters.terminal.sandbox.judgement import changes, feasibility
from sam_tui.adapters.terminal.sandbox.judgement.paths import (
    Named,
    hopeless,
    is_inside,
    is_watched,
    left_to_landlock,
    nameless,
    plainly,
)
from sam_tui.adapters.terminal.sandbox.judgement.reads import asked_new_name
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import RENAMING_HELD
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import ResolvedPath, Target
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch


def judge_rename(watch: Watch, call: Notification, old: Named, new: Named, flags: int) -> None:
    """rename, renameat, renameat2: an outside access if either name is outside."""
    target = Target(call.thread, watch.memory)
    if not flags and _renamed_plainly(watch, call, target, old, new):
        return
    first, second = _places(target, old, new)

    def go() -> None:
        _rename(watch, call, (first, second), flags)

    names = ((first.real, second.real), (second.real, first.real))
    if not asked_new_name(watch, call, names if flags & changes.EXCHANGE else names[:1], go):
        go()


def _renamed_plainly(
    watch: Watch, call: Notification, target: Target, old: Named, new: Named
) -> bool:
    """Rename an ordinary file within a run's folders, not to a place; False if it needs a judgement."""
    first, second = (plainly(watch, target, path.directory, path.text) for path in (old, new))
    if not first or not second or watch.reads.secret(first) or watch.inside.keeps:
        return False
    try:
        if not stat.S_ISREG(os.lstat(first).st_mode):
            return False
        rights = watch.rights(call)
        watch.do(call, rights, lambda: file_calls.rename(first, second, 0))
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False
    return True


def _rename(
    watch: Watch, call: Notification, paths: tuple[ResolvedPath, ResolvedPath], flags: int
) -> None:
    first, second = paths
    if watch.inside.leads(first.real) or watch.inside.leads(second.real):
        watch.refuse(call)
        return
    watched = is_watched(watch, first) or is_watched(watch, second)
    if watched and is_inside(watch, first) and is_inside(watch, second):
        changes.rename_inside(watch, call, first.real, second.real, flags)
        return

    def act(before: str, after: str) -> None:
        file_calls.rename(before, after, flags)

    _judge(watch, call, (first, second), "rename", act)


def judge_link(
    watch: Watch, call: Notification, old: Named, new: Named, *, itself: bool = False
) -> None:
    """link, linkat; with ``itself`` the file behind a descriptor is meant."""
    target = Target(call.thread, watch.memory)
    if itself:
        link = f"/proc/{call.thread}/fd/{old.directory}"
        first = ResolvedPath(os.readlink(link), special=True, link=link)
        second = target.resolve(new.directory, new.text, follow=False)
    else:
        first, second = _places(target, old, new)

    def go() -> None:
        _link(watch, call, (first, second))

    if first.special or not asked_new_name(watch, call, ((first.real, second.real),), go):
        go()


def _link(watch: Watch, call: Notification, paths: tuple[ResolvedPath, ResolvedPath]) -> None:
    first, second = paths
    watched = is_watched(watch, first) or is_watched(watch, second)
    if first.special and is_watched(watch, second):
        _link_nameless(watch, call, first.link, second.real)
        return
    if watched and is_inside(watch, first) and is_inside(watch, second):
        changes.link_inside(watch, call, first.real, second.real)
        return
    if left_to_landlock(watch, second) or is_inside(watch, second):
        whole = watch.granted.holds(first.real) and watch.granted.holds(second.real)
        early = watch.landlock < RENAMING_HELD
        if (whole and not early) or not is_inside(watch, first):
            watch.proceed(call)
            return
    if watch.inside.leads(first.real) or watch.inside.leads(second.real):
        watch.refuse(call)
        return
    _judge(watch, call, (first, second), "write", file_calls.link)


def _link_nameless(watch: Watch, call: Notification, link: str, new: str) -> None:
    """Give a file that was opened with O_TMPFILE its name."""
    handle = nameless(watch, link) if link else -1
    if handle < 0:
        watch.refuse(call)
        return
    try:
        changes.link_inside(watch, call, "", new, handle)
    finally:
        os.close(handle)


def _places(target: Target, old: Named, new: Named) -> tuple[ResolvedPath, ResolvedPath]:
    first, second = (
        target.resolve(path.directory, path.text, follow=path.follow) for path in (old, new)
    )
    return first, second


def _judge(
    watch: Watch,
    call: Notification,
    paths: tuple[ResolvedPath, ResolvedPath],
    kind: str,
    act: Callable[[str, str], None],
) -> None:
    target = Target(call.thread, watch.memory)
    old, new = paths
    inside = is_inside(watch, old) and is_inside(watch, new)
    early = watch.landlock < RENAMING_HELD  # this early Landlock denies every move between folders
    if left_to_landlock(watch, old) and left_to_landlock(watch, new) and not (inside and early):
        watch.proceed(call)
        return
    if hopeless(old) or hopeless(new):
        watch.refuse(call)
        return
    could = feasibility.can_link if kind == "write" else feasibility.can_rename
    if not could(old.real, new.real):
        watch.proceed(call)
        return
    rights = target.rights()
    mine = watch.created
    free = mine.may_make(new.real)

    def do_it() -> None:
        with file_calls.acting_as(rights):
            act(old.real, new.real)
        if free:
            mine.add_shared(new.real)
        watch.succeed(call)

    if inside or (mine.holds(target, old.real) and (free or mine.holds(target, new.real))):
        watch.carry_out(call, do_it)
    else:
        named = (new.real,) if kind == "write" else (old.real, new.real)
        watch.settle(call, OutsideWish(kind, *named), do_it)
