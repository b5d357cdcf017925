"""Judging the calls that open files for writing, or make, rename and remove names."""

import errno
import os
import stat
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
from sam_tui.adapters.terminal.sandbox.judgement.reads import asked_secret, judge_read
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import STARTING
from sam_tui.adapters.terminal.sandbox.kernel.calls import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_REMOVEDIR,
    AT_SYMLINK_FOLLOW,
)
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import TRUNCATION_HELD
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import ResolvedPath, Target
from sam_tui.adapters.terminal.sandbox.supervised.own_objects import TERMINAL_MAKERS
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch
from sam_tui.core.authorization.paths.places import Place as Kind

_TMPFILE = getattr(os, "O_TMPFILE", 0) & ~getattr(os, "O_DIRECTORY", 0)
_SET_ID_BITS = stat.S_ISUID | stat.S_ISGID
"""The set-user-id and set-group-id bits. No file is created with them: a later chmod has to be allowed."""
_EXCLUDING = os.O_CREAT | os.O_EXCL
_WRITING = os.O_WRONLY | os.O_RDWR

How = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Opening:
    """The way in which a file is opened for writing."""

    flags: int
    mode: int

    @property
    def fresh(self) -> bool:
        """Whether the file has to be new: then nothing can be read from it."""
        return self.flags & _EXCLUDING == _EXCLUDING

    @property
    def lends(self) -> bool:
        """Whether it would make a file that runs with its owner's or group's rights (set-user-id)."""
        return bool(self.flags & (os.O_CREAT | _TMPFILE)) and bool(self.mode & _SET_ID_BITS)

    @property
    def reads(self) -> bool:
        """Whether it can be read from, too."""
        return not self.fresh and self.flags & os.O_ACCMODE != os.O_WRONLY

    @property
    def follow(self) -> bool:
        """Whether a link at its end is followed."""
        return not (self.fresh or self.flags & os.O_NOFOLLOW)

    @property
    def trusted(self) -> bool:
        """Whether Landlock can decide alone. For reading it allows more than a run may read, so the
        supervisor opens those files."""
        return self.fresh or bool(self.flags & _WRITING)


@dataclass(frozen=True, slots=True)
class _NameChange:
    """A change of a name by a call: ``act`` gets its real path and the caller's umask."""

    kind: str
    act: Callable[[str, int], None]
    could: feasibility.Chance = feasibility.can_make
    trusted: bool = True
    """Whether Landlock alone can decide about the change."""
    makes_folder: bool = False
    leads: str = ""
    """The target of the new name, in words, if it is no new file or folder; empty otherwise."""


def judge_open(watch: Watch, call: Notification, drafts: Drafts, named: Named, how: How) -> None:
    """Judge an open. The supervisor opens files for reading; of writes Landlock decides inside, the
    person outside. ``how`` are flags and mode."""
    flags = how[0]
    target = Target(call.thread, watch.memory)
    reads = flags & os.O_ACCMODE == os.O_RDONLY and not flags & os.O_TRUNC
    if reads and flags & _EXCLUDING != _EXCLUDING:
        try:
            judge_read(watch, call, target, named, flags & ~os.O_CREAT)
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
        else:
            return
    _judge_write(watch, call, drafts, named, how)


def _judge_write(watch: Watch, call: Notification, drafts: Drafts, named: Named, how: How) -> None:
    """A file opened for writing, or made."""
    opening = _Opening(*how)
    if opening.lends:
        watch.refuse(call, errno.EPERM)
        return
    target = Target(call.thread, watch.memory)

    def open_unless_asked(real: str, open_it: Callable[[], None]) -> None:
        if not (opening.reads and asked_secret(watch, call, real, open_it)):
            open_it()

    def open_inside(real: str, kind: Kind | None) -> None:
        open_unless_asked(real, lambda: changes.open_inside(watch, call, drafts, (real, kind), how))

    path = Named(named.directory, named.text, opening.follow)
    suspect = opening.reads and watch.reads.secret(target.absolute(named.directory, named.text))
    if carried_inside(watch, target, path, open_inside, quick=not suspect):
        return
    if opening.trusted and _surely_granted(watch, target, path):
        watch.proceed(call)
        return
    target_path = target.resolve(path.directory, path.text, follow=path.follow)
    real, link = target_path.real, target_path.link
    if link and changes.opened_again(watch, call, drafts, link, opening.flags):
        return
    if _left_to_kernel(watch, target_path, opening.flags):
        if opening.trusted:
            watch.proceed(call)
            return
        if not is_inside(watch, target_path):
            _refuse_open(watch, call, real)
            return
    open_unless_asked(real, lambda: _settle_open(watch, call, real, opening.flags, opening.mode))


