"""Drafts: a write to a place that later runs goes to a nameless file, judged once it is closed."""

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sam_tui.adapters.terminal.sandbox.kernel.calls import checked, libc, open_exactly
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Rights, Target
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch
from sam_tui.core.authorization.paths.places import Place

_CLOSE_WRITE = 0x8
_EVENT = struct.Struct("=iIII")
_READ = 64 * 1024
_MOST = 256
"""The most open drafts of all runs."""


@dataclass(frozen=True, slots=True)
class PlaceDraft:
    """A nameless file, and the place that it is for. ``reading`` is the supervisor's own descriptor."""

    watch: Watch
    real: str
    kind: Place
    rights: Rights
    who: Mapping[str, Any]
    reading: int


class Drafts:
    """The drafts of all runs of a supervisor; ``listen_to`` reports their closing."""

    def __init__(self, listen_to: Callable[[int, Callable[[], None] | None], None]) -> None:
        self._listen_to = listen_to
        self._events = -1
        self._drafts: dict[int, PlaceDraft] = {}
        self._shared: set[int] = set()

    def open(
        self, watch: Watch, call: Notification, real: str, kind: Place, flags: int, mode: int
    ) -> None:
        """Answer an open for writing with a draft. Raises OSError."""
        if len(self._drafts) >= _MOST:
            raise OSError(errno.EMFILE, "Too many open files")
        self._hear()
        rights = Target(call.thread, watch.memory).rights()
        with file_calls.acting_as(rights):
            existing = _checked(real, flags)
            content = b"" if existing is None or flags & os.O_TRUNC else existing[0]
            handle = _nameless(os.path.dirname(real), flags)
        try:
            if content:
                _fill(handle, content)
            reading = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_CLOEXEC)
            os.fchmod(handle, mode & ~rights.umask & 0o7777 if existing is None else existing[1])
            number = _watch(self._events, reading)
            self._drafts[number] = PlaceDraft(watch, real, kind, rights, watch.who(call), reading)
            watch.drafting()
            watch.give(call, handle, flags)
        finally:
            os.close(handle)

    def settle(self) -> None:
        """Judge every draft that was closed by now."""
        if not self._drafts:
            return
        while True:
            try:
                data = os.read(self._events, _READ)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                draft = self._drafts.get(number)
                if mask & _CLOSE_WRITE and draft is not None:
                    # The event comes a moment before the file counts as closed.
                    if draft.reading in self._shared and _is_written(draft.reading):
                        continue
                    self._close(number)

    def reopened(self, handle: int) -> None:
        """Note that a draft was opened again: it is judged after its last closing, not its first."""
        status = os.fstat(handle)
        for draft in self._drafts.values():
            if os.path.samestat(status, os.fstat(draft.reading)):
                self._shared.add(draft.reading)

    def finish(self, watch: Watch) -> None:
        """Judge the files that a run left closed when it ended."""
        self.settle()
        for number, draft in tuple(self._drafts.items()):
            if draft.watch is watch and not _is_written(draft.reading):
                self._close(number)

    def close(self) -> None:
        """Drop all drafts."""
        for draft in self._drafts.values():
            os.close(draft.reading)
        self._drafts.clear()
        if self._events >= 0:
            os.close(self._events)
            self._events = -1

    def _hear(self) -> None:
        if self._events < 0:
            self._events = checked(libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
            self._listen_to(self._events, self.settle)

    def _close(self, number: int) -> None:
        draft = self._drafts.pop(number)
        self._shared.discard(draft.reading)
        libc().inotify_rm_watch(self._events, number)
        try:
            content = file_calls.content_of(draft.reading)
            mode = stat.S_IMODE(os.fstat(draft.reading).st_mode)
        except OSError:
            return
        finally:
            os.close(draft.reading)
        self._judge(draft, content, mode)

    def _judge(self, draft: PlaceDraft, content: bytes, mode: int) -> None:
        watch, real = draft.watch, draft.real
        if watch.later_run.waits(real, lambda: self._judge(draft, content, mode)):
            return
        with suppress(OSError):
            change = watch.later_run.judge(real, draft.kind, content)
            if change is None:
                _put(draft, content, mode)
                return
            wish = OutsideWish("write", real, content=change.digest)

            def answered(allowed: bool) -> None:
                try:
                    if allowed:
                        _put(draft, content, mode)
                    else:
                        watch.note(draft.who, wish)
                finally:
                    watch.later_run.answered(real)

            watch.later_run.note_question(real)
            watch.decide(draft.who, wish, answered, change)


def _put(draft: PlaceDraft, content: bytes, mode: int) -> None:
    with file_calls.acting_as(draft.rights):
        draft.watch.later_run.put(draft.real, draft.kind, content, mode)


def _checked(real: str, flags: int) -> tuple[bytes, int] | None:
    """The content of the file, if the caller may open it this way; None for a new file. Raises OSError."""
    plain = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        os.close(open_exactly(real, plain))
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
        return None
    if flags & os.O_CREAT and flags & os.O_EXCL:
        raise FileExistsError(errno.EEXIST, "File exists")
    return file_calls.read_file(real)


def _nameless(folder: str, flags: int) -> int:
    access = os.O_RDWR if flags & os.O_ACCMODE == os.O_RDWR else os.O_WRONLY
    inherited = flags & (os.O_APPEND | os.O_DSYNC | os.O_SYNC)
    try:
        return file_calls.open_file(folder, access | inherited | os.O_TMPFILE, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
    path = f"{folder}/{file_calls.RESERVED}{os.urandom(8).hex()}"
    handle = file_calls.open_file(path, access | inherited | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return handle


def _fill(handle: int, content: bytes) -> None:
    again = os.open(f"/proc/self/fd/{handle}", os.O_WRONLY | os.O_CLOEXEC)
    with open(again, "wb") as file:
        file.write(content)


def _is_written(reading: int) -> bool:
    """Whether somebody still has the file open for writing: the kernel grants no read lease then."""
    try:
        fcntl.fcntl(reading, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(reading, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _watch(events: int, handle: int) -> int:
    path = os.fsencode(f"/proc/self/fd/{handle}")
    return checked(libc().inotify_add_watch(events, path, _CLOSE_WRITE))
