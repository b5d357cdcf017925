"""The seccomp program: decides which system calls of a confined command pass, wait, or fail."""

import errno
import os
import struct
from collections.abc import Sequence
from functools import cache

from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import (
    BEYOND,
    CHANGING_RIGHTS,
    METADATA_CALLS,
    NAME_CALLS,
    OBJECT_CALLS,
    ONE_PROCESS,
    REFUSED,
    SCHEDULING,
    SIGNALLING,
    STARTING,
    Machine,
)
from sam_tui.core.ports.processes.sandbox import Network

ALLOW = 0x7FFF0000
NOTIFY = 0x7FC00000
FAIL = 0x00050000
_REFUSAL = FAIL | errno.EPERM
_NOTHING_READ = os.O_DIRECTORY | getattr(os, "O_PATH", 0)
"""Flags of an open that reads no file: of a folder, or only of a path."""
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_SET_USER_ID, _SET_ID_BITS = 0o4000, 0o6000
_MODE_AT = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
_NEW_MODE_AT = {"creat": 1, "mknod": 1, "mknodat": 2}
_MAKING_FLAGS = os.O_CREAT | 0o20000000
"""O_CREAT and __O_TMPFILE: flags with which an open has a mode."""
_DUMPABLE, _DROP_BOUND, _SECURE_BITS = 4, 24, 28
_F_SETOWN, _F_SETOWN_EX = 8, 15
_OWNER_IOCTLS = (0x8901, 0x8902)
"""FIOSETOWN and SIOCSPGRP. Like F_SETOWN they set who gets the signals of a descriptor, and F_SETSIG makes
that any signal; but their argument is in memory, which can change after it was checked."""

RENAMING_HELD, TRUNCATION_HELD, SIGNALS_HELD = 2, 3, 6
COMPLETE = SIGNALS_HELD
"""The first Landlock version with which these need no supervisor."""

NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
UNSHARED_TIME = 0x80

