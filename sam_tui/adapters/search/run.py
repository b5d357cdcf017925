"""One run of ripgrep in an opened folder, and its output as hits; the run's end is awaited."""

import asyncio
import base64
import json
import os
import re
import signal
import stat
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import GrepHit

_CHUNK = 1 << 17
_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_READ = _SAFE | os.O_RDONLY
_ENTER = _SAFE | getattr(os, "O_PATH", os.O_RDONLY)
_BY_DESCRIPTOR = Path("/proc/self/fd")
_LONGEST_RECORD = 1 << 20
_HEAD = 4096
_SHOWN = 400
_BEFORE = 120
_PATH = re.compile(rb'"path":\{"(text|bytes)":("(?:[^"\\]|\\.)*")')
_BEGUN = re.compile(rb'"lines":\{"text":"((?:[^"\\]|\\.)*)')
_NUMBER = re.compile(rb'"\},"line_number":(\d+)')
_OVERLAP = 64


@dataclass(frozen=True, slots=True)
class OpenedPlace:
    """The place of a search: an open folder or regular file, which nobody can exchange any more."""

    cwd: str
    file: int | None


@contextmanager
def opened(where: Location) -> Generator[OpenedPlace, None, None]:
    """Hold the folder (or file) at a location open, entered step by step without following links."""
    try:
        descriptor = _descend(where)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield OpenedPlace("/", descriptor)
            else:
                by_descriptor = str(_BY_DESCRIPTOR / str(descriptor))
                yield OpenedPlace(by_descriptor if _BY_DESCRIPTOR.is_dir() else where.real, None)
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise _refused(where, "not found") from error
    except OSError as error:
        raise _refused(where, (error.strerror or str(error)).lower()) from error


def _descend(where: Location) -> int:
    """Return a descriptor of the folder or file. Raises OSError, and ``ToolError`` for anything else."""
    root = where.root or "/"
    parts = [part for part in where.real[len(root.rstrip("/")) :].split("/") if part]
    descriptor = os.open(root, _ENTER | os.O_DIRECTORY)
    try:
        for index, part in enumerate(parts, 1):
            last = index == len(parts)
            below = os.open(part, _ENTER | (0 if last else os.O_DIRECTORY), dir_fd=descriptor)
            mode = os.fstat(below).st_mode
            if last and stat.S_ISREG(mode):
                os.close(below)
                below = os.open(part, _READ, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
            if not stat.S_ISDIR(mode) and not (last and stat.S_ISREG(mode)):
                raise _refused(where, "is neither a folder nor a file, or changed under the check")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refused(where: Location, why: str) -> ToolError:
    name = where.display_path.encode("utf-8", "backslashreplace").decode()
    return ToolError(
        f"{name} cannot be searched: {why}.", hint="Check the path by listing the folder above it."
    )


class SearchRun:
    """A started ripgrep. ``errors`` is its error output, complete once the output has ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ended = False
        self.errors = ""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Its output, piece by piece, to the end."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        while chunk := await self._process.stdout.read(_CHUNK):
            yield chunk
        self._ended = True
        self.errors = (await self._process.stderr.read(_CHUNK)).decode("utf-8", "replace")

    async def stop(self) -> None:
        """Kill the process and close its pipes."""
        if not self._ended:
            # Not by Process.kill: that may reap the process, which the loop's watcher has to do.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        # The rest of the pipes must be read: an unread pipe keeps its transport open.
        for stream in (self._process.stdout, self._process.stderr):
            while stream is not None and await stream.read(_CHUNK):
                pass
        await self._process.wait()


@asynccontextmanager
async def running(
    binary: str, arguments: Sequence[str], opening: OpenedPlace
) -> AsyncGenerator[SearchRun, None]:
    """Start ripgrep at a place; it has ended when the block is left, also by cancellation."""
    try:
        process = await asyncio.create_subprocess_exec(
            binary,
            *arguments,
            cwd=opening.cwd,
            stdin=asyncio.subprocess.DEVNULL if opening.file is None else opening.file,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"The search could not start: {error}.") from error
    run = SearchRun(process)
    try:
        yield run
    finally:
        await run.stop()


class RipgrepRecords:
    """Turns chunks of output into hits.

    A record longer than 1 MiB (a match in a minified file) is not kept: its path, its line number
    and the begin of its line are taken as it passes by.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = b""
        self._number = b""
        self.complete = False
        """Whether ripgrep's closing summary was read, so that the search ran to its end."""

    def feed(self, chunk: bytes) -> Iterator[GrepHit]:
        """The hits in the lines that ``chunk`` completes."""
        *lines, partial = chunk.split(b"\n")
        for line in lines:
            hit = self._pass_by(line, ends=True) if self._skipping else self._read(line)
            if hit is not None:
                yield hit
        if self._skipping:
            self._pass_by(partial, ends=False)
        else:
            self._rest += partial
            if len(self._rest) > _LONGEST_RECORD:
                self._skipping, self._number = self._rest[:_HEAD], b""
                text, self._rest = self._rest, b""
                self._pass_by(text, ends=False)

    def _read(self, line: bytes) -> GrepHit | None:
        line, self._rest = self._rest + line, b""
        if not line:
            return None
        record = json.loads(line)
        if record["type"] == "summary":
            self.complete = True
        return _hit(record["data"]) if record["type"] == "match" else None

    def _pass_by(self, piece: bytes, *, ends: bool) -> GrepHit | None:
        seen = self._rest + piece
        if not self._number and (match := _NUMBER.search(seen)):
            self._number = match[1]
        self._rest = b"" if ends else seen[-_OVERLAP:]
        if not ends:
            return None
        head, self._skipping = self._skipping, b""
        path, started = _PATH.search(head), _BEGUN.search(head)
        if path is None or not self._number:
            return None
        name = _decoded({path[1].decode(): json.loads(path[2])})
        text = json.loads(b'"' + started[1] + b'"') if started else ""
        return GrepHit(name, int(self._number), text[:_SHOWN] + "…")


def _hit(data: dict[str, Any]) -> GrepHit:
    line: bytes = _raw(data["lines"]).split(b"\n", 1)[0].rstrip(b"\r")
    matches = data["submatches"]
    start = matches[0]["start"] if matches else 0
    return GrepHit(_decoded(data["path"]), data["line_number"] or 1, _clipped(line, start))


def _clipped(line: bytes, match: int) -> str:
    """At most 400 bytes of a line around its first match."""
    if len(line) <= _SHOWN:
        return line.decode("utf-8", "replace")
    begin = 0 if match + _BEFORE < _SHOWN else match - _BEFORE
    end = begin + _SHOWN
    text = line[begin:end].decode("utf-8", "replace").strip("\ufffd")
    return f"{'…' if begin else ''}{text}{'…' if end < len(line) else ''}"


def _raw(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _decoded(path: dict[str, str]) -> str:
    return _raw(path).decode("utf-8", "surrogateescape").removeprefix("./")
