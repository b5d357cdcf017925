"""The access of a confined command outside of its folders, and the question to a person about more."""

import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

OutsideKind = Literal["read", "write", "delete", "rename", "metadata", "connect"]
Network = Literal["granted", "on", "hosts", "off"]
"""Which hosts confined commands reach, loopback included: ``on`` all, ``hosts`` those of a list, ``off``
none. ``granted`` means all for one command that the person allowed, whatever applies to others."""
NETWORKS: tuple[Network, ...] = ("on", "hosts", "off")
"""The values that can be chosen, from the least strict on."""
DEFAULT_NETWORK: Network = "hosts"
SandboxChoice = Literal["default", "strict", "off"]
"""``strict`` is bubblewrap; with ``off`` commands run unconfined and each one is asked."""
Shield = Literal["writes", "metadata", "signals", "sockets", "network", "secrets", "kernel"]


@dataclass(frozen=True, slots=True)
class PlantedChange:
    """New content of a place that later runs or instructs: why it is asked for, and a unified diff."""

    why: str
    difference: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class OutsideAccess:
    """An access of a confined command outside of the folders that it may change.

    ``path`` is real and absolute; for a connection the socket's path, ``@name`` of an abstract one, or
    ``the network``. ``to`` is the new path of a rename. ``process``, ``pid`` and ``syscall`` say who
    tried and how; they are empty or 0 if that is only guessed from the output. ``planted`` is a change
    inside of a file that later runs or instructs, with its ``change`` while it is asked about.
    """

    kind: OutsideKind
    path: str
    process: str = ""
    pid: int = 0
    syscall: str = ""
    to: str = ""
    planted: bool = False
    change: PlantedChange | None = None

    @property
    def words(self) -> str:
        """The access and its process in words: ``write /etc/hosts (tee, pid 12)``."""
        what = (
            "change mode, owner, times or attributes of" if self.kind == "metadata" else self.kind
        )
        where = f"{self.path} to {self.to}" if self.to else self.path
        return f"{what} {where}" + (f" ({self.process}, pid {self.pid})" if self.process else "")


@dataclass(frozen=True, slots=True)
class OutsideAnswer:
    """The answer to an outside access, and for how many seconds of the run the same is not asked again."""

    allowed: bool
    seconds: float = math.inf


def allowance(access: OutsideAccess) -> str:
    """Return the policy line that permits a refused connection; empty if there is none."""
    host, colon, port = access.path.rpartition(":")
    if access.kind != "connect" or not colon or not port.isdecimal():
        return ""
    entry = access.path if host in _THIS_MACHINE else host.strip("[]")
    return f'hosts = ["{entry}"] in the policy.toml of your settings, or --network on, allows it'


_THIS_MACHINE = ("127.0.0.1", "[::1]", "localhost")

AskOutside = Callable[[OutsideAccess], Awaitable[bool | OutsideAnswer]]
"""Asks about one access while its system call waits; True allows it. It is cancelled if the command ends
meanwhile. An answer without seconds is valid to the end of the run."""
AskAgain = Callable[[Sequence[OutsideAccess]], Awaitable[tuple[str, ...]]]
"""Asks after a run during which no question was possible. Returns the real paths that the command may
write to in a second run from the beginning; empty if there is to be none."""


@dataclass(frozen=True, slots=True)
class HostTerms:
    """The hosts that commands reach without a question if the network is limited to a list.

    A host must stand in each of ``lists`` (a project's list tightens the person's). Those of ``local``
    may have addresses that are not public. Hosts in ``judged`` still raise a question, because a rule
    is about them. Entries are as ``HostEntry`` reads them. ``resolvers`` are addresses and ports of
    name servers; none means those of the system. ``proxies`` are hosts and ports that the person named:
    requests to them are judged by host.
    """

    lists: tuple[tuple[str, ...], ...] = ((),)
    local: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    resolvers: tuple[tuple[str, int], ...] = ()
    proxies: tuple[tuple[str, int], ...] = ()


def _most_memory() -> int:
    """Return three quarters of the machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """The limits of a command, sizes in bytes. ``memory``, ``file_size`` and ``open_files`` hold for
    each of its processes, ``processes`` and ``total_memory`` for all that it has at once.
    """

    memory: int = field(default_factory=_most_memory)
    processes: int = 4096
    file_size: int = 64 * 1024**3
    open_files: int = 65536
    total_memory: int = field(default_factory=_most_memory)

    @property
    def together(self) -> Mapping[str, int]:
        """The limits of all processes together, by name."""
        return {"processes": self.processes, "total_memory": self.total_memory}


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """The confinement of commands: hidden paths, exceptions among these, and caches they may write.
    ``hosts`` has the terms of a network of that name."""

    kind: SandboxChoice = "default"
    secrets: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    network: Network = "on"
    hosts: HostTerms = field(default_factory=HostTerms)
    redirected: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of the caches that were not opened, each with the folder to use instead."""
    passed: tuple[str, ...] = ()
    """Names of variables, with ``*`` and ``?``, that commands get although they look like secrets."""
    limits: CommandLimits = field(default_factory=CommandLimits)


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process that is still running after its command ended."""

    pid: int
    name: str


@dataclass(frozen=True, slots=True)
class ReadTerms:
    """The paths that commands read without a question.

    ``free`` are real paths of the system and of toolchains, ``own`` those of the workspace; with
    ``restricted`` nothing else is read besides what they may change. ``home`` is the home folder whose
    secrets count.
    """

    home: str = ""
    free: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    restricted: bool = False

    def with_own(self, more: tuple[str, ...]) -> "ReadTerms":
        """The same with more folders of the workspace's kind."""
        return replace(self, own=(*self.own, *more)) if more else self


@dataclass(frozen=True, slots=True)
class Protection:
    """One protection of the sandbox: whether it works here, and how or why not."""

    shield: Shield
    held: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Confinement:
    """The restrictions that the kernel enforces on commands. ``kind`` is ``none`` without any."""

    kind: Literal["live", "landlock", "bubblewrap", "seatbelt", "none"]
    """What confines commands; with ``live`` a refused access can be asked about while the command waits."""
    detail: str
    protections: tuple[Protection, ...] = ()
