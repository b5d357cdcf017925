"""The output of a command: kept within bounds for the result, passed on in batches while it runs."""

import asyncio
import codecs
from collections.abc import Callable

from sam_tui.core.ports.processes.terminals import SessionOutput
from sam_tui.core.text.tail import Tail

KEPT_CHARACTERS = 1_000_000


class OutputHistory:
    """A ring of decoded output. An index counts characters since the session began."""

    def __init__(self, limit: int = KEPT_CHARACTERS) -> None:
        self._tail = Tail(limit)
        self._decoder = _decoder()

    @property
    def end(self) -> int:
        """The index after the last character."""
        return self._tail.end

    def add(self, data: bytes, *, final: bool = False) -> str:
        """Decode bytes; a sequence cut at their end waits for its rest. Returns the decoded text."""
        text = self._decoder.decode(data, final)
        self._tail.add(text)
        return text

    def append(self, text: str) -> None:
        """Take in text that is decoded already."""
        self._tail.add(text)

    def since(self, start: int, end: int | None = None) -> SessionOutput:
        """Return the kept output between two indexes; a negative start counts as 0."""
        return SessionOutput(*self._tail.since(start, end))


HEAD_BYTES = 512 * 1024
TAIL_BYTES = 512 * 1024
LIVE_BYTES = 64 * 1024
LIVE_INTERVAL = 1 / 30
FLOOD_BYTES = 1024 * 1024
"""After so many bytes, only 4 KiB a second are passed on: people no longer read every line."""
FLOOD_BATCH = 4 * 1024
FLOOD_INTERVAL = 1.0


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")(errors="replace")


def _whole(data: bytes | bytearray) -> bytes:
    """Return the bytes without the rest of a cut UTF-8 sequence at their start."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return bytes(data[start:])


class BoundedOutput:
    """The first and the last bytes of a stream; those between are counted and dropped."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._room = head
        self._tail_limit = tail
        self._total = 0

    def add(self, data: bytes) -> None:
        """Add a piece of output."""
        self._total += len(data)
        if self._room:
            head = data[: self._room]
            self._head += head
            self._room -= len(head)
            data = data[len(head) :]
        if data:
            self._tail += data
            if len(self._tail) > 2 * self._tail_limit:
                del self._tail[: -self._tail_limit]

    def text(self) -> tuple[str, int]:
        """All of it decoded, and how many bytes were left out of its middle.

        Bytes that are not UTF-8 become U+FFFD; where bytes are missing a line says how many.
        """
        tail = self._tail[-self._tail_limit :]
        if len(self._head) + len(tail) == self._total:
            return (self._head + tail).decode(errors="replace"), 0
        before = _decoder().decode(bytes(self._head))
        after = _whole(tail)
        dropped = self._total - len(self._head) - len(after)
        return (
            f"{before}\n[… {dropped} bytes left out …]\n{after.decode(errors='replace')}",
            dropped,
        )


class LiveText:
    """Output on its way to people: the first piece at once, then at most 30 batches a second.

    A batch is bounded: of more than 64 KiB in one interval only the newest half is passed on, and
    of a flood much less.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._hear = on_text
        self._decoder = _decoder()
        self._waiting = bytearray()
        self._skipped = 0
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0
        self._passed = 0

    def add(self, data: bytes) -> None:
        """Add output and schedule its delivery; a flood is shortened."""
        self._waiting += data
        most = LIVE_BYTES if self._passed < FLOOD_BYTES else FLOOD_BATCH
        if len(self._waiting) > most:
            surplus = len(self._waiting) - most // 2
            self._skipped += surplus
            del self._waiting[:surplus]
        if self._timer is None:
            self._timer = self._loop.call_at(max(self._next, self._loop.time()), self._flush)

    def close(self) -> None:
        """Pass on the waiting output; later output is dropped."""
        if self._timer is not None:
            self._timer.cancel()
            self._flush(final=True)

    def _flush(self, *, final: bool = False) -> None:
        self._timer = None
        self._passed += len(self._waiting)
        flood = self._passed >= FLOOD_BYTES
        self._next = self._loop.time() + (FLOOD_INTERVAL if flood else LIVE_INTERVAL)
        data, note = bytes(self._waiting), ""
        self._waiting.clear()
        if self._skipped:
            self._decoder.reset()
            data = _whole(data)
            note = f"\n[… {self._skipped} bytes not shown …]\n"
            self._skipped = 0
        text = note + self._decoder.decode(data, final)
        if text:
            self._hear(text)
