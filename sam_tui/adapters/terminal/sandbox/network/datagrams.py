"""Unix sockets for datagrams, and the messages that calls send to an address.

A datagram can be sent to any name without a connection, and the kernel does not restrict names to those
inside. So once such a socket exists, the supervisor itself sends every message with an address, to exactly
the judged address. Before that, no address in a call can lead to another run's socket.
"""

import ctypes
import errno
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from sam_tui.adapters.terminal.sandbox.judgement.paths import signed
from sam_tui.adapters.terminal.sandbox.kernel.calls import call as system_call
from sam_tui.adapters.terminal.sandbox.kernel.calls import checked, libc, write_memory
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.network.connections import copy_of, judge_unix, on_its_own
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target, stat_fields
from sam_tui.adapters.terminal.sandbox.supervised.run import Watch

_HEADER = struct.Struct("=QI4xQQQQi4x")
"""struct msghdr on 64-bit machines; in sendmmsg's array the number of sent bytes follows each."""
_PIECE = struct.Struct("=QQ")
_CONTROL = struct.Struct("=Qii")
_WORD = 8
_LONGEST_ADDRESS = 128
_MOST_PIECES = 1024
_LONGEST = 512 * 1024
"""The most bytes that are sent: longer datagrams fit into no socket; a stream reports a partial write."""
_LONGEST_CONTROL = 16 * 1024
_MOST_SOCKETS = 50_000
_MOST_THREADS = 4096
_LEAVING_SECONDS = 10.0
_BETWEEN_LOOKS = 0.005
_STATE, _USER_TIME = 0, 11
"""Indexes in ``stat_fields``."""

Handler = Callable[[Watch, Notification], None]


@dataclass(frozen=True, slots=True)
class _Message:
    """The arguments of a send: address, content, control messages, flags, and the address of its size."""

    address: bytes
    content: bytes
    whole: bool
    control: bytes
    flags: int
    noted_at: int = 0


