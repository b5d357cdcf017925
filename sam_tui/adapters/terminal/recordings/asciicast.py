"""Recording a terminal session to asciicast v2, and playing one of v2 or v3.

Input is recorded only on request, and never while the terminal hides it.
"""

import asyncio
import codecs
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from sam_tui.core.errors import ToolError
from sam_tui.core.local_files.bounded import UnusableFile, open_regular
from sam_tui.core.redaction.key_blocks import open_at

_LONGEST_LINE = 8 * 1024 * 1024
_LARGEST_SIDE = 1000
_LONGEST_HELD = 64 * 1024
_SIZE = re.compile(r"([0-9]{1,9})x([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class CastEvent:
    """One event: ``at`` in seconds since the start, ``code`` ``o`` output, ``i`` input, ``r`` resize."""

    at: float
    code: str
    data: str


@dataclass(frozen=True, slots=True)
class CastHeader:
    """The header of a recording: size in cells, start in seconds since the epoch."""

    columns: int
    rows: int
    timestamp: int
    title: str
    intervals: bool = False
    """Whether the time of an event is relative to the one before, in seconds, as in v3."""


class Recorder:
    """Records a session while it runs. ``mask`` gets each piece of text before it is written."""

    def __init__(
        self,
        path: str,
        size: tuple[int, int],
        *,
        title: str = "",
        mask: Callable[[str], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mask = mask or _as_is
        self._clock = clock
        self._began = clock()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        try:
            # Readable by the owner alone; an existing file is not overwritten.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise ToolError(f"The recording cannot be written: {error.strerror}: {path}") from error
        self._file = os.fdopen(handle, "w", encoding="utf-8")
        columns, rows = size
        header: dict[str, object] = {
            "version": 2,
            "width": columns,
            "height": rows,
            "timestamp": int(time.time()),
            "env": {"TERM": "xterm-256color", "SHELL": os.environ.get("SHELL", "")},
        }
        if title:
            header["title"] = title
        self._line(header)

    def output(self, data: bytes) -> None:
        """Record output of the program."""
        self.text("o", self._decoder.decode(data))

    def input(self, data: bytes, *, secret: bool) -> None:
        """Record typed input; nothing of it if the terminal does not echo."""
        if not secret:
            self.text("i", data.decode(errors="replace"))

    def text(self, code: str, text: str) -> None:
        """Record text that was printed (``o``) or typed (``i``)."""
        if text:
            self._event(code, self._mask(text))

    def resized(self, columns: int, rows: int) -> None:
        """Record a new size."""
        self._event("r", f"{columns}x{rows}")

    def close(self) -> None:
        """Finish the file; safe to call again."""
        if not self._file.closed:
            self.text("o", self._decoder.decode(b"", final=True))
            self._file.close()

    def _event(self, code: str, data: str) -> None:
        if not self._file.closed:
            self._line([round(self._clock() - self._began, 6), code, data])

    def _line(self, value: object) -> None:
        self._file.write(json.dumps(value, ensure_ascii=False) + "\n")


class Recording:
    """A recording on disk. Raises ``ToolError`` at the first line that is not of this format."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.header = self._read_header()

    def events(self) -> Iterator[CastEvent]:
        """Its events in order; times never run backwards."""
        latest = 0.0
        for number, line in self._lines():
            if number == 1 or not line.strip() or line.startswith("#"):
                continue
            try:
                event = self._event(line, number)
            except ToolError:
                if line.endswith("\n"):
                    raise
                return  # the recording process was killed while it wrote this line
            latest = latest + event.at if self.header.intervals else max(latest, event.at)
            yield CastEvent(latest, event.code, event.data)

    def _read_header(self) -> CastHeader:
        first = next(iter(self._lines()), (1, ""))[1]
        header = self._json(first, 1)
        if not isinstance(header, dict):
            raise self._wrong(1)
        fields = cast("dict[str, object]", header)
        third = fields.get("version") == 3
        term = fields.get("term")
        size = cast("dict[str, object]", term if third and isinstance(term, dict) else fields)
        width, height = (
            size.get(name) for name in (("cols", "rows") if third else ("width", "height"))
        )
        if fields.get("version") not in (2, 3) or not (_is_side(width) and _is_side(height)):
            raise self._wrong(1)
        stamp = fields.get("timestamp")
        return CastHeader(
            cast("int", width),
            cast("int", height),
            stamp if isinstance(stamp, int) else 0,
            str(fields.get("title") or ""),
            intervals=third,
        )

    def _event(self, line: str, number: int) -> CastEvent:
        event = self._json(line, number)
        match event:
            case [int() | float() as at, str() as code, str() as data] if 0 <= at < float("inf"):
                return CastEvent(float(at), code, data)
            case _:
                raise self._wrong(number)

    def _json(self, line: str, number: int) -> object:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong(number) from error

    def _lines(self) -> Iterator[tuple[int, str]]:
        try:
            descriptor = open_regular(self._path)
        except UnusableFile as error:
            raise ToolError(f"The recording cannot be read: it {error}: {self._path}") from error
        try:
            with open(descriptor, encoding="utf-8", errors="replace") as file:
                number = 0
                while line := file.readline(_LONGEST_LINE):
                    number += 1
                    if len(line) == _LONGEST_LINE:
                        raise self._wrong(number)
                    yield number, line
        except OSError as error:
            raise ToolError(
                f"The recording cannot be read: {error.strerror}: {self._path}"
            ) from error

    def _wrong(self, number: int) -> ToolError:
        return ToolError(f"{self._path} is not an asciicast recording (line {number}).")


def export(recording: Recording, path: str, mask: Callable[[str], str]) -> None:
    """Write a copy whose text went through ``mask``, line by line however it was printed, and private keys
    as a whole.

    A line appears as a whole at the time of its end.
    """
    head = recording.header
    now = 0.0
    copy = Recorder(
        path, (head.columns, head.rows), title=mask(head.title), mask=mask, clock=lambda: now
    )
    waiting: dict[str, str] = {"o": "", "i": ""}
    try:
        for event in recording.events():
            now = event.at
            if event.code == "r":
                if (size := size_of(event)) is not None:
                    copy.resized(*size)
            elif event.code in waiting:
                text = waiting[event.code] + event.data
                end = text.rfind("\n" if event.code == "o" else "\r") + 1
                end = min(end, open_at(text))
                if len(text) - end > _LONGEST_HELD:
                    end = len(text)
                waiting[event.code] = text[end:]
                copy.text(event.code, text[:end])
        for code, remaining in waiting.items():
            copy.text(code, remaining)
    finally:
        copy.close()


@dataclass(frozen=True, slots=True)
class Stage:
    """The target of a playback: draws output, and follows the size."""

    feed: Callable[[bytes], None]
    resize: Callable[[int, int], None]


async def play(
    recording: Recording,
    stage: Stage,
    *,
    speed: float = 1.0,
    longest_pause: float = 2.0,
    running: asyncio.Event | None = None,
) -> None:
    """Play a recording at its pace times ``speed``; no pause is longer than ``longest_pause`` seconds.

    It pauses while ``running`` is not set. Cancelling stops it where it is.
    """
    stage.resize(recording.header.columns, recording.header.rows)
    loop = asyncio.get_running_loop()
    due, last = loop.time(), 0.0
    for event in recording.events():
        due += min((event.at - last) / speed, longest_pause)
        last = event.at
        # Always given way, so that a recording without pauses does not stop the program.
        await asyncio.sleep(max(0.0, due - loop.time()))
        if running is not None and not running.is_set():
            paused = loop.time()
            await running.wait()
            due += loop.time() - paused
        if event.code == "o":
            stage.feed(event.data.encode(errors="replace"))
        elif event.code == "r" and (size := size_of(event)) is not None:
            stage.resize(*size)


def _as_is(text: str) -> str:
    return text


def _is_side(value: object) -> bool:
    return isinstance(value, int) and 0 < value <= _LARGEST_SIDE


def size_of(event: CastEvent) -> tuple[int, int] | None:
    """The columns and rows of a resize event; None for an invalid one."""
    match = _SIZE.fullmatch(event.data)
    return None if match is None else (_side(match[1]), _side(match[2]))


def _side(digits: str) -> int:
    return max(1, min(int(digits), _LARGEST_SIDE))