TIOCSTI = 0x5412
TIOCLINUX = 0x541C
SETTING_IOCTLS = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602)
"""FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR and FS_IOC_SETVERSION, which need no writable descriptor."""
_HARMLESS_IOCTLS = (0x40049409, 0x4020940D, 0xC0189436, 0xC020660B)
"""FICLONE, FICLONERANGE and FIDEDUPERANGE, which need a writable descriptor, and FS_IOC_FIEMAP."""
_FILESYSTEM_TYPES = (0x66, 0x58, 0x76, 0x94, 0x4C)
"""Type letters of ioctls that file systems define: f, X, v and that of btrfs; and L, because a read-only
descriptor is enough to detach a loop device (from version 5 on Landlock refuses that)."""

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_ALG = 1, 2, 10, 16, 38
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW = 1, 2, 3
_KIND_OF_SOCKET = 0xF
_TCP, _UDP = 6, 17
_FAST_OPEN = 0x20000000
"""MSG_FASTOPEN: connects while it sends."""
_FAST_OPEN_CONNECT = 30
HANDING_OVER = 0x01000000
"""A flag without meaning to the kernel, by which the filter lets a starting command send its listener."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND, _SHIFT = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54, 0x74
_JUMP = 0x05
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_CHAINED = 3
"""Up to so many calls are compared one after the other, not by a search."""

Instruction = tuple[int, int, int, int]


@cache
def program(
    machine: Machine,
    network: Network,
    *,
    live: bool,
    landlock: int = COMPLETE,
    rehearsed: bool = False,
) -> bytes:
    """The filter as the kernel reads it. Without ``live`` no call waits: those that would are allowed, and
    setuid and setgid files are refused, but to a rehearsal, whose changes are shown first.

    Where ``landlock``, the version below the filter, leaves something open, the supervisor decides.

    A call is found by binary search. The kernel walks the program once for every existing call number
    when it loads it, so that a long chain of comparisons would cost each command 0.1 ms.
    """
    built: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        _give(FAIL | errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, BEYOND),  # with it go the numbers of x32
        _give(FAIL | errno.ENOSYS),
    ]
    blocks = _blocks(network, live=live) | _set_id(judged=live or rehearsed)
    if live and landlock < SIGNALS_HELD:
        blocks |= {name: [_give(NOTIFY)] for name in SIGNALLING}
        blocks["fcntl"] = _owned()
        blocks["ioctl"] = [_argument(1), *_each(_OWNER_IOCTLS, _REFUSAL), *blocks["ioctl"]]
    calls = machine.calls
    entries = sorted((calls[name], block) for name, block in blocks.items() if name in calls)
    built += _halved(entries)
    return _packed(built)


def _packed(instructions: Sequence[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _halved(entries: Sequence[tuple[int, list[Instruction]]]) -> list[Instruction]:
    """A binary search from call numbers to their blocks; all other numbers are allowed."""
    if len(entries) <= _CHAINED:
        chain: list[Instruction] = []
        for number, block in entries:
            chain += [(_EQUAL, 0, len(block), number), *block]
        return [*chain, _give(ALLOW)]
    middle = len(entries) // 2
    below, above = _halved(entries[:middle]), _halved(entries[middle:])
    # A condition reaches 255 instructions far, a plain jump any distance.
    return [(_AT_LEAST, 0, 1, entries[middle][0]), (_JUMP, 0, 0, len(below)), *below, *above]


def _blocks(network: Network, *, live: bool) -> dict[str, list[Instruction]]:
    """The block of instructions for each judged call; every block ends with a decision."""
    blocks: dict[str, list[Instruction]] = {}
    if live:
        blocks |= {"open": _opened(1), "openat": _opened(2), "prctl": _process_control()}
        for name in (*NAME_CALLS, *METADATA_CALLS, *STARTING, *CHANGING_RIGHTS, "connect"):
            blocks[name] = [_give(NOTIFY)]
        # Its flags are in memory, and could change after they were read.
        blocks["openat2"] = [_give(FAIL | errno.ENOSYS)]
    for error, names in REFUSED.items():
        for name in names:
            blocks[name] = [_give(FAIL | error)]
    # Starting a process never waits: a signal would interrupt that, which no program expects of a fork.
    blocks["clone"] = _when_bits(0, NAMESPACES, _REFUSAL)
    if live:
        blocks["setsid"] = [_give(NOTIFY)]
    blocks["unshare"] = _when_bits(0, NAMESPACES | UNSHARED_TIME, _REFUSAL)
    blocks |= _objects_and_scheduling(live=live)
    blocks["ioctl"] = _ioctl(live=live)
    if network == "hosts" and live:
        blocks |= _held_to_hosts()
    else:
        blocks["socket"] = _socket(network, live=live)
        if live:
            blocks |= _sends([])
    blocks["socketpair"] = [_argument(0), (_EQUAL, 1, 0, AF_UNIX), _give(ALLOW), *_unix(live=live)]
    blocks["prlimit64"] = _limits()
    return blocks


def _objects_and_scheduling(*, live: bool) -> dict[str, list[Instruction]]:
    """System V objects and process scheduling: only a run's own, and the caller's own without waiting."""
    if not live:
        return {name: [_give(FAIL | errno.ENOSYS)] for name in OBJECT_CALLS}
    blocks: dict[str, list[Instruction]] = {name: [_give(NOTIFY)] for name in OBJECT_CALLS}
    for name in SCHEDULING:
        itself = 0 if name not in ONE_PROCESS else 1
        blocks[name] = [_argument(itself), (_EQUAL, 0, 1, 0), _give(ALLOW), _give(NOTIFY)]
    for name, selector in ONE_PROCESS.items():
        blocks[name] = [_argument(0), (_EQUAL, 1, 0, selector), _give(NOTIFY), *blocks[name]]
    return blocks


def _give(action: int) -> Instruction:
    return (_RETURN, 0, 0, action)


def _argument(index: int) -> Instruction:
    """Load the low word of an argument; the kernel ignores the high one of all that are used here."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _when_bits(index: int, bits: int, action: int) -> list[Instruction]:
    return [_argument(index), (_ANY_BIT, 0, 1, bits), _give(action), _give(ALLOW)]


