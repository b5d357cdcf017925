"""Lines over two descriptors that belong to nothing else: how protocols on standard streams are carried.

Reading and writing are done by daemon threads, because both may block for ever on descriptors that
other processes share, and the program must be able to end all the same.
"""

import asyncio
import concurrent.futures
import os
import queue
import threading
from collections.abc import Callable
from typing import Final

LONGEST: Final = 64 * 1024 * 1024
"""The most bytes of a line; of a longer one, one byte more is passed on to show that it is too long."""
_CHUNK = 1 << 16
_AHEAD = 32
_Job = tuple[bytes, "asyncio.Future[None]"]


class LinePipes:
    """Whole lines in both directions. Make it on the loop that uses it; ``name`` is the threads'."""

    def __init__(self, source: int, sink: int, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        _thread(f"{name}-reads", lambda: _read(source, self._lines, self._loop))
        _thread(f"{name}-writes", lambda: _write(sink, self._jobs, self._loop))

    async def read(self) -> bytes | None:
        """The next line without its end; None from when the other side is gone."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line

    async def write(self, line: bytes) -> None:
        """Write a line and its end. Raises ``OSError`` if the reader is gone."""
        written = self._loop.create_future()
        self._jobs.put((line + b"\n", written))
        await written


def _thread(name: str, work: Callable[[], None]) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()


def _read(
    source: int, lines: "asyncio.Queue[bytes | None]", loop: asyncio.AbstractEventLoop
) -> None:
    """Hand over line by line; at most a few ahead of the reader."""

    def hand_over(line: bytes | None) -> bool:
        putting = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        except (RuntimeError, concurrent.futures.CancelledError):
            putting.close()  # the loop has ended
            return False
        return True

    buffer = bytearray()
    while True:
        try:
            chunk = os.read(source, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            break
        buffer += chunk
        if b"\n" not in chunk:
            # Of a line that is too long only so much is kept that it is seen to be.
            del buffer[LONGEST + 1 :]
            continue
        *whole, partial = buffer.split(b"\n")
        buffer = partial
        if not all(hand_over(bytes(line)) for line in whole):
            return
    if buffer.strip() and not hand_over(bytes(buffer)):
        return
    hand_over(None)


def _write(sink: int, jobs: "queue.SimpleQueue[_Job]", loop: asyncio.AbstractEventLoop) -> None:
    """Write whole messages, one after the other."""
    while True:
        data, written = jobs.get()
        fault: OSError | None = None
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(sink, view) :]
        except OSError as error:
            fault = error
        try:
            loop.call_soon_threadsafe(_settle, written, fault)
        except RuntimeError:
            return  # the loop has ended


def _settle(written: "asyncio.Future[None]", fault: OSError | None) -> None:
    if written.done():
        return
    if fault is None:
        written.set_result(None)
    else:
        written.set_exception(fault)
