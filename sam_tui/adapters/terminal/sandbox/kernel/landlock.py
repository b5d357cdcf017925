"""Landlock rulesets: which folders may be written to, and which secrets may not be read."""

import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_long
from dataclasses import dataclass, field
from functools import lru_cache

from sam_tui.adapters.terminal.sandbox.kernel.calls import (
    checked,
    forbid_new_privileges,
    libc,
    syscall,
)
from sam_tui.adapters.terminal.sandbox.kernel.devices import SystemLook
from sam_tui.adapters.terminal.sandbox.kernel.protected_paths import carved
from sam_tui.core.ports.processes.sandbox import ReadTerms

# The same numbers on every Linux architecture that has Landlock (x86-64, aarch64, riscv64 ...).
_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION = 1
_PATH_BENEATH = 1

LEAST_ABI = 3
"""The first version that can refuse truncation (linux/landlock.h): with an earlier one and no supervisor,
files outside could be emptied."""
LEAST_SUPERVISED_ABI = 1
"""The first version that is enough with a supervisor, which enforces the missing rules."""
RENAME_ABI = 2
NETWORK_ABI = 4
DEVICE_ABI = 5
SCOPE_ABI = 6

_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
# write_file, then remove_dir .. make_sym (bits 4 to 12), refer and truncate: all but reading.
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13)) | _REFER | _TRUNCATE
_DEVICES = (1 << 6) | (1 << 11)
"""The rights to create device files, granted nowhere: through one, root could access any disk."""
_ON_A_FILE = _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
_MAKE_SOCKET = 1 << 9
_TCP = 0b11
_SCOPES = 0b11
"""Confines abstract Unix sockets and signals to the sandbox."""
_MOST_SIBLINGS = 16 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a ruleset: writable folders and devices, and unreadable secrets except ``opened``
    ones, all real paths."""

    writable: tuple[str, ...]
    devices: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    tcp: bool = True
    opened: tuple[str, ...] = ()
    unwritable: tuple[str, ...] = ()
    """Real paths below the writable folders that must not change; only in supervised runs."""
    masked: tuple[str, ...] = ()
    """Real paths of secrets and devices that existed when the run began."""
    watched: tuple[str, ...] = ()
    """The writable folders in which the supervisor makes every change itself."""
    reads: ReadTerms = field(default_factory=ReadTerms)
    """The paths that are read without a question; only in supervised runs."""

    @property
    def hidden(self) -> dict[str, tuple[str, ...]]:
        """The places of secrets, existing or not, and the ones opened among them, by name."""
        return {"hidden": (*self.secrets, *self.masked), "opened": self.opened}

    @property
    def readable(self) -> tuple[str, ...] | None:
        """The real paths readable besides the writable ones; None if everything but secrets is."""
        if not self.reads.restricted:
            return None
        return (*self.reads.free, *self.reads.own)


def abi() -> int:
    """The Landlock version of the running kernel; 0 without."""
    if sys.platform != "linux":
        return 0
    try:
        return syscall(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def build(version: int, bounds: Bounds) -> int:
    """A ruleset descriptor, which hides what is masked in these bounds. Raises OSError."""
    writes = _handled_writes(version)
    split = splits(bounds.masked)
    reads = _READ_FILE if split or bounds.readable is not None else 0
    attributes = struct.pack(
        "=QQQ",
        writes | reads,
        0 if bounds.tcp or version < NETWORK_ABI else _TCP,
        _SCOPES if version >= SCOPE_ABI else 0,
    )
    size = 24 if version >= SCOPE_ABI else 16 if version >= NETWORK_ABI else 8
    ruleset = syscall(_CREATE_RULESET, attributes[:size], size, 0)
    try:
        for path, rights in _writable(bounds, (writes & ~_DEVICES) | reads, reads):
            _allow(ruleset, (path,), rights)
        hidden = (*bounds.masked, *bounds.secrets)  # also those that came into being meanwhile
        _allow(ruleset, _read_within(bounds.readable, split, hidden), reads)
        _allow(ruleset, map(os.path.realpath, bounds.opened if reads else ()), reads)
    except OSError:
        os.close(ruleset)
        raise
    return ruleset


def _handled_writes(version: int) -> int:
    """The rights to change something that a kernel with that version knows."""
    writes = _WRITES | (_IOCTL_DEV if version >= DEVICE_ABI else 0)
    return writes & ~(
        (_TRUNCATE if version < LEAST_ABI else 0) | (_REFER if version < RENAME_ABI else 0)
    )


def _writable(bounds: Bounds, full: int, reads: int) -> Iterator[tuple[str, int]]:
    """The writable paths with their rights."""
    for folder in bounds.writable:
        # The supervisor makes no sockets: those are bound, not opened.
        rights = _MAKE_SOCKET | reads if folder in bounds.watched else full
        yield from ((path, rights) for path in carved(folder, bounds.unwritable))
    yield from ((path, full) for path in bounds.devices)


def restrict(ruleset: int) -> None:
    """Apply a ruleset to the calling thread and all that it starts from now on. Raises OSError."""
    forbid_new_privileges()
    syscall(_RESTRICT_SELF, ruleset, 0)


def maskable(bounds: Bounds, look: SystemLook) -> tuple[str, ...]:
    """The secrets and devices that can be masked: existing ones outside of the writable folders.

    Landlock only adds rights further down in the tree, so all siblings on the way to a secret get rules
    of their own. Inside the workspace that would hide new files from their maker, unless a supervisor
    opens them.
    """
    below = tuple(f"{folder.rstrip('/')}/" for folder in bounds.writable)
    looked = map(look.look, bounds.secrets)
    existing = [real for real, exists in looked if exists and real != "/"]
    return tuple(
        real
        for real in (*existing, *look.devices)
        if real in bounds.unwritable or not f"{real}/".startswith(below)
    )


@lru_cache(8)
def splits(masked: tuple[str, ...]) -> tuple[str, ...]:
    """The folders above secrets: their entries get rules one by one, without the secrets."""
    folders: set[str] = set()
    for secret in masked:
        above = secret
        while above != "/":
            above = str(os.path.dirname(above))
            folders.add(above)
    return tuple(sorted(folders))


def identity(path: str, *, listing: bool = False) -> tuple[str, int, int, int]:
    """A value that differs once a path is another file, or with ``listing`` a folder has a new entry."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return path, 0, 0, 0
    return path, status.st_dev, status.st_ino, status.st_mtime_ns if listing else 0


