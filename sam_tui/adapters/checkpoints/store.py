"""The ``CheckpointStore`` of one workspace: all work is done on one thread of its own."""

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from sam_tui.adapters.checkpoints.git import GitFailed, GitStore, drop_abandoned, git_program
from sam_tui.adapters.checkpoints.restoration import (
    Difference,
    Restoration,
    changed_paths,
    differences,
    files_of_tree,
    line_difference,
)
from sam_tui.adapters.checkpoints.timeline import Moment, Timeline, intervals
from sam_tui.adapters.checkpoints.workspace_files import SizeLimits, WorkspaceFiles
from sam_tui.core.clock import expiry_seconds
from sam_tui.core.errors import CheckpointError
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.ports.checkpoints import (
    REWIND,
    ChangedFile,
    ChangingCall,
    Checkpoint,
    DroppedCheckpoints,
    FileFate,
    RewindPlan,
)
from sam_tui.core.ports.code import EditableFiles
from sam_tui.core.ports.files import FilesByPath
from sam_tui.core.text.plain import printable

FOLDER = "checkpoints"
"""The folder in the data folder that has a folder for each workspace."""
_PRUNE_EVERY = 3600.0
"""Seconds between two checks of age and size."""
_INEXACT = 120.0
"""The most seconds that a clock may lose or gain between two of its readings."""
_MOST_DIFFERENCES = 200
"""The most files of a plan whose lines are compared."""
T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """The limits of age and size. ``most_bytes`` is for all objects of one workspace."""

    days: int = 14
    most_bytes: int = 1_000_000_000
    sizes: SizeLimits = field(default_factory=SizeLimits)

    @classmethod
    def of(
        cls, days: int | None, megabytes: int | None, file_megabytes: int | None
    ) -> "CheckpointLimits":
        """The limits with the given settings; None keeps a default."""
        limits = cls()
        file = limits.sizes.file if file_megabytes is None else file_megabytes * 1_000_000
        return cls(
            days or limits.days,
            limits.most_bytes if megabytes is None else megabytes * 1_000_000,
            replace(limits.sizes, file=file),
        )


