"""Reading a terminal on a thread while its program prints without a pause.

The kernel hands out 4 KiB at most and its writer waits while nobody reads, so a loop that also feeds
and draws keeps it waiting. Reading and feeding both run outside the interpreter's lock.
"""

import asyncio
import contextvars
import ctypes
import errno
import math
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

_GATHERING_SECONDS = 0.004
"""Seconds during which further pieces are joined; the first piece is passed on at once."""
_GATHERED_BYTES = 256 * 1024
"""Joined bytes that are passed on before that time is over."""
_FLOOD = 32 * 1024
"""Output of at least so many bytes in that time is a flood."""


class Gathering:
    """Passes on output in pieces: the first after a pause at once, those close behind it together.

    ``flooded`` is called when so much comes within a moment that a thread should read.
    """

    def __init__(self, deliver: Callable[[bytes], None], flooded: Callable[[], None]) -> None:
        self._deliver = deliver
        self._flooded = flooded
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Add a piece."""
        if self._timer is None:
            self._timer = self._loop.call_later(_GATHERING_SECONDS, self._due)
            self._deliver(data)
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= _GATHERED_BYTES:
            self._pass_on()

    def finish(self) -> None:
        """Pass on the rest: no more will come."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pass_on()

    def _due(self) -> None:
        self._timer = None
        if self._size >= _FLOOD:
            self._flooded()
        elif self._pieces:
            self._timer = self._loop.call_later(_GATHERING_SECONDS, self._due)
            self._pass_on()

    def _pass_on(self) -> None:
        if self._pieces:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._deliver(data)


_UNBUFFERED = 2
"""``_IONBF`` of stdio.h."""
_LATER = (errno.EAGAIN, errno.EINTR)


class Unlocked:
    """Reads a descriptor that does not block, ``most`` bytes at once; the descriptor stays the caller's."""

    def __init__(self, descriptor: int, most: int) -> None:
        self._library = _library()
        self._most = most
        self._buffer = ctypes.create_string_buffer(most)
        copy = os.dup(descriptor)
        self._stream = self._library.fdopen(copy, b"rb")
        if not self._stream:
            os.close(copy)
            raise OSError(ctypes.get_errno(), "no stream for a terminal")
        self._library.setvbuf(self._stream, None, _UNBUFFERED, 0)

    def read(self) -> tuple[bytes, bool]:
        """The available bytes, and whether the end is reached."""
        size = self._library.fread(self._buffer, 1, self._most, self._stream)
        data = ctypes.string_at(self._buffer, size)
        if size == self._most:
            return data, False
        # Read before the next call may change it; at an end there is none.
        failed = ctypes.get_errno()
        ended = bool(self._library.feof(self._stream)) or failed not in _LATER
        self._library.clearerr(self._stream)
        return data, ended

    def close(self) -> None:
        """Read no more; safe to call again."""
        stream, self._stream = self._stream, None
        if stream:
            self._library.fclose(stream)


@cache
def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.fdopen.argtypes, library.fdopen.restype = (ctypes.c_int, ctypes.c_char_p), pointer
    library.setvbuf.argtypes = (pointer, pointer, ctypes.c_int, size)
    library.fread.argtypes, library.fread.restype = (pointer, size, size, pointer), size
    for name in ("feof", "clearerr", "fclose"):
        getattr(library, name).argtypes = (pointer,)
    return library


_READ = 64 * 1024
_BATCH = 32 * 1024
"""The number of bytes at which the event loop is woken."""
_MOST = 256 * 1024
"""The most bytes that wait for the event loop; then reading stops, and the program waits."""
_MOMENT = 4
"""Milliseconds without output after which an incomplete batch is passed on."""
_LULL = 50
"""Milliseconds without output that end a flood."""
_WINDOW, _LEAST = 0.25, 256 * 1024
"""A flood also ends when fewer bytes than this came in so many seconds."""


class Flood:
    """Reads ``descriptor`` until little is left, and calls ``deliver`` with all of it, on the loop.

    ``over`` is called once on the loop when it ended without ``finish``: True after the last output ever.
    """

    def __init__(
        self, descriptor: int, deliver: Callable[[bytes], None], over: Callable[[bool], None]
    ) -> None:
        self._descriptor = descriptor
        self._source = Unlocked(descriptor, _READ)
        self._deliver = deliver
        self._over = over
        self._loop = asyncio.get_running_loop()
        # A thread has no context variables of its own, and the callbacks may need those of their caller.
        self._context = contextvars.copy_context()
        self._pieces: deque[bytes] = deque()
        # Each is counted by one thread alone.
        self._read = self._given = 0
        self._called = self._stopped = False
        self._room = threading.Event()
        self._bell, self._ringer = os.pipe()
        self._thread = threading.Thread(target=self._run, name="terminal-flood", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Stop reading, and deliver the pieces read so far; safe to call again."""
        if not self._stopped:
            self._stopped = True
            os.write(self._ringer, b"\0")
            self._room.set()
            self._thread.join()
            self._source.close()
            os.close(self._bell)
            os.close(self._ringer)
        self._pass_on()

    # ---- on the loop

    def _take_turn(self) -> None:
        """Deliver a slice. The rest waits for the loop's next round, as a key needs several rounds."""
        self._called = False
        self._pass_on(_BATCH)
        if self._pieces and not self._called:
            self._called = True
            self._loop.call_soon(self._take_turn, context=self._context)

    def _pass_on(self, enough: float = math.inf) -> None:
        slices: list[bytes] = []
        size = 0
        while self._pieces and size < enough:
            slices.append(self._pieces.popleft())
            size += len(slices[-1])
        self._given += size
        self._room.set()
        if slices:
            self._deliver(b"".join(slices))

    def _ended(self, forever: bool) -> None:
        if not self._stopped:
            self.finish()
            self._over(forever)

    # ---- on the thread

    def _run(self) -> None:
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        waiting.register(self._bell, select.POLLIN)
        began, before = time.monotonic(), 0
        forever = False
        while not (self._stopped or forever):
            data, forever = self._source.read()
            if data:
                self._keep(data)
            if len(data) == _READ or forever:
                continue
            now = time.monotonic()
            if now - began >= _WINDOW:
                if self._read - before <= _LEAST:
                    break
                began, before = now, self._read
            if not waiting.poll(_MOMENT) and not self._lasts(waiting):
                break
        self._tell(lambda: self._ended(forever))

    def _keep(self, data: bytes) -> None:
        self._pieces.append(data)
        self._read += len(data)
        left = self._read - self._given
        if left >= _BATCH:
            self._call()
            if left >= _MOST:
                self._wait_for_room()

    def _lasts(self, waiting: "select.poll") -> bool:
        """After a moment without output: whether more comes soon."""
        self._call()
        return bool(waiting.poll(_LULL))

    def _wait_for_room(self) -> None:
        self._room.clear()
        # Looked at again, because the loop may have made room just before.
        if self._read - self._given >= _MOST and not self._stopped:
            self._room.wait()

    def _call(self) -> None:
        """Have the loop take the bytes read so far, unless it is about to."""
        if not self._called and self._pieces:
            self._called = True
            self._tell(self._take_turn)

    def _tell(self, what: Callable[[], None]) -> None:
        # If the loop is closed, nothing reads the output any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, context=self._context)