class _Header(ctypes.Structure):
    """struct msghdr."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("name_length", ctypes.c_uint32),
        ("pieces", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("control", ctypes.c_char_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Piece(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_char_p), ("length", ctypes.c_size_t))


class Messages:
    """The unix sockets for datagrams of all runs of a supervisor, and their messages."""

    def __init__(self) -> None:
        self.inodes: set[int] = set()
        """Inodes of all datagram sockets of the run."""
        self._looking = False
        self._left: set[int] = set()
        """Threads whose datagrams the kernel was allowed to send."""

    def handlers(self, *, socket: Handler) -> dict[str, Handler]:
        """The handlers of calls that send, by name; ``socket`` judges sockets of other families."""
        return {
            "socket": lambda watch, call: self._make(watch, call, socket),
            "socketpair": self._pair,
            "sendto": lambda watch, call: self._send(watch, call, _sent_to),
            "sendmsg": lambda watch, call: self._send(watch, call, _message),
            "sendmmsg": lambda watch, call: self._send(watch, call, _first_message),
        }

    def _make(self, watch: Watch, call: Notification, other: Handler) -> None:
        if call.arguments[0] & 0xFFFFFFFF != socket.AF_UNIX:
            other(watch, call)
            return
        kind = call.arguments[1]

        def make() -> None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, call.arguments[2]) as endpoint:
                endpoint.setblocking(not kind & socket.SOCK_NONBLOCK)
                self._remember((endpoint,))
                watch.give(call, endpoint.fileno(), kind)

        self._look_first(watch, call, make)

    def _pair(self, watch: Watch, call: Notification) -> None:
        kind, protocol, address = call.arguments[1:4]

        def make() -> None:
            with ExitStack() as stack:
                both = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM, protocol)
                for endpoint in both:
                    stack.enter_context(endpoint)
                    endpoint.setblocking(not kind & socket.SOCK_NONBLOCK)
                self._remember(both)
                numbers = [watch.add(call, endpoint.fileno(), kind) for endpoint in both]
                write_memory(call.thread, address, struct.pack("=ii", *numbers))
            watch.succeed(call)

        self._look_first(watch, call, make)

    def _remember(self, sockets: Iterable[socket.socket]) -> None:
        if len(self.inodes) >= _MOST_SOCKETS:
            self.inodes.clear()
        self.inodes.update(os.fstat(endpoint.fileno()).st_ino for endpoint in sockets)

    def _look_first(self, watch: Watch, call: Notification, make: Callable[[], None]) -> None:
        """Make sockets only once no earlier call, left to the kernel, could still send by them.

        Such a call may be running without having looked up its socket yet.
        """
        self._looking = True
        before = {thread: _user_time(thread) for thread in self._left if _runs(thread)}
        self._left.clear()
        if not before:
            watch.carry_out(call, make)
            return

        def wait() -> None:
            until = time.monotonic() + _LEAVING_SECONDS
            while any(_runs(thread) and _user_time(thread) == t for thread, t in before.items()):
                if time.monotonic() > until:
                    raise OSError(errno.ENOBUFS, "No buffer space available")
                threading.Event().wait(
                    _BETWEEN_LOOKS
                )  # the kernel does not report when they continued
            make()

        on_its_own(watch, call, wait)

    def _send(
        self, watch: Watch, call: Notification, read: Callable[[Target, Notification], _Message]
    ) -> None:
        if not self._looking:
            if len(self._left) >= _MOST_THREADS:
                self._left = {thread for thread in self._left if _runs(thread)}
            self._left.add(call.thread)
            watch.proceed(call)
            return
        target = Target(call.thread, watch.memory)
        message = read(target, call)
        rights = target.rights()

        def send(path: str) -> None:
            def sending() -> None:
                with copy_of(target, signed(call.arguments[0])) as copied, ExitStack() as stack:
                    address = message.address
                    if path:
                        handle = stack.enter_context(file_calls.exact(path))
                        address = address[:2] + f"/proc/self/fd/{handle}".encode() + b"\0"
                    control = _handed_over(target, message.control, stack)
                    with file_calls.acting_as(rights):
                        size = _sent(copied, message, address, control)
                if message.noted_at:
                    write_memory(call.thread, message.noted_at, struct.pack("=I", size))
                watch.returned(call, 1 if message.noted_at else size)

            on_its_own(watch, call, sending)

        if message.address[:2] == socket.AF_UNIX.to_bytes(2, "little"):
            judge_unix(watch, call, message.address, send)
        else:
            send("")


def _runs(thread: int) -> bool:
    """Whether a thread runs, or waits for a processor; any other has left the filter."""
    fields = stat_fields(thread)
    return fields is not None and fields[_STATE] == b"R"


def _user_time(thread: int) -> bytes:
    """A thread's user time; when it grows, the thread's call has returned."""
    fields = stat_fields(thread)
    return b"" if fields is None else fields[_USER_TIME]


def _sent_to(target: Target, call: Notification) -> _Message:
    _, address, size, flags, name, length = call.arguments
    content = target.data(address, min(size, _LONGEST))
    return _Message(_address(target, name, length), content, size <= _LONGEST, b"", flags)


def _message(target: Target, call: Notification) -> _Message:
    return _read(target, call.arguments[1], call.arguments[2])


def _first_message(target: Target, call: Notification) -> _Message:
    """The first of many messages: the caller learns that only one was sent."""
    _, address, count, flags = call.arguments[:4]
    if not count & 0xFFFFFFFF:
        raise OSError(errno.EINVAL, "Invalid argument")
    return _read(target, address, flags, noted_at=address + _HEADER.size)


def _read(target: Target, address: int, flags: int, *, noted_at: int = 0) -> _Message:
    header = _HEADER.unpack(target.data(address, _HEADER.size))
    name, length, pieces, count, control, control_length, _ = header
    if count > _MOST_PIECES:
        raise OSError(errno.EMSGSIZE, "Message too long")
    if control_length > _LONGEST_CONTROL:
        raise OSError(errno.ENOBUFS, "No buffer space available")
    content, whole = bytearray(), True
    for base, size in _PIECE.iter_unpack(target.data(pieces, count * _PIECE.size)):
        room = _LONGEST - len(content)
        whole = whole and size <= room
        content += target.data(base, min(size, room))
    ancillary = target.data(control, control_length) if control else b""
    return _Message(
        _address(target, name, length), bytes(content), whole, ancillary, flags, noted_at
    )


def _address(target: Target, address: int, length: int) -> bytes:
    length &= 0xFFFFFFFF
    if not address or not length:
        return b""
    if not 2 <= length <= _LONGEST_ADDRESS:
        raise OSError(errno.EINVAL, "Invalid argument")
    return target.data(address, length)


def _handed_over(target: Target, control: bytes, stack: ExitStack) -> bytes:
    """Control messages with copies of the caller's descriptors. Raises OSError.

    Unix sockets for datagrams stay with their run: elsewhere their messages might go unchecked.
    """
    rewritten, at = bytearray(control), 0
    while at + _CONTROL.size <= len(control):
        size, level, kind = _CONTROL.unpack_from(control, at)
        if not _CONTROL.size <= size <= len(control) - at:
            raise OSError(errno.EINVAL, "Invalid argument")
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            start = at + _CONTROL.size
            numbers = struct.unpack_from(f"={(at + size - start) // 4}i", control, start)
            struct.pack_into(
                f"={len(numbers)}i", rewritten, start, *_copies(target, numbers, stack)
            )
        at += (size + _WORD - 1) // _WORD * _WORD
    return bytes(rewritten)


def _copies(target: Target, numbers: Sequence[int], stack: ExitStack) -> list[int]:
    process = os.pidfd_open(target.process)
    stack.callback(os.close, process)
    copies: list[int] = []
    for number in numbers:
        copied = system_call("pidfd_getfd", process, number, 0)
        stack.callback(os.close, copied)
        if _takes_datagrams(copied):
            raise OSError(errno.EPERM, "Operation not permitted")
        copies.append(copied)
    return copies


def _takes_datagrams(descriptor: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(descriptor)) as duplicate:
            return duplicate.family == socket.AF_UNIX and duplicate.type == socket.SOCK_DGRAM
    except OSError:
        return False


def _sent(copied: socket.socket, message: _Message, address: bytes, control: bytes) -> int:
    """Send a message by a socket; how many bytes were sent. Raises OSError."""
    if not message.whole and copied.type != socket.SOCK_STREAM:
        raise OSError(errno.EMSGSIZE, "Message too long")
    piece = _Piece(message.content, len(message.content))
    header = _Header(
        address or None,
        len(address),
        ctypes.addressof(piece),
        1,
        control or None,
        len(control),
        0,
    )
    flags = message.flags & 0x7FFFFFFF | socket.MSG_NOSIGNAL
    return checked(libc().sendmsg(copied.fileno(), ctypes.byref(header), flags))
