"""Seccomp user notifications: system calls that wait for an answer (linux/seccomp.h)."""

import fcntl
import os
import struct
from typing import NamedTuple

_RECEIVE = 0xC0502100
_ANSWER = 0xC0182101
_STILL_VALID = 0x40082102
_ADD_DESCRIPTOR = 0x40182103
_SET_FLAGS = 0x40082104
_WAKE_ON_THE_SAME_PROCESSOR = 1
_AND_ANSWER = 1 << 1
_CONTINUE = 1

_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_NOTHING = bytes(_NOTIFICATION.size)
_RESPONSE = struct.Struct("=QqiI")


class Notification(NamedTuple):
    """One waiting system call: id, calling thread, number, and six arguments."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]


class NotificationListener:
    """The supervisor's end of a filter. Every method raises OSError; ENOENT means the caller died."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(descriptor, _SET_FLAGS, _WAKE_ON_THE_SAME_PROCESSOR)
        except OSError:
            pass  # before Linux 6.6 an answer takes a few microseconds longer

    def receive(self) -> Notification:
        """The next waiting call; waits for one."""
        buffer = self._buffer
        buffer[:] = _NOTHING  # the kernel takes no other
        fcntl.ioctl(self.descriptor, _RECEIVE, buffer)
        words = _NOTIFICATION.unpack(buffer)
        return Notification(words[0], words[1], words[3], words[6:])

    def proceed(self, number: int) -> None:
        """Let the kernel carry the call out itself, within what Landlock allows."""
        fcntl.ioctl(self.descriptor, _ANSWER, _RESPONSE.pack(number, 0, 0, _CONTINUE))

    def refuse(self, number: int, error: int) -> None:
        """Let the call fail with an error number."""
        fcntl.ioctl(self.descriptor, _ANSWER, _RESPONSE.pack(number, 0, -error, 0))

    def succeed(self, number: int, value: int = 0) -> None:
        """Let the call return a value: it was carried out by the supervisor."""
        fcntl.ioctl(self.descriptor, _ANSWER, _RESPONSE.pack(number, value, 0, 0))

    def give(self, number: int, descriptor: int, *, flags: int) -> None:
        """Let the call return a copy of a descriptor; ``flags`` may hold O_CLOEXEC."""
        request = struct.pack("=QIIII", number, _AND_ANSWER, descriptor, 0, flags & os.O_CLOEXEC)
        fcntl.ioctl(self.descriptor, _ADD_DESCRIPTOR, request)

    def add(self, number: int, descriptor: int, *, flags: int) -> int:
        """Give the caller a copy of a descriptor before its call returns: the number it has there."""
        request = struct.pack("=QIIII", number, 0, descriptor, 0, flags & os.O_CLOEXEC)
        added = bytearray(request)  # mutable, so that Python returns the call's result
        return fcntl.ioctl(self.descriptor, _ADD_DESCRIPTOR, added)

    def waits(self, number: int) -> bool:
        """Whether the caller still waits, so that the memory just read was its own."""
        try:
            fcntl.ioctl(self.descriptor, _STILL_VALID, struct.pack("=Q", number))
        except OSError:
            return False
        return True
