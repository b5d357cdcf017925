"""The kernel features for confinement on this machine, and a description of their protection."""

import ctypes
import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from sam_tui.adapters.terminal.sandbox.kernel import landlock
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import machine
from sam_tui.adapters.terminal.sandbox.kernel.calls import ProcessMemory, call, capabilities
from sam_tui.adapters.terminal.sandbox.kernel.entry import install, install_listening
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import passing
from sam_tui.adapters.terminal.sandbox.supervised.caller import stat_fields
from sam_tui.adapters.terminal.sandbox.supervision import Host
from sam_tui.core.ports.processes.sandbox import Protection
from sam_tui.core.ports.processes.terminals import Confinement

_LEAST_LIVE = (5, 14)
"""The first Linux version that answers a call and passes a descriptor in one step (ADDFD_FLAG_SEND)."""
_PTRACE = 1 << 19
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"


@dataclass(frozen=True, slots=True)
class Ability:
    """The detected features: the Landlock ABI, the place of the supervisor, and reasons against live
    approvals."""

    landlock: int
    host: Host | None
    why_not_live: str = ""
    filters: bool = True
    """Whether system calls can be filtered."""
    why_none: str = ""
    """Why commands cannot be confined although Landlock exists; empty if they can or if it does not."""

    @property
    def holds(self) -> bool:
        """Whether writes can be held: by Landlock alone, or by an early one and a supervisor."""
        early = landlock.LEAST_SUPERVISED_ABI if self.host is not None else landlock.LEAST_ABI
        return self.landlock >= early


@cache
def ability() -> Ability:
    """The features that the kernel offers to this process; detected once."""
    version = landlock.abi()
    if version < landlock.LEAST_SUPERVISED_ABI:
        return Ability(version, None, "there is no Landlock below it")
    if machine() is None:
        return Ability(version, None, f"no system call table for {os.uname().machine}")
    if _release() < _LEAST_LIVE:
        return Ability(version, None, f"Linux {os.uname().release} cannot hand over descriptors")
    refused = _refused(lambda: os.close(install_listening(passing())))
    if refused is not None:
        filters = _refused(lambda: install(passing(), 0)) is None
        return Ability(version, None, _words(refused), filters)
    blind = _blind()
    return Ability(version, None, blind) if blind else _host(version)


def weaker(than: Ability, why: str) -> Ability:
    """The next weaker ability, after a command could not be confined by ``than``."""
    if than.host is not None:
        return replace(than, host=None, why_not_live=why)
    if than.filters:
        return replace(than, filters=False)
    return Ability(0, None, why, filters=False, why_none=why)


def _blind() -> str:
    """The reason why a supervisor could not read the memory of processes; empty if it can."""
    if stat_fields(os.getpid()) is None or not os.path.exists("/proc/self/fd"):
        return "/proc is hidden"
    attempts: dict[str, Callable[[], object]] = {
        "pidfd_open": lambda: os.close(os.pidfd_open(os.getpid())),
        "pidfd_getfd": _copy_descriptor,
        "process_vm_readv": _read_memory,
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError as error:
            return f"{name} is refused ({error.strerror})"
    return ""


def _copy_descriptor() -> None:
    process = os.pidfd_open(os.getpid())
    try:
        os.close(call("pidfd_getfd", process, process, 0))
    finally:
        os.close(process)


def _read_memory() -> None:
    buffer = ctypes.create_string_buffer(b"known")
    ProcessMemory().piece(os.getpid(), ctypes.addressof(buffer), len(buffer))


def _host(version: int) -> Ability:
    """Yama lets only ancestors look into a process, so the supervisor must then live in this one."""
    try:
        with open(_YAMA, encoding="ascii") as scope:
            level = int(scope.read())
    except (OSError, ValueError):
        level = 0
    privileged = bool(capabilities()[0] & _PTRACE)
    if level >= 3 or (level == 2 and not privileged):
        return Ability(version, None, f"kernel.yama.ptrace_scope is {level}")
    alone = (level == 0 or privileged) and bool(sys.executable) and os.access("/bin/sh", os.X_OK)
    return Ability(version, "process" if alone else "thread")


def _release() -> tuple[int, int]:
    major, _, release = os.uname().release.partition(".")
    minor = release.partition(".")[0].partition("-")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)