class GitCheckpoints:
    """The ``CheckpointStore``. The first snapshot makes its folder."""

    def __init__(
        self,
        data_dir: str,
        workspace: str,
        files: EditableFiles,
        *,
        search_path: str,
        limits: CheckpointLimits | None = None,
    ) -> None:
        self._data = os.path.realpath(os.path.expanduser(data_dir))
        self._workspace = workspace
        self._files = files
        self._search_path = search_path
        self._limits = limits or CheckpointLimits()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
        self.close = self._thread.shutdown
        """Finishes the work that was begun."""
        self._made: tuple[GitStore, WorkspaceFiles, Timeline] | None = None

    # ---- the port

    async def before(self, call: ChangingCall) -> int:
        """Store the present files before ``call``; return the id for ``after``."""
        return await self._work(partial(self._before, call))

    def after(self, checkpoint: int) -> None:
        """The call ended: make another snapshot, in the background."""
        self._thread.submit(self._after, checkpoint)

    async def checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints before calls that changed files, oldest first."""
        return await self._work(self._list)

    async def plan(self, checkpoint: int, conversations: Collection[ConversationId]) -> RewindPlan:
        """The changes of a restore; calls of ``conversations`` are the conversation's own."""
        return await self._work(partial(self._plan, checkpoint, conversations))

    async def restore(
        self, plan: RewindPlan, paths: Collection[str], *, hunk: int | None = None
    ) -> int:
        """Restore these paths of a plan. Returns the id of the checkpoint made before."""
        return await self._work(partial(self._restore, plan, paths, hunk))

    async def span(
        self, calls: Collection[CallId], conversations: Collection[ConversationId]
    ) -> tuple[FilesByPath, FilesByPath]:
        """All files before these calls and conversations changed some, and after; twice those of now where
        none did."""
        return await self._work(partial(self._span, calls, conversations))

    async def prune(self, *, everything: bool = False) -> DroppedCheckpoints:
        """Drop checkpoints that are too old or too large, or all, and those of folders that are gone."""
        return await self._work(partial(self._prune_now, everything=everything))

    # ---- on the thread

    async def _work(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.wrap_future(self._thread.submit(work))
        except OSError as error:
            where = f"{self._data}/{FOLDER}"
            raise CheckpointError(
                f"{where} cannot be used: {error.strerror}.",
                hint="Checkpoints need a writable folder, even for reading: make "
                f"{self._data} writable for you, or copy it and name the copy with "
                "--data-dir.",
            ) from error

    def _parts(self) -> tuple[GitStore, WorkspaceFiles, Timeline]:
        if self._made is None:
            program = git_program(self._search_path, (self._workspace,))
            if program is None:
                raise CheckpointError(
                    "git is not on the search path: no checkpoints are made, and /rewind restores"
                    " no files.",
                    hint="Install git; /undo still reverts single edits.",
                )
            name = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:24]
            store = GitStore(program, Path(self._data, FOLDER, name), self._workspace)
            files = WorkspaceFiles(
                store, self._files, self._workspace, self._limits.sizes, data=self._data
            )
            self._made = store, files, Timeline(store)
        return self._made

    def _before(self, call: ChangingCall) -> int:
        store, files, timeline = self._parts()
        with store.locked():
            try:
                return timeline.add(call, files.snapshot(), time.time()).number
            except (GitFailed, OSError):
                # On a full disk the objects of a failed snapshot would leave no room for anything else.
                with suppress(CheckpointError, OSError):
                    timeline.prune()
                raise

    def _after(self, number: int) -> None:
        try:
            store, files, timeline = self._parts()
            with store.locked():
                start, snapshot = timeline.moment(number), files.snapshot()
                if snapshot.tree == start.checkpoint.tree:
                    timeline.remove((number,))
                else:
                    timeline.add(start.checkpoint.made_by, snapshot, time.time(), of=number)
                self._prune_if_due(store, timeline)
        except (CheckpointError, OSError) as error:
            # The snapshot before the call is valid; later changes count as the call's own.
            logger.warning("No snapshot after a call: %s", error)

    def _list(self) -> list[Checkpoint]:
        store, _, timeline = self._parts()
        with store.locked():
            return [m.checkpoint for m in timeline.moments() if m.of is None]

    def _span(
        self, calls: Collection[CallId], conversations: Collection[ConversationId]
    ) -> tuple[FilesByPath, FilesByPath]:
        store, files, timeline = self._parts()
        with store.locked():
            trees = [
                moment.checkpoint.tree
                for moment in timeline.moments()
                if (made_by := moment.checkpoint.made_by).call in calls
                or made_by.conversation in conversations
            ] or [files.snapshot(anew=True).tree]
            return files_of_tree(store, trees[0]), files_of_tree(store, trees[-1])

    def _plan(self, number: int, conversations: Collection[ConversationId]) -> RewindPlan:
        store, files, timeline = self._parts()
        with store.locked():
            moments = timeline.moments(timeline.moment(number).number)
            snapshot = files.snapshot(anew=True)
            then = moments[0].checkpoint
            by_calls, foreign = _authors(store, moments, snapshot.tree, conversations)
            changed = {
                path: difference
                for path, difference in differences(store, snapshot.tree, then.tree).items()
                if difference[1] or not _omits(then, path)
            }
            changes = tuple(
                ChangedFile(
                    path,
                    _fate(changed[path]),
                    path in foreign,
                    line_difference(store, path, *changed[path]) if at < _MOST_DIFFERENCES else "",
                    _modes(changed[path]),
                )
                for at, path in enumerate(path for path in sorted(changed) if path in by_calls)
            )
            return RewindPlan(
                then,
                snapshot.tree,
                changes,
                len(changed) - len(changes),
                _beyond(moments, conversations),
                tuple(dict.fromkeys((*then.omitted, *snapshot.omitted))),
            )

    def _restore(self, plan: RewindPlan, paths: Collection[str], hunk: int | None) -> int:
        store, files, timeline = self._parts()
        with store.locked():
            now = files.snapshot(anew=True)
            since = differences(store, plan.now, now.tree)
            if moved := sorted(path for path in paths if path in since):
                raise CheckpointError(
                    f"{moved[0]!a} was changed while you looked; nothing was restored.",
                    hint="Look at the changes again.",
                )
            call = replace(
                plan.checkpoint.made_by,
                call=CallId(mint("rewind")),
                operation=REWIND,
                summary=f"back to checkpoint {plan.checkpoint.id}",
                beyond=(),
            )
            start = timeline.add(call, now, time.time())
            try:
                changed = differences(store, now.tree, plan.checkpoint.tree)
                offered = {change.path for change in plan.changes}
                chosen = {
                    path: changed[path] for path in sorted(offered & changed.keys() & set(paths))
                }
                modes = timeline.moment(plan.checkpoint.id).modes
                restoration = Restoration(store, self._files, self._workspace, modes)
                if hunk is None:
                    restoration.run(chosen)
                else:
                    restoration.run_part(chosen, hunk)
            finally:
                timeline.add(call, files.snapshot(), time.time(), of=start.number)
            return start.number

    # ---- age and size

    def _prune_if_due(self, store: GitStore, timeline: Timeline) -> None:
        """Once an hour that the machine runs, first when the store is an hour old; by age only after an
        hour in which its clock stood still.

        A clock that was put ahead would make everything too old: then, and after each start of the
        machine, the time is noted, and the next look decides.
        """
        running = expiry_seconds()
        start, before, last = time.time() - running, 0.0, -1.0
        note = store.folder / "pruned"
        new = not note.exists()  # nothing in it is old, and git would look in vain
        with suppress(FileNotFoundError, ValueError):
            before, last = map(float, note.read_bytes().split())
        if not 0 <= running - last < _PRUNE_EVERY or last < 0:
            stood = 0 <= last <= running and abs(start - before) < _INEXACT
            if not new:
                self._prune(store, timeline, aged=stood)
            store.replace(note.name, f"{start} {running}".encode())

    def _prune_now(self, *, everything: bool) -> DroppedCheckpoints:
        store, _, timeline = self._parts()
        with store.locked():
            dropped = self._prune(store, timeline, everything=everything)
        folders = drop_abandoned(store.folder.parent, lambda folder, _: not os.path.lexists(folder))
        return DroppedCheckpoints(dropped, folders)

    def _shrunk(self, store: GitStore, timeline: Timeline, left: list[Moment]) -> list[Moment]:
        """Drop the oldest quarter until the rest has room, but never all; return the dropped ones."""
        dropped: list[Moment] = []
        while len(left) > 1 and _size(store.folder) > self._limits.most_bytes:
            quarter = (len(left) + 3) // 4
            oldest_part, left = left[:quarter], left[quarter:]
            timeline.remove([m.number for m in oldest_part])
            dropped += oldest_part
            timeline.prune()
        return dropped

    def _prune(
        self, store: GitStore, timeline: Timeline, *, everything: bool = False, aged: bool = True
    ) -> int:
        oldest = time.time() - self._limits.days * 86_400 if aged else 0.0
        moments = timeline.moments()
        dropped = [m for m in moments if everything or m.checkpoint.at < oldest]
        timeline.remove([m.number for m in dropped])
        timeline.prune()
        dropped += self._shrunk(store, timeline, [m for m in moments if m not in dropped])
        # A disk may be away for a while: only stores that are too old anyway go automatically.
        drop_abandoned(
            store.folder.parent,
            lambda folder, used: used < oldest and not os.path.lexists(folder),
        )
        return sum(m.of is None for m in dropped)