def _read_within(
    readable: tuple[str, ...] | None, split: Sequence[str], masked: Sequence[str]
) -> Iterable[str]:
    """Return the paths to read as a whole: next to the path of a secret, and below ``readable``."""
    if readable is None:
        return _readable(split, masked)
    below = tuple(f"{path.rstrip('/')}/" for path in readable)
    secret = tuple(f"{path}/" for path in masked)
    apart = {*split, *masked}
    whole = [path for path in readable if path not in apart and not path.startswith(secret)]
    ways = [folder for folder in split if f"{folder.rstrip('/')}/".startswith(below)]
    return [*whole, *_readable(ways, [*masked, *split])]


def _readable(split: Sequence[str], masked: Sequence[str]) -> Iterable[str]:
    """Return every path next to the path of a secret."""
    hidden = set(masked) | set(split)
    allowed: list[str] = []
    for folder in split:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        if len(names) > _MOST_SIBLINGS:
            import logging  # a launcher that starts for each command has no use for it

            message = "%s: too many entries to hide the secrets below it"
            logging.getLogger(__name__).warning(message, folder)
            allowed.append(folder)
            continue
        above = folder.rstrip("/")
        allowed += [path for name in names if (path := f"{above}/{name}") not in hidden]
    return allowed


def _allow(ruleset: int, paths: Iterable[str], rights: int) -> None:
    """Add a rule for each path; a missing path gets none, and what a link points to never gets one."""
    # There are hundreds of paths: what is the same for all is prepared once.
    add, (flags, *same) = libc().syscall, map(c_long, (0, _ADD_RULE, ruleset, _PATH_BENEATH))
    on_a_file = rights & (_ON_A_FILE | _READ_FILE)
    for path in paths:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            # A right to read applies to every kind of file, and that of a link to the link alone.
            allowed = (
                rights if rights == on_a_file else _allowed(os.fstat(handle), rights, on_a_file)
            )
            if allowed:
                checked(add(*same, struct.pack("=Qi", allowed, handle), flags))
        finally:
            os.close(handle)


def _allowed(status: os.stat_result, rights: int, on_a_file: int) -> int:
    """The rights that a rule for this file can have."""
    if stat.S_ISDIR(status.st_mode):
        return rights
    return 0 if stat.S_ISLNK(status.st_mode) else on_a_file