def _refused(action: Callable[[], object]) -> OSError | None:
    """Return the kernel's refusal of a filter; None if it accepts. Tried on a thread that then ends."""
    faults: list[OSError] = []

    def attempt() -> None:
        try:
            action()
        except OSError as error:
            faults.append(error)

    thread = threading.Thread(target=attempt, name="sandbox-probe")
    thread.start()
    thread.join()
    return faults[0] if faults else None


def _words(refused: OSError) -> str:
    if refused.errno == errno.EBUSY:
        return "this already runs inside another supervised sandbox"
    return f"the kernel refuses a supervisor ({refused.strerror})"


def describe(able: Ability, *, strict: bool) -> Confinement:
    """The confinement that these abilities allow, with its protections in words.

    ``strict`` is for whom ``bubblewrap()`` found one.
    """
    kernel = f"{os.uname().sysname} {os.uname().release}"
    if strict:
        return Confinement("bubblewrap", f"bubblewrap on {kernel}", _strict())
    if sys.platform == "darwin" and shutil.which("sandbox-exec"):
        return Confinement("seatbelt", f"sandbox-exec on {kernel}", _seatbelt())
    if able.holds:
        scope = ", signals and abstract sockets kept inside" if able.landlock >= 6 else ""
        summary = (
            f"Landlock ABI {able.landlock} on {kernel}: writes limited to allowed folders{scope}"
        )
        if able.host is not None:
            detail = f"{summary}; what lies outside can be approved while the command waits"
            return Confinement("live", detail, _protections(able))
        detail = f"{summary}; no approvals while a command runs: {able.why_not_live}"
        return Confinement("landlock", detail, _protections(able))
    return Confinement("none", _why_none(able, kernel), _protections(able))


def _why_none(able: Ability, kernel: str) -> str:
    if able.why_none:
        return f"Landlock exists, but could not confine a command: {able.why_none}"
    if sys.platform != "linux":
        return f"{kernel} has no Landlock; commands are not confined"
    if able.landlock:
        return f"Landlock ABI {able.landlock} on {kernel} cannot refuse truncation"
    return f"{kernel} offers no Landlock, or it is switched off"


def _protections(able: Ability) -> tuple[Protection, ...]:
    enough = able.holds
    live = enough and able.host is not None
    filtered = enough and machine() is not None and able.filters
    scoped = enough and able.landlock >= landlock.SCOPE_ABI
    return (
        Protection("writes", enough, "Landlock" if enough else "nothing stops them"),
        Protection(
            "metadata",
            live,
            f"carried out by the supervisor ({able.host})" if live else able.why_not_live,
        ),
        Protection("signals", scoped or live, _signals(scoped=scoped, live=live)),
        Protection(
            "sockets",
            live,
            "the guard asks about connections to sockets outside" if live else able.why_not_live,
        ),
        Protection("network", filtered, _network(live=live) if filtered else "cannot be refused"),
        Protection("secrets", enough, "outside of the workspace" if enough else "can be read"),
        Protection(
            "kernel",
            filtered,
            "io_uring, mounts, keys, namespaces, other call tables" if filtered else "not filtered",
        ),
    )


def _signals(*, scoped: bool, live: bool) -> str:
    if scoped:
        return "Landlock scopes"
    return "judged by the supervisor" if live else "needs Landlock ABI 6 or live approvals"


def _network(*, live: bool) -> str:
    return "off, or limited to a list of hosts, on request" if live else "off on request"


def _strict() -> tuple[Protection, ...]:
    return (
        Protection("writes", True, "all else is mounted read-only"),
        Protection("metadata", True, "all else is mounted read-only"),
        Protection("signals", True, "own process ids"),
        Protection(
            "sockets",
            False,
            "those in /run and temporary folders are hidden, those bound before a command are covered",
        ),
        Protection("network", True, "own network when it is off"),
        Protection("secrets", True, "covered by empty folders"),
        Protection("kernel", machine() is not None, "the same filter"),
    )


def _seatbelt() -> tuple[Protection, ...]:
    return (
        Protection("writes", True, "sandbox profile"),
        Protection("metadata", True, "sandbox profile"),
        Protection("signals", True, "sandbox profile"),
        Protection("sockets", True, "sandbox profile"),
        Protection("network", True, "off on request"),
        Protection("secrets", True, "sandbox profile"),
        Protection("kernel", False, "no filter of system calls"),
    )


SWITCHED_OFF = Confinement("none", "switched off: commands are not confined")
"""For a person who switched the sandbox off."""