def _opened(flags: int) -> list[Instruction]:
    """Opens that read or write wait; listing a folder, or an open for the path alone, passes."""
    return [
        _argument(flags),
        (_ANY_BIT, 0, 1, WRITE_FLAGS),
        _give(NOTIFY),
        (_ANY_BIT, 0, 1, _NOTHING_READ),
        _give(ALLOW),
        _give(NOTIFY),
    ]


def _set_id(*, judged: bool) -> dict[str, list[Instruction]]:
    """Refuse files that run with their owner's rights, unless these are judged. ``chmod`` also sets modes
    of folders, where the bit for the group means something else: that one passes."""
    if judged:
        return {}
    blocks = {name: _when_bits(at, _SET_USER_ID, _REFUSAL) for name, at in _MODE_AT.items()}
    blocks["openat2"] = [_give(FAIL | errno.ENOSYS)]  # its mode is in memory
    blocks |= {name: _when_bits(at, _SET_ID_BITS, _REFUSAL) for name, at in _NEW_MODE_AT.items()}
    for name, at in {"open": 1, "openat": 2}.items():
        making: list[Instruction] = [(_ANY_BIT, 1, 0, _MAKING_FLAGS), _give(ALLOW)]
        blocks[name] = [_argument(at), *making, *_when_bits(at + 1, _SET_ID_BITS, _REFUSAL)]
    return blocks


def _process_control() -> list[Instruction]:
    """Refuse to hide a process's memory, which the supervisor needs to judge its calls."""
    hiding = [(_EQUAL, 0, 4, _DUMPABLE), _argument(1), *_each((0,), _REFUSAL), _give(ALLOW)]
    fewer = _each((_DROP_BOUND, _SECURE_BITS), NOTIFY)
    return [_argument(0), *hiding, *fewer, _give(ALLOW)]


def _ioctl(*, live: bool) -> list[Instruction]:
    """Typing into terminals fails; setting attributes by a read-only descriptor waits, or fails."""
    return [
        _argument(1),
        *_each((TIOCSTI, TIOCLINUX), _REFUSAL),
        *_each(SETTING_IOCTLS, NOTIFY if live else _REFUSAL),
        *_each(_HARMLESS_IOCTLS, ALLOW),
        # Of the rest that file systems define, only what reads: direction bits "read" and not "write".
        *_unless_reading(),
        *_each(_FILESYSTEM_TYPES, _REFUSAL),
        _give(ALLOW),
    ]


def _owned() -> list[Instruction]:
    """Return the filter of F_SETOWN, which waits; F_SETOWN_EX, which names a process in memory, fails."""
    owner = (*_each((_F_SETOWN,), NOTIFY), *_each((_F_SETOWN_EX,), _REFUSAL))
    return [_argument(1), *owner, _give(ALLOW)]


def _each(values: Sequence[int], action: int) -> list[Instruction]:
    """The decision for each of these values in the accumulator."""
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _give(action))]


def _unless_reading() -> list[Instruction]:
    """Allow a request that only reads; of any other leave its letter in the accumulator."""
    return [
        (_ANY_BIT, 2, 0, 0x40000000),
        (_ANY_BIT, 0, 1, 0x80000000),
        _give(ALLOW),
        (_SHIFT, 0, 0, 8),
        (_AND, 0, 0, 0xFF),
    ]


def _unix(*, live: bool) -> list[Instruction]:
    """Streams pass until they connect. Datagrams can be sent anywhere without a connection: where the
    supervisor judges sends (``_sends``), their sockets wait; elsewhere they fail."""
    return [
        _argument(1),
        (_AND, 0, 0, _KIND_OF_SOCKET),
        (_EQUAL, 2, 0, SOCK_DGRAM),
        (_EQUAL, 1, 0, SOCK_RAW),
        _give(ALLOW),
        _give(NOTIFY if live else FAIL | errno.EACCES),
    ]


