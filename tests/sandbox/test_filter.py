"""The filter as a program, run here instruction by instruction, also for the machine this is not."""

import errno
import os
import struct

import pytest

from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import BEYOND, MACHINES, Machine
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import ALLOW, FAIL, NOTIFY, program
from tests.fakes.rows import every_row

machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def decide(code: bytes, number: int, *arguments: int, audit: int, steps: int = 1000) -> int:
    """Classic BPF over a struct seccomp_data (linux/seccomp.h), in at most so many steps."""
    words = [value & (1 << 64) - 1 for value in (*arguments, 0, 0, 0, 0, 0, 0)][:6]
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, audit, 0, *words)
    at = accumulator = 0
    for _ in range(steps):
        operation, yes, no, constant = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, constant)[0]
            case 0x54:
                accumulator &= constant
            case 0x74:
                accumulator >>= constant
            case 0x15:
                at += yes if accumulator == constant else no
            case 0x35:
                at += yes if accumulator >= constant else no
            case 0x05:
                at += constant
            case 0x45:
                at += yes if accumulator & constant else no
            case 0x06:
                return constant
            case _:
                raise AssertionError(f"instruction {operation:#x}")
    raise AssertionError(f"no answer in {steps} steps")


@machines
@pytest.mark.requirement("sandbox:filter")
def test_what_reads_or_writes_a_file_waits_and_folders_are_listed_freely(machine: Machine) -> None:
    code, calls = program(machine, "on", live=True), machine.calls
    for flags, action in (
        (os.O_RDONLY, NOTIFY),
        (os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, NOTIFY),
        (os.O_RDONLY | os.O_DIRECTORY, ALLOW),
        (os.O_PATH | os.O_NOFOLLOW, ALLOW),
        (os.O_WRONLY, NOTIFY),
        (os.O_RDWR, NOTIFY),
        (os.O_RDONLY | os.O_CREAT, NOTIFY),
        (os.O_RDONLY | os.O_TRUNC, NOTIFY),
        (3, NOTIFY),
    ):
        assert decide(code, calls["openat"], -100, 0, flags, audit=machine.audit) == action
        if "open" in calls:
            assert decide(code, calls["open"], 0, flags, audit=machine.audit) == action
    for name in ("unlinkat", "renameat2", "linkat", "fchmod", "utimensat", "fsetxattr", "connect"):
        assert decide(code, calls[name], audit=machine.audit) == NOTIFY


@machines
@pytest.mark.requirement("sandbox:filter")
def test_what_would_wait_is_allowed_where_nobody_listens(machine: Machine) -> None:
    code, calls = program(machine, "off", live=False), machine.calls
    assert decide(code, calls["openat"], 0, 0, os.O_WRONLY, audit=machine.audit) == ALLOW
    assert decide(code, calls["fchmod"], audit=machine.audit) == ALLOW
    for name, family, kind in (("socket", 2, 1), ("socket", 1, 2), ("socketpair", 1, 2)):
        assert decide(code, calls[name], family, kind, audit=machine.audit) == FAIL | errno.EACCES
    refused = FAIL | errno.EPERM
    assert decide(code, calls["ioctl"], 3, 0x40086602, audit=machine.audit) == refused
    for name, before, modes in (
        ("fchmod", (3,), (0o4755,)),
        ("fchmodat", (-100, 0), (0o4755,)),
        ("mknodat", (-100, 0), (0o104755, 0o102755)),
        ("openat", (-100, 0, os.O_CREAT | os.O_RDWR), (0o4755, 0o2755)),
        ("openat", (-100, 0, os.O_TMPFILE | os.O_RDWR), (0o4755, 0o2755)),
    ):
        assert decide(code, calls[name], *before, 0o1777, audit=machine.audit) == ALLOW
        for mode in modes:
            assert decide(code, calls[name], *before, mode, audit=machine.audit) == refused
    assert decide(code, calls["openat"], -100, 0, os.O_RDWR, 0o4755, audit=machine.audit) == ALLOW
    assert decide(code, calls["fchmod"], 3, 0o2775, audit=machine.audit) == ALLOW
    assert decide(code, calls["openat2"], audit=machine.audit) == FAIL | errno.ENOSYS
    assert NOTIFY not in {struct.unpack_from("=HBBI", code, at)[3] for at in range(0, len(code), 8)}