def _authors(
    store: GitStore, moments: Sequence[Moment], now: str, conversations: Collection[ConversationId]
) -> tuple[set[str], set[str]]:
    """The files that calls of the conversations changed since, and those that others changed."""
    by_calls: set[str] = set()
    foreign: set[str] = set()
    pieces = intervals(moments, now, conversations)
    changed = changed_paths(store, [(piece.begin, piece.end) for piece in pieces])
    for interval, paths in zip(pieces, changed, strict=True):
        if interval.by_calls:
            by_calls |= paths
        if interval.foreign:
            foreign |= paths
    return by_calls, foreign


def _omits(then: Checkpoint, path: str) -> bool:
    """Whether a file may have existed outside of the snapshot, so that a restore must not delete it."""
    names = [words.rpartition(": ")[0] for words in then.omitted]
    name = printable(path)
    return any(name == n or (n.endswith("/") and name.startswith(n)) for n in names)


def _fate(difference: Difference) -> FileFate:
    now, then = difference
    if then is None:
        return "deleted"
    return "created" if now is None else "restored"


def _modes(difference: Difference) -> str:
    now, then = difference
    if now is None or then is None or now.mode == then.mode:
        return ""
    return f"{now.mode} → {then.mode}"


def _size(folder: Path) -> int:
    total = 0
    for above, _, names in os.walk(folder / "objects"):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(above, name)).st_size
    return total


def _beyond(
    moments: Sequence[Moment], conversations: Collection[ConversationId]
) -> tuple[str, ...]:
    """The effects of the conversations' calls that no file shows, each once."""
    makers = (moment.checkpoint.made_by for moment in moments if moment.of is None)
    words = (maker.beyond for maker in makers if maker.conversation in conversations)
    return tuple(dict.fromkeys(chain.from_iterable(words)))
