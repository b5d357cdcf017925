"""The supervisor's view of a process whose system call waits: its paths, memory and rights."""

import os
import re
from dataclasses import dataclass
from functools import cache, lru_cache

from sam_tui.adapters.terminal.sandbox.kernel.calls import AT_FDCWD, ProcessMemory

_MOST_LINKS = 40
_MAGIC = re.compile(r"/proc/\d+(?:/task/\d+)?/(?:cwd|root|exe|fd/\d+|ns/\w+)")
_FIELDS = (b"\nUmask:\t", b"\nTgid:\t", b"\nUid:\t", b"\nGid:\t", b"\nGroups:\t", b"\nCapEff:\t")
"""Lines of /proc/<thread>/status, in the order of the kernel (proc_pid_status(5))."""
_LONGEST_STAT = 2048
_SIGNALS = re.compile(rb"^(SigPnd|ShdPnd|SigBlk|SigCgt):\t([0-9a-f]+)$", re.MULTILINE)
_FILE_CAPABILITIES = 0x1F
"""chown, dac_override, dac_read_search, fowner, fsetid (linux/capability.h)."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The user, groups and capabilities with which a thread uses files."""

    user: int
    group: int
    groups: tuple[int, ...]
    umask: int
    capabilities: int

    @property
    def file_capabilities(self) -> int:
        """The effective capabilities that override permissions of files."""
        return self.capabilities & _FILE_CAPABILITIES


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """The target of a path: its real path, links resolved.

    ``special`` has no name in a file system; then ``link`` is its link in /proc. With ``by_proc``
    it may lead elsewhere for another process."""

    real: str
    special: bool = False
    link: str = ""
    by_proc: bool = False


class Target:
    """The calling thread of one notification; its state is read while the call waits."""

    def __init__(self, thread: int, memory: ProcessMemory) -> None:
        self.thread = thread
        self._memory = memory

    def text(self, address: int) -> str:
        """The path at an address. Raises OSError."""
        return self._memory.text(self.thread, address)

    def data(self, address: int, size: int) -> bytes:
        """Bytes at an address. Raises OSError."""
        return self._memory.data(self.thread, address, size)

    def base(self, directory: int) -> str:
        """The path of the working folder, or of one of its descriptors. Raises OSError."""
        if directory == AT_FDCWD:
            return os.readlink(f"/proc/{self.thread}/cwd")
        return os.readlink(f"/proc/{self.thread}/fd/{directory}")

    def absolute(self, directory: int, path: str) -> str:
        """The path with its start, as text. Raises OSError; ENOENT for an empty one."""
        if not path:
            raise FileNotFoundError(2, "No such file or directory")
        return path if path[0] == "/" else f"{self.base(directory)}/{path}"

    def resolve(self, directory: int, path: str, *, follow: bool) -> ResolvedPath:
        """Resolve a path, seen from the target. Raises OSError.

        Only for judging and for words: a call that is carried out opens the real path without any link.
        """
        return _walk(self.absolute(directory, path), self, follow=follow)

    @property
    def process(self) -> int:
        """The process that the thread belongs to."""
        return int(self._status()[1])

    @property
    def name(self) -> str:
        """The name of the process; empty when it has ended."""
        return name_of(self.thread)

    def rights(self) -> Rights:
        """The user, groups and capabilities that the thread acts with. Raises OSError."""
        return _rights(self._status())

    def _status(self) -> tuple[bytes, ...]:
        return _fields(self._memory.status(self.thread))


def stat_fields(process: int) -> list[bytes] | None:
    """Return the state of a process and the fields after it: parent, group, session, terminal.

    See proc_pid_stat(5). None if there is no such process.
    """
    try:
        opened = os.open(f"/proc/{process}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        line = os.read(opened, _LONGEST_STAT)  # a file object would make twice as many system calls
    except OSError:
        return None
    finally:
        os.close(opened)
    # The name of the command is in brackets and may contain any byte: search after the last bracket.
    return line[line.rfind(b")") + 2 :].split()


def has_signal(thread: int) -> bool:
    """Whether a signal waits for a thread that has a handler for it."""
    try:
        with open(f"/proc/{thread}/status", "rb", buffering=0) as status:
            masks = {name: int(mask, 16) for name, mask in _SIGNALS.findall(status.read())}
    except OSError:
        return False
    waiting = masks[b"SigPnd"] | masks[b"ShdPnd"]
    return bool(waiting & masks[b"SigCgt"] & ~masks[b"SigBlk"])


@cache
def own_rights() -> Rights:
    """The rights of the supervisor itself."""
    with open("/proc/thread-self/status", "rb", buffering=0) as status:
        return _rights(_fields(status.read()))


def _fields(text: bytes) -> tuple[bytes, ...]:
    """The ``_FIELDS`` of a status file. Its first line is the name, in which no new line can stand."""
    lines: list[bytes] = []
    at = 0
    try:
        for field in _FIELDS:
            at = text.index(field, at) + len(field)
            lines.append(text[at : text.index(b"\n", at)])
    except ValueError:
        raise OSError(3, "No such process") from None
    return tuple(lines)


@lru_cache(256)
def _rights(lines: tuple[bytes, ...]) -> Rights:
    """From the ``_FIELDS``; of the four users and groups the last is that for files."""
    umask, _, users, groups, others, capabilities = lines
    return Rights(
        int(users.split()[3]),
        int(groups.split()[3]),
        tuple(int(group) for group in others.split()),
        int(umask, 8),
        int(capabilities, 16),
    )


def _walk(path: str, target: Target, *, follow: bool) -> ResolvedPath:
    """Resolve links one after the other, with /proc/self meaning the target."""
    waiting = _parts_backwards(path)
    real, links, by_proc = "", 0, False
    while waiting:
        part = waiting.pop()
        if part in (".", ".."):
            real = real.rpartition("/")[0] if part == ".." else real
            continue
        step_path = f"{real}/{part}"
        by_proc = by_proc or step_path.startswith("/proc/")
        if not waiting and not follow and not path.endswith("/"):
            return ResolvedPath(step_path, by_proc=by_proc)
        leads = _link(step_path, target)
        if leads is None:
            real = step_path
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(40, "Too many levels of symbolic links")
        if _MAGIC.fullmatch(step_path):
            if not _is_place(leads):
                return ResolvedPath(leads, special=True, link=step_path, by_proc=True)
            real = leads.rstrip("/")
            continue
        waiting += _parts_backwards(leads)
        real = "" if leads[:1] == "/" else real
    return ResolvedPath(real or "/", by_proc=by_proc)


def _parts_backwards(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part]


def _is_place(leads: str) -> bool:
    """Whether a link of /proc leads to a path, and to no pipe, socket or deleted file."""
    return leads[:1] == "/" and os.path.lexists(leads)


def _link(path: str, target: Target) -> str | None:
    """The target of a link as the thread sees it; None if the path is no link."""
    if path.startswith("/proc/"):
        if path == "/proc/self":
            return str(target.process)
        if path == "/proc/thread-self":
            return f"{target.process}/task/{target.thread}"
    try:
        return os.readlink(path)
    except OSError:
        return None


def name_of(process: int) -> str:
    """The name of a process or thread; empty when it has ended."""
    try:
        with open(f"/proc/{process}/comm", "rb") as comm:
            return os.fsdecode(comm.read().rstrip(b"\n"))
    except OSError:
        return ""
