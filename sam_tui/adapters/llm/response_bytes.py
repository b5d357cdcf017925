"""The bytes of one response: read, counted, repaired, split into lines and server-sent events (HTML
standard, 9.2.6).

Many small pieces are read together a few times a second: a wake-up for each token would cost more than
everything else that is done with it.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sam_tui.core.errors import AnswerTooLarge, ModelRejected
from sam_tui.core.ports.model import AnswerLimits

if TYPE_CHECKING:
    import httpx

INTERVAL = 1 / 16
"""The least seconds from one read to the next."""
AT_ONCE = 16
"""How many reads of a response are made without a pause: all of a short answer, the start of a long one."""
LITTLE = 16 * 1024
"""If a read returns fewer bytes, the next read may be delayed."""


class ReadPace:
    """The time at which the next read of a response is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reads = 0
        self._due = 0.0

    async def wait(self) -> None:
        """Wait until the next read is due."""
        if (seconds := self._due - self._clock()) > 0:
            await asyncio.sleep(seconds)

    def note(self, size: int) -> None:
        """Note the size of a read."""
        self._reads += 1
        if self._reads >= AT_ONCE and size < LITTLE:
            self._due = self._clock() + INTERVAL


@contextmanager
def paced(response: "httpx.Response", pace: ReadPace) -> Generator[None]:
    """Read the body of a response at a pace; other kinds of connection are read without one.

    The wait is below TLS, which returns one record at a time; further bytes stay in the kernel's buffer
    meanwhile.
    """
    stream: Any = response.extensions.get("network_stream")
    stream = getattr(stream, "_stream", None)
    while (below := getattr(stream, "transport_stream", None)) is not None:
        stream = below
    if stream is None:
        yield
        return
    receive: Callable[[int], Awaitable[bytes]] = stream.receive

    async def paced_receive(max_bytes: int = 65_536) -> bytes:
        await pace.wait()
        data = await receive(max_bytes)
        pace.note(len(data))
        return data

    stream.receive = paced_receive
    try:
        yield
    finally:
        del stream.receive


class EventParser:
    """Parses bytes as they come, and returns the data of each event as bytes.

    Only whole lines are decoded, so a character cut in two does no harm. ``failed`` is set by an event
    named ``error``.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self.failed = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that this chunk completes. Cheap where chunks end with lines, as ``Intake`` has
        them."""
        text = self._rest + chunk if self._rest else chunk
        if b"\r" in text:
            split = text.endswith(b"\r")
            body = text[:-1] if split else text
            text = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + (b"\r" if split else b"")
        *lines, self._rest = text.split(b"\n")
        events: list[bytes] = []
        for line in lines:
            self._line(line, events)
        return events

    def close(self) -> list[bytes]:
        """The rest at the end of the stream: servers forget the last empty line."""
        events: list[bytes] = []
        self._line(self._rest.rstrip(b"\r"), events)
        self._line(b"", events)
        self._rest = b""
        return events

    def _line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            if len(self._data) == 1 and _whole(self._data[0]):
                # A server that leaves out the empty line between events.
                self._emit(events)
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif not line:
            if self._data:
                self._emit(events)
        elif line.startswith(b"event:"):
            self.failed = self.failed or line[6:].strip() == b"error"

    def _emit(self, events: list[bytes]) -> None:
        events.append(b"\n".join(self._data))
        self._data.clear()


def _whole(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return data == b"[DONE]"
    return True


def may_begin_events(lines: bytes) -> bool:
    """Whether these lines may be the beginning of a model's event stream that was cut off."""
    return all(map(_is_field, lines.splitlines()))


def _is_field(line: bytes) -> bool:
    if line.startswith(b"data:"):
        data = line[5:].lstrip()
        return not data or data.startswith((b"{", b"[DONE]"))
    if not line.strip() or b"data: ".startswith(line):
        return True
    return line.startswith((b":", b"event:", b"id:", b"retry:"))


BEGINNING = 300
"""The first bytes of a response that are stored, so that an error can quote one that is no answer."""
WIRE_FACTOR = 8
"""How many times the limit of an answer its response may be, because each event has an envelope."""
_BLANK = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""The line ends that end an event."""


class Intake:
    """Splits a response into lines; ``where`` names the server in errors.

    It returns whole lines only, so that the reader need not look at the beginning of a line again
    with every piece. An event is at most as long as an answer may be, because it is parsed at once.
    Bytes that are no UTF-8 become the replacement character. Without ``text``, as for a binary
    event stream, bytes are only counted.
    """

    def __init__(self, limits: AnswerLimits, where: str, *, text: bool = True) -> None:
        self._limits = limits
        self._where = where
        self._text = text
        self._pieces: list[bytes] = []
        self._size = 0
        self._event = 0
        self._last = b""

    def take(self, data: bytes) -> bytes:
        """The complete lines received so far. Raises ``AnswerTooLarge``."""
        self._size += len(data)
        most = self._limits.size * WIRE_FACTOR
        if self._size > most:
            raise AnswerTooLarge(
                f"{self._where} sent more than {most:,} bytes for one answer.",
                setting="answer_bytes",
            )
        if not self._text:
            return data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        lines = b"".join((*self._pieces, data[:end])) if end else b""
        if end:
            self._pieces.clear()
        self._pieces.append(data[end:])
        self._count_event(data)
        return _mended(lines)

    def remainder(self) -> bytes:
        """The incomplete last line of the response."""
        remainder = b"".join(self._pieces)
        self._pieces.clear()
        return _mended(remainder)

    def _count_event(self, data: bytes) -> None:
        near = self._last + data
        ends = [near.rfind(blank) + len(blank) for blank in _BLANK if blank in near]
        self._event = len(near) - max(ends) if ends else self._event + len(data)
        self._last = near[-3:]
        if self._event > self._limits.size:
            raise AnswerTooLarge(
                f"{self._where} sent a piece of more than {self._limits.size:,} bytes.",
                setting="answer_bytes",
            )


LINE_BYTES = 32
"""One line is allowed for so many bytes of the limit of an answer: each line takes its reader time."""
_COMMENT = re.compile(rb"(?<![^\n]):[^\r\n]*\r?\n")
_EMPTY = re.compile(rb"\n(?:\r?\n){2,}")


class EventLines:
    """Drops comments and repeated empty lines from an event stream, and counts the rest.

    A dropped line costs a server only a byte or two, but would cost a slow reader much more.
    """

    def __init__(self, limits: AnswerLimits, where: str) -> None:
        self._most = limits.size // LINE_BYTES
        self._where = where
        self._count = 0

    def take(self, lines: bytes) -> bytes:
        """The lines with content. Raises ``AnswerTooLarge``."""
        lines = _EMPTY.sub(b"\n\n", _COMMENT.sub(b"", lines))
        self._count += lines.count(b"\n") + lines.count(b"\r") - lines.count(b"\r\n")
        if self._count > self._most:
            raise AnswerTooLarge(
                f"{self._where} sent more than {self._most:,} lines for one answer.",
                setting="answer_bytes",
            )
        return lines


def require_plain(headers: Mapping[str, str], where: str) -> None:
    """Raises ``ModelRejected`` for a compressed answer, whose size is unknown before it is read."""
    coding = headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise ModelRejected(
            f"{where} answered with compressed data that nobody asked for ({coding[:20]}).",
            hint="Configure the server, or the proxy before it, to send event streams "
            "uncompressed.",
        )


def _mended(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data