DECIDED: list[tuple[str, tuple[int, ...], int]] = [
    ("clone", (0x11,), ALLOW),
    ("clone", (0x10F00,), ALLOW),
    ("setsid", (), NOTIFY),
    ("clone", (0x10000011,), FAIL | errno.EPERM),
    ("clone3", (0, 88), FAIL | errno.ENOSYS),
    ("unshare", (0x200,), ALLOW),
    ("openat2", (), FAIL | errno.ENOSYS),
    ("setresuid", (), NOTIFY),
    ("prctl", (4, 0), FAIL | errno.EPERM),  # PR_SET_DUMPABLE
    ("prctl", (4, 1), ALLOW),
    ("prctl", (24, 3), NOTIFY),  # PR_CAPBSET_DROP
    ("prctl", (38, 1), ALLOW),
    ("unshare", (0x20000,), FAIL | errno.EPERM),
    ("ioctl", (0, 0x5401), ALLOW),
    ("ioctl", (0, 0x5412), FAIL | errno.EPERM),
    ("ioctl", (0, 0xFFFFFFFF00005412), FAIL | errno.EPERM),
    ("ioctl", (0, 0x80086601), ALLOW),  # FS_IOC_GETFLAGS
    ("ioctl", (0, 0x40086602), NOTIFY),  # FS_IOC_SETFLAGS
    ("ioctl", (0, 0x40049409), ALLOW),  # FICLONE
    ("ioctl", (0, 0x40806685), FAIL | errno.EPERM),  # FS_IOC_ENABLE_VERITY
    ("ioctl", (0, 0x50009401), FAIL | errno.EPERM),  # BTRFS_IOC_SNAP_CREATE
    ("ioctl", (0, 0x4C01), FAIL | errno.EPERM),  # LOOP_CLR_FD
    ("ioctl", (0, 0x541B), ALLOW),  # FIONREAD
    ("socket", (1, 1), ALLOW),
    ("socket", (1, 0x80001), ALLOW),
    ("socket", (1, 2), NOTIFY),
    ("socket", (1, 0x80803), NOTIFY),
    ("socket", (2, 2), ALLOW),
    ("socket", (16, 3), ALLOW),
    ("socket", (17, 3), FAIL | errno.EAFNOSUPPORT),
    ("socketpair", (1, 1), ALLOW),
    ("socketpair", (1, 2), NOTIFY),
    ("socketpair", (2, 2), ALLOW),
    ("sendto", (3, 1, 1, 0, 0, 0), ALLOW),
    ("sendto", (3, 1, 1, 0, 1 << 32, 0), NOTIFY),
    ("sendto", (3, 1, 1, 0, 4096, 16), NOTIFY),
    ("sendmsg", (3, 4096, 0), NOTIFY),
    ("sendmmsg", (3, 4096, 1, 0), NOTIFY),
    ("prlimit64", (0, 7, 1), ALLOW),
    ("prlimit64", (5, 7, 0), ALLOW),
    ("prlimit64", (5, 7, 1), FAIL | errno.EPERM),
    ("prlimit64", (5, 7, 1 << 32), FAIL | errno.EPERM),
    ("keyctl", (), FAIL | errno.EPERM),
    ("io_uring_setup", (), FAIL | errno.ENOSYS),
]


@machines
@pytest.mark.requirement("sandbox:filter")
def test_each_call_is_decided_by_its_arguments(machine: Machine) -> None:
    code = program(machine, "on", live=True)
    with every_row() as row:
        for name, arguments, action in DECIDED:
            with row(f"{name}{arguments}"):
                assert decide(code, machine.calls[name], *arguments, audit=machine.audit) == action


@machines
@pytest.mark.requirement("sandbox:filter")
def test_calls_that_are_not_looked_at_pass_after_few_steps(machine: Machine) -> None:
    code, named = program(machine, "on", live=True), set(machine.calls.values())
    for number in set(range(BEYOND)) - named:
        assert decide(code, number, audit=machine.audit, steps=30) == ALLOW


@machines
@pytest.mark.requirement("sandbox:filter")
def test_other_call_tables_and_later_calls_do_not_exist(machine: Machine) -> None:
    code, missing = program(machine, "on", live=True), FAIL | errno.ENOSYS
    for audit in (0x40000003, 0x40000028, 0):
        assert decide(code, 1, audit=audit) == missing
    for number in (BEYOND, BEYOND + 1, 512, 0x40000000, 0x40000101, 0xFFFFFFFF):
        assert decide(code, number, audit=machine.audit) == missing
    assert decide(code, BEYOND - 1, audit=machine.audit) == ALLOW


@machines
@pytest.mark.requirement("sandbox:filter")
def test_the_network_waits_for_a_yes_when_it_is_off(machine: Machine) -> None:
    code = program(machine, "off", live=True)
    for family in (2, 10):
        assert decide(code, machine.calls["socket"], family, 1, audit=machine.audit) == NOTIFY


@pytest.mark.requirement("sandbox:filter")
def test_no_number_stands_for_two_calls() -> None:
    for machine in MACHINES.values():
        assert len(set(machine.calls.values())) == len(machine.calls)