def _sends(refused: list[Instruction]) -> dict[str, list[Instruction]]:
    """Sends with an address wait for the supervisor; those without one pass. ``refused`` are instructions
    for flags that fail."""
    unnamed: list[Instruction] = [
        _argument(4),
        (_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, _ARGUMENTS + 8 * 4 + 4),
        (_EQUAL, 1, 0, 0),
        _give(NOTIFY),
        _give(ALLOW),
    ]
    flags = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
    looked = {name: [_argument(at), *refused] if refused else [] for name, at in flags.items()}
    remaining = {name: unnamed if name == "sendto" else [_give(NOTIFY)] for name in flags}
    # Nobody answers before the listener is handed over; ``sealing`` ends that.
    remaining["sendmsg"] = [_argument(2), (_EQUAL, 0, 1, HANDING_OVER), _give(ALLOW), _give(NOTIFY)]
    return {name: [*looked[name], *remaining[name]] for name in flags}


def _socket(network: Network, *, live: bool) -> list[Instruction]:
    """Unix streams, the internet by policy, and the families that stay in the machine."""
    internet = ALLOW if network == "on" else NOTIFY if live else FAIL | errno.EACCES
    return [_argument(0), *_each((AF_INET, AF_INET6), internet), *_local_families(live=live)]


def _local_families(*, live: bool) -> list[Instruction]:
    """The families that stay in the machine; any other fails."""
    other: list[Instruction] = [(_EQUAL, 1, 0, AF_UNIX), _give(FAIL | errno.EAFNOSUPPORT)]
    return [*_each((AF_NETLINK, AF_ALG), ALLOW), *other, *_unix(live=live)]


def _held_to_hosts() -> dict[str, list[Instruction]]:
    """The calls that matter where connections are limited to a list. ``connect`` waits in any case.

    Streams pass until they connect or listen. Datagrams need neither, so the supervisor makes their
    sockets. Every other way to connect fails.
    """
    fast = FAIL | errno.EOPNOTSUPP
    return {
        "socket": _socket_held_to_hosts(),
        "listen": [_give(NOTIFY)],
        **_sends([(_ANY_BIT, 0, 1, _FAST_OPEN), _give(fast)]),
        "setsockopt": [
            _argument(1),
            (_EQUAL, 0, 3, _TCP),
            _argument(2),
            (_EQUAL, 0, 1, _FAST_OPEN_CONNECT),
            _give(fast),
            _give(ALLOW),
        ],
    }


def _socket_held_to_hosts() -> list[Instruction]:
    """TCP is free, UDP waits, and there is nothing else of the internet: no SCTP, MPTCP, raw, ping."""
    internet = [
        _argument(1),
        (_AND, 0, 0, _KIND_OF_SOCKET),
        (_EQUAL, 0, 4, SOCK_STREAM),
        _argument(2),
        (_EQUAL, 1, 0, 0),
        (_EQUAL, 0, 6, _TCP),
        _give(ALLOW),
        (_EQUAL, 0, 4, SOCK_DGRAM),
        _argument(2),
        (_EQUAL, 1, 0, 0),
        (_EQUAL, 0, 1, _UDP),
        _give(NOTIFY),
        _give(FAIL | errno.EPROTONOSUPPORT),
    ]
    return [
        _argument(0),
        (_EQUAL, 1, 0, AF_INET),
        (_EQUAL, 0, len(internet), AF_INET6),
        *internet,
        *_local_families(live=True),
    ]


def _limits() -> list[Instruction]:
    """Limits of the own process can be set, those of any other only read."""
    return [
        _argument(0),
        (_EQUAL, 0, 1, 0),
        _give(ALLOW),
        _argument(2),
        (_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _ARGUMENTS + 8 * 2 + 4),
        (_EQUAL, 0, 1, 0),
        _give(ALLOW),
        _give(_REFUSAL),
    ]


def passing() -> bytes:
    """A filter that lets every call pass: to find out whether a filter can have a listener."""
    return _packed([_give(ALLOW)])


def sealing(machine: Machine) -> bytes:
    """A second filter, after the listener was handed over: no message leaves unsupervised from then on."""
    instructions: list[Instruction] = [
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, 3, machine.calls["sendmsg"]),
        _argument(2),
        (_EQUAL, 0, 1, HANDING_OVER),
        _give(FAIL | errno.EINVAL),
        _give(ALLOW),
    ]
    return _packed(instructions)