def _left_to_kernel(watch: Watch, path: ResolvedPath, flags: int) -> bool:
    """Whether the kernel decides: Landlock judges the path, or it is a shared device, or the call must fail
    anyway."""
    if left_to_landlock(watch, path) or path.real in watch.devices:
        return True
    return not feasibility.can_open(path.real, flags)


def _surely_granted(watch: Watch, target: Target, named: Named) -> bool:
    return named.text in watch.devices or watch.granted.surely(
        target, named.directory, named.text, follow=named.follow
    )


def _refuse_open(watch: Watch, call: Notification, real: str) -> None:
    watch.refuse(call, errno.EACCES if os.path.lexists(real) else errno.ENOENT)


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


def judge_truncate(watch: Watch, call: Notification) -> None:
    """truncate by path."""
    size = call.arguments[1]
    if size >> 63:
        watch.proceed(call)
        return
    target = Target(call.thread, watch.memory)
    path = Named(AT_FDCWD, target.text(call.arguments[0]), follow=True)
    if carried_inside(
        watch,
        target,
        path,
        lambda real, kind: changes.truncate_inside(watch, call, real, kind, size),
    ):
        return
    action = _NameChange(
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
    action = _NameChange(
        "delete", lambda real, _: file_calls.remove(real, folder=folder), feasibility.can_remove
    )
    _judge_name(watch, call, path, action)


def judge_folder(watch: Watch, call: Notification, path: Named, mode: int) -> None:
    """mkdir, mkdirat."""
    action = _NameChange(
        "write", lambda real, umask: file_calls.make_folder(real, mode & ~umask), makes_folder=True
    )
    _judge_name(watch, call, path, action)


def judge_node(watch: Watch, call: Notification, path: Named, mode: int) -> None:
    """mknod, mknodat."""
    if mode & _SET_ID_BITS:
        watch.refuse(call, errno.EPERM)
        return
    leads = "" if stat.S_IFMT(mode) in (0, stat.S_IFREG, stat.S_IFSOCK) else "a pipe or device"
    action = _NameChange(
        "write", lambda real, umask: file_calls.make_node(real, mode & ~umask), leads=leads
    )
    _judge_name(watch, call, path, action)


def judge_symlink(watch: Watch, call: Notification, path: Named) -> None:
    """symlink, symlinkat; the text of the link is the first argument."""
    text = Target(call.thread, watch.memory).text(call.arguments[0])
    action = _NameChange(
        "write", lambda real, _: file_calls.link_symbolically(text, real), leads=text
    )
    _judge_name(watch, call, path, action)


def _made_inside(watch: Watch, call: Notification, path: Named, action: _NameChange) -> bool:
    """Make a name in a watched folder; False where it leads elsewhere."""

    def make(real: str, kind: Kind | None) -> None:
        if watch.inside.leads(real) and not action.makes_folder:
            raise PermissionError(errno.EACCES, "Permission denied")
        changes.make_inside(
            watch, call, (real, kind), lambda umask: action.act(real, umask), content=action.leads
        )

    target = Target(call.thread, watch.memory)
    return carried_inside(watch, target, path, make, quick=not action.leads)


def _judge_name(watch: Watch, call: Notification, path: Named, action: _NameChange) -> None:
    target = Target(call.thread, watch.memory)
    if action.kind == "write" and _made_inside(watch, call, path, action):
        return
    if action.trusted and watch.granted.surely(
        target, path.directory, path.text, follow=path.follow
    ):
        watch.proceed(call)
        return
    target_path = target.resolve(path.directory, path.text, follow=path.follow)
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
    """Let a program start once earlier writes to places that later run are made or refused."""

    def go_on() -> None:
        with suppress(OSError):  # the caller may be gone by then
            watch.proceed(call)

    watch.later_run.when_settled(go_on)


def name_handlers(drafts: Drafts) -> dict[str, Callable[[Watch, Notification], None]]:
    """The handlers of system calls that open, create, rename or delete names, by name."""

    def at(w: Watch, call: Notification, directory: int, path: int, follow: bool = False) -> Named:
        text = w.memory.text(call.thread, call.arguments[path])
        return Named(signed(call.arguments[directory]), text, follow)

    def by_path(w: Watch, call: Notification, path: int = 0) -> Named:
        return Named(AT_FDCWD, w.memory.text(call.thread, call.arguments[path]))

    def create(watch: Watch, call: Notification) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        judge_open(watch, call, drafts, by_path(watch, call), (flags, call.arguments[1]))

    def opened(watch: Watch, call: Notification, *, at_folder: bool) -> None:
        flags, mode = call.arguments[1 + at_folder : 3 + at_folder]
        if flags & os.O_PATH:
            watch.proceed(call)  # nothing is read or written by it
            return
        try:
            named = at(watch, call, 0, 1) if at_folder else by_path(watch, call)
            judge_open(watch, call, drafts, named, (flags, mode))
        except PermissionError as error:
            if flags & _WRITING:
                raise
            watch.refuse(call, error.errno or errno.EACCES)  # Landlock would let it be read

    def remove_at(watch: Watch, call: Notification) -> None:
        folder = bool(call.arguments[2] & AT_REMOVEDIR)
        judge_remove(watch, call, at(watch, call, 0, 1), folder=folder)

    def link_at(watch: Watch, call: Notification) -> None:
        flags = call.arguments[4] & 0xFFFFFFFF
        if flags & ~(AT_EMPTY_PATH | AT_SYMLINK_FOLLOW):
            raise OSError(errno.EINVAL, "Invalid argument")
        old = at(watch, call, 0, 1, bool(flags & AT_SYMLINK_FOLLOW))
        itself = bool(flags & AT_EMPTY_PATH) and not old.text
        judge_link(watch, call, old, at(watch, call, 2, 3), itself=itself)

    return {
        **dict.fromkeys(STARTING, _start),
        "open": lambda w, c: opened(w, c, at_folder=False),
        "openat": lambda w, c: opened(w, c, at_folder=True),
        "creat": create,
        "truncate": judge_truncate,
        "unlink": lambda w, c: judge_remove(w, c, by_path(w, c), folder=False),
        "rmdir": lambda w, c: judge_remove(w, c, by_path(w, c), folder=True),
        "unlinkat": remove_at,
        "mkdir": lambda w, c: judge_folder(w, c, by_path(w, c), c.arguments[1]),
        "mkdirat": lambda w, c: judge_folder(w, c, at(w, c, 0, 1), c.arguments[2]),
        "mknod": lambda w, c: judge_node(w, c, by_path(w, c), c.arguments[1]),
        "mknodat": lambda w, c: judge_node(w, c, at(w, c, 0, 1), c.arguments[2]),
        "symlink": lambda w, c: judge_symlink(w, c, by_path(w, c, 1)),
        "symlinkat": lambda w, c: judge_symlink(w, c, at(w, c, 1, 2)),
        "link": lambda w, c: judge_link(w, c, by_path(w, c), by_path(w, c, 1)),
        "linkat": link_at,
        "rename": lambda w, c: judge_rename(w, c, by_path(w, c), by_path(w, c, 1), 0),
        "renameat": lambda w, c: judge_rename(w, c, at(w, c, 0, 1), at(w, c, 2, 3), 0),
        "renameat2": lambda w, c: judge_rename(
            w, c, at(w, c, 0, 1), at(w, c, 2, 3), c.arguments[4]
        ),
    }
