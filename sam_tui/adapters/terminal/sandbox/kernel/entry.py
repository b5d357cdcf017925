"""Entering the sandbox, in the thread or process that is about to become a command."""

import ctypes
import errno
import os
import socket
import stat
import struct

from sam_tui.adapters.terminal.sandbox.kernel import landlock
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import machine
from sam_tui.adapters.terminal.sandbox.kernel.calls import (
    call,
    drop_capabilities,
    forbid_new_privileges,
)
from sam_tui.adapters.terminal.sandbox.kernel.protocol import GO, LISTENING
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import HANDING_OVER, sealing

_FILTER = 1
_NEW_LISTENER = 1 << 3
_WAIT_KILLABLE = 1 << 5
_LONGEST = 64 * 1024
_PATIENCE = struct.pack("=qq", 20, 0)

_KEPT_CAPABILITIES = 0x1FF | 1 << 10 | 1 << 14 | 1 << 28
"""chown .. setpcap, net_bind_service, ipc_lock, lease: what root needs for its own files and users.

Not among them: admin, module, raw I/O, chroot, ptrace, boot, time, mknod, network administration and the
rest."""
_ALL_CAPABILITIES = (1 << 41) - 1


def enrolment(ruleset: int, program: bytes, *, live: bool) -> tuple[socket.socket, socket.socket]:
    """The two ends of a connection to the supervisor: the command's, with all that it needs waiting in
    it, and the supervisor's. Raises OSError."""
    theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
        socket.send_fds(ours, [bytes([live]) + program], [ruleset])
    except OSError:
        theirs.close()
        ours.close()
        raise
    return theirs, ours


def restrict(entry: int) -> None:
    """Confine the calling thread, and all it starts from now on, for good.

    ``entry`` is a Landlock ruleset, or the command's end of an enrolment, whose listener is handed to
    the supervisor before this returns. Safe right after a fork: it makes only a few system calls.
    Raises OSError if the sandbox cannot be entered; nothing may be started then.
    """
    if not stat.S_ISSOCK(os.fstat(entry).st_mode):
        landlock.restrict(entry)
        return
    with socket.socket(fileno=os.dup(entry)) as enrolling:
        message, descriptors, _, _ = socket.recv_fds(enrolling, _LONGEST, 1)
        if not message or not descriptors:
            raise OSError(errno.EPIPE, "the sandbox is gone")
        live, program = bool(message[0]), message[1:]
        landlock.restrict(descriptors[0])
        drop_capabilities(_ALL_CAPABILITIES & ~_KEPT_CAPABILITIES)
        os.close(descriptors[0])
        if live:
            _hand_over(enrolling, program)
        elif program:
            install(program, 0)


def _hand_over(enrolling: socket.socket, program: bytes) -> None:
    """Install a filter, give its listener to the supervisor, and wait until it listens."""
    listener = install_listening(program)
    try:
        handed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("=i", listener))
        enrolling.sendmsg([LISTENING], [handed], HANDING_OVER)
    finally:
        os.close(listener)
    native = machine()
    assert native is not None  # or there were no filter
    install(sealing(native), 0)
    if enrolling.recv(1) != GO:
        raise OSError(errno.EPIPE, "the supervisor is gone")


def install_listening(program: bytes) -> int:
    """Install a filter with a listener; gives the descriptor. Raises OSError (EBUSY when nested)."""
    try:
        # Once received, only a deadly signal ends the caller's wait: no call is carried out twice.
        return install(program, _NEW_LISTENER | _WAIT_KILLABLE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return install(program, _NEW_LISTENER)  # before Linux 5.19


def install(program: bytes, flags: int) -> int:
    """Install a filter in the calling thread. Raises OSError."""
    forbid_new_privileges()
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    return call("seccomp", _FILTER, flags, described)
