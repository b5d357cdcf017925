"""Checkpoints: the files of the workspace before each change of a call, and the way back to them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.files import FilesByPath

REWIND = "rewind"
"""The operation of the checkpoint that is made before files are restored, so that this can be undone."""


@dataclass(frozen=True, slots=True)
class ChangingCall:
    """A call that may change files. ``beyond`` is what of it no checkpoint holds, in words."""

    conversation: ConversationId
    call: CallId
    operation: str
    summary: str
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files as they were before a call that changed some. ``at`` in seconds since the epoch.

    ``tree`` is the git tree, ``omitted`` what of the workspace is not in it, in words.
    """

    id: int
    at: float
    made_by: ChangingCall
    tree: str
    omitted: tuple[str, ...] = ()


FileFate = Literal["restored", "deleted", "created"]
"""The effect of a restore on a file: changed back, removed, or written again after it was deleted."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that differs from its state at a checkpoint; ``path`` is below the workspace.
    ``foreign``: not only the conversation's calls changed it since then."""

    path: str
    fate: FileFate
    foreign: bool
    difference: str = ""
    """A unified diff from the present content to the restored one; empty for binary content."""
    modes: str = ""
    """The file modes of git, now and restored, if they differ: ``100755 → 100644``."""


@dataclass(frozen=True, slots=True)
class DroppedCheckpoints:
    """The number of this workspace's dropped checkpoints, and the missing folders that lost theirs."""

    checkpoints: int
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """The changes that a restore would make to the present workspace.

    ``untouched`` counts files that only others changed: they stay. ``beyond`` are later effects of
    calls that cannot be taken back, ``omitted`` the files that no checkpoint has, both in words.
    """

    checkpoint: Checkpoint
    now: str
    """The git tree of the workspace when the plan was made."""
    changes: tuple[ChangedFile, ...]
    untouched: int = 0
    beyond: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()

    @property
    def safe(self) -> tuple[str, ...]:
        """The paths that nothing but the conversation's own calls changed."""
        return tuple(change.path for change in self.changes if not change.foreign)

    @property
    def foreign(self) -> tuple[str, ...]:
        """The paths that something else changed as well."""
        return tuple(change.path for change in self.changes if change.foreign)


class CheckpointStore(Protocol):
    """The checkpoints of one workspace, bounded by age and size. All raise ``CheckpointError``."""

    async def before(self, call: ChangingCall) -> int:
        """Store the present files before ``call``; return the id for ``after``."""
        ...

    def after(self, checkpoint: int) -> None:
        """The call ended: look at the files once more, in the background."""
        ...

    async def checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints before calls that changed files, oldest first."""
        ...

    async def plan(self, checkpoint: int, conversations: Collection[ConversationId]) -> RewindPlan:
        """The changes of a restore; calls of ``conversations`` are the conversation's own."""
        ...

    async def restore(
        self, plan: RewindPlan, paths: Collection[str], *, hunk: int | None = None
    ) -> int:
        """Restore these paths of a plan. Returns the id of the checkpoint made before, to go back to.
        Refuses what changed since the plan was made; others are restored nevertheless and then named.
        ``hunk`` restores of one path that part of its difference alone, counted from 0.
        """
        ...

    async def span(
        self, calls: Collection[CallId], conversations: Collection[ConversationId]
    ) -> tuple[FilesByPath, FilesByPath]:
        """Return all files before the first, and after the last, of these calls and of those of the
        conversations. A person's restorations in between are not among them."""
        ...

    async def prune(self, *, everything: bool = False) -> DroppedCheckpoints:
        """Drop checkpoints that are too old or too many, or all of them, and those of deleted folders."""
        ...
