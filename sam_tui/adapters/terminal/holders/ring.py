"""The newest output of a session in memory that two processes share, so that a crash loses none."""

import mmap
import os
import struct

KEPT_BYTES = 1024 * 1024
_HEAD = struct.Struct("=Q")


class Ring:
    """The last ``KEPT_BYTES`` of a stream. One process writes at a time; another may read later."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _HEAD.size + KEPT_BYTES)

    @classmethod
    def make(cls) -> "Ring":
        """An empty one, in memory that no file system shows."""
        descriptor = os.memfd_create("terminal", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, _HEAD.size + KEPT_BYTES)
        return cls(descriptor)

    @property
    def written(self) -> int:
        """The number of bytes written in all."""
        return _HEAD.unpack_from(self._memory)[0]

    def add(self, data: bytes) -> None:
        """Write; the oldest content is dropped if there is too much."""
        total = self.written + len(data)
        data = data[-KEPT_BYTES:]
        at = (total - len(data)) % KEPT_BYTES
        first = data[: KEPT_BYTES - at]
        self._memory[_HEAD.size + at : _HEAD.size + at + len(first)] = first
        tail = data[len(first) :]
        self._memory[_HEAD.size : _HEAD.size + len(tail)] = tail
        # Last, so that a crash in between shows no byte that is not there.
        _HEAD.pack_into(self._memory, 0, total)

    def content(self) -> bytes:
        """The stored content, oldest first."""
        total = self.written
        inside = self._memory[_HEAD.size :]
        if total <= KEPT_BYTES:
            return inside[:total]
        at = total % KEPT_BYTES
        return inside[at:] + inside[:at]

    def close(self) -> None:
        """Release the memory; safe to call again."""
        if self.descriptor >= 0:
            self._memory.close()
            os.close(self.descriptor)
            self.descriptor = -1
