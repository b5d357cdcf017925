"""Storage: whatever returned is committed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.display import Display
from sam_tui.core.errors import ConversationTakenOver
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import Message
from sam_tui.core.ports.files import FilesByPath
from sam_tui.core.ports.memory import ArchivedChunk
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import Usage


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """What a list of conversations shows. Times in seconds since the epoch."""

    id: ConversationId
    workspace: str
    title: str
    created_at: float
    updated_at: float
    messages: int
    usage: Usage
    pinned: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A conversation with messages that hold what was searched for.

    ``position`` and ``kind`` are of the best; ``excerpt`` has the words between characters 2 and 3.
    """

    record: ConversationRecord
    position: int
    kind: str
    excerpt: str
    count: int


@dataclass(frozen=True, slots=True)
class CallDisplay:
    """The display of a call for people; the model does not read it.

    ``decision`` says in words what was decided on it, and is empty where nobody was told.
    """

    call: CallId
    seconds: float
    displays: tuple[Display, ...] = ()
    decision: str = ""
    allowed: bool = True


@dataclass(frozen=True, slots=True)
class UserPrompt:
    """A prompt and its place in a conversation. ``at`` in seconds since the epoch."""

    position: int
    at: float
    text: str
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """The program that writes to a conversation. ``since`` is in seconds since the epoch."""

    program: str
    process: int
    since: float

    def __str__(self) -> str:
        return f"{self.program} (process {self.process})"


class ConversationStore(Protocol):
    """Conversations on disk. Whatever returned is committed; raises ``errors.StorageError``."""

    def create(
        self,
        conversation: ConversationId,
        workspace: str,
        *,
        parent: ConversationId | None = None,
    ) -> None:
        """Make a conversation; one with a parent is a subagent's and is not offered to continue."""
        ...

    def remove_unused(
        self, *, before: float, also: Collection[ConversationId] = ()
    ) -> Sequence[ConversationId]:
        """Remove conversations without a message or anything kept: those made ``before`` a time,
        in seconds since the epoch, and those of ``also``. Returns the ids that went.
        """
        ...

    def find(self, conversation: ConversationId) -> ConversationRecord | None: ...
    def latest(self, workspace: str) -> ConversationRecord | None: ...
    def recent(self, workspace: str | None, limit: int) -> Sequence[ConversationRecord]: ...
    def prompts(self, workspace: str | None, limit: int) -> Sequence[UserPrompt]:
        """What was last asked in this workspace (None: anywhere), oldest first; nothing of subagents."""
        ...

    def children(self, conversation: ConversationId) -> Sequence[ConversationRecord]:
        """The conversations of its subagents, oldest first."""
        ...

    def append(
        self,
        conversation: ConversationId,
        messages: Sequence[Message],
        display: CallDisplay | None = None,
    ) -> None:
        """Add messages at the end, and what was shown of a call, all or none."""
        ...

    def call_displays(self, conversation: ConversationId) -> Mapping[CallId, CallDisplay]:
        """The displays of the conversation's calls; unreadable ones are left out."""
        ...

    def messages(self, conversation: ConversationId) -> list[Message]:
        """The history as the model sees it: an opening stands for what was dropped."""
        ...

    def moments(self, conversation: ConversationId) -> list[float]:
        """When each of ``messages`` was stored, in seconds since the epoch."""
        ...

    def everything(self, conversation: ConversationId) -> list[Message]:
        """The whole history, as if nothing had ever been dropped."""
        ...

    def positions(self, conversation: ConversationId) -> list[int]:
        """The position of each of ``everything``."""
        ...

    def timeline(self, conversation: ConversationId) -> list[tuple[float, Message]]:
        """The whole history, each message with the seconds since the epoch when it was stored."""
        ...

    def add_whole(
        self,
        conversation: ConversationId,
        timeline: Sequence[tuple[float, Message]],
        displays: Collection[CallDisplay],
    ) -> None:
        """Put a history into an empty conversation, all or none."""
        ...

    def shorten(
        self,
        conversation: ConversationId,
        *,
        dropped: int,
        opening: Sequence[Message],
        archived: Sequence[ArchivedChunk] = (),
    ) -> None:
        """Let ``opening`` stand for the first ``dropped`` of ``messages``; nothing is deleted.

        ``archived`` enters the archive in the same step: all of it is there, or nothing.
        """
        ...

    def restore_dropped(self, conversation: ConversationId) -> bool:
        """Take the last ``shorten`` back, and its chunks out of the archive. False: there is none."""
        ...

    def pins(self, conversation: ConversationId) -> Sequence[str]:
        """The pinned texts in order; compactions keep them."""
        ...

    def keep_pins(self, conversation: ConversationId, texts: Sequence[str]) -> None:
        """Replace the pinned texts."""
        ...

    def queued(self, conversation: ConversationId) -> Sequence[str]:
        """The prompts that were typed and not sent, in order."""
        ...

    def keep_queued(self, conversation: ConversationId, prompts: Sequence[str]) -> None:
        """Keep these, and no others, as the prompts that wait."""
        ...

    def add_usage(self, conversation: ConversationId, usage: Usage) -> None: ...
    def claim(self, conversation: ConversationId, *, take_over: bool = False) -> None:
        """Be its one writer, until ``release`` or the end of the process, however that comes.

        Raises ``ConversationInUse`` while another program is, unless this one takes it over.
        """
        ...

    def release(self, conversation: ConversationId) -> None:
        """Let others write to it."""
        ...

    def writer(self, conversation: ConversationId) -> Writer | None:
        """The other program that writes to the conversation now, or None."""
        ...

    def lost(self, conversation: ConversationId) -> ConversationTakenOver | None:
        """The process that took over a conversation claimed here; None if none did."""
        ...

    def user_prompts(self, conversation: ConversationId) -> Sequence[UserPrompt]:
        """What the person asked in a conversation, oldest first, compacted or not."""
        ...

    def fork(
        self, conversation: ConversationId, copy: ConversationId, *, at: int | None = None
    ) -> None:
        """Make ``copy`` a new conversation with the same history, todos, pins, choices, results, and
        archive of what left the context.

        With ``at`` it ends at the message of that position: ahead of it where it is a prompt, else
        behind the results of its step. Raises ``UsageError`` where there is no such message.
        """
        ...


class ConversationCatalog(Protocol):
    """The stored conversations as people handle them. Raises ``errors.StorageError``."""

    def listed(
        self, workspace: str | None, limit: int, *, archived: bool = False
    ) -> Sequence[ConversationRecord]:
        """Conversations with a message or a waiting prompt, pinned ones first; of every folder if
        ``workspace`` is None."""
        ...

    def rename(self, conversation: ConversationId, title: str) -> str:
        """Give a conversation a title; returns the title as stored. Raises ``UsageError`` if it has no
        words."""
        ...

    def pin(self, conversation: ConversationId, pinned: bool) -> None:
        """Let it stand before the others, or no longer."""
        ...

    def archive(self, conversation: ConversationId, archived: bool) -> None:
        """Leave it out of lists, or no longer; a message brings it back by itself."""
        ...

    def delete(self, conversation: ConversationId) -> None:
        """Delete a conversation and everything stored with it, except its entries in the audit log.

        Raises ``ConversationInUse`` while another program has it.
        """
        ...

    def search(self, words: str, limit: int) -> Sequence[SearchMatch]:
        """The conversations in which a message has all the words, the best first."""
        ...

    def last_words(self, conversation: ConversationId, count: int) -> Sequence[Message]:
        """The newest messages with words of the person or the model, oldest first."""
        ...


class TodoStore(Protocol):
    """The todo list of each conversation."""

    def load(self, conversation: ConversationId) -> tuple[Todo, ...]: ...
    def save(self, conversation: ConversationId, items: Sequence[Todo]) -> None: ...


class ResultStore(Protocol):
    """Large tool results, whole, by call id."""

    def save(self, conversation: ConversationId, call: CallId, text: str) -> None: ...
    def load(self, conversation: ConversationId, call: CallId) -> str | None: ...
    def calls(self, conversation: ConversationId) -> Sequence[CallId]: ...


# ---- checkpoints: the files of the workspace before each change of a call, and the way back to them

REWIND = "rewind"
"""The operation of a checkpoint that was made before files were restored: the way forward again."""


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
    """One file that is not as it was at a checkpoint; ``path`` is below the workspace. ``foreign``:
    something else than the conversation's calls changed it, too, since then."""

    path: str
    fate: FileFate
    foreign: bool
    difference: str = ""
    """A unified diff from now to then; empty for what is no text."""
    modes: str = ""
    """The kinds that git knows, now and then, where they differ: ``100755 → 100644``."""


@dataclass(frozen=True, slots=True)
class DroppedCheckpoints:
    """How many of this workspace went, and the folders, by now gone, whose own did."""

    checkpoints: int
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """The changes that a restore would make to the present workspace.

    ``untouched`` counts files that only others changed: they stay. ``beyond`` is what calls did since
    that cannot be taken back, ``omitted`` what no checkpoint holds, both in words.
    """

    checkpoint: Checkpoint
    now: str
    """The git tree of the workspace as it was looked at."""
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
        """Keep the files as they are, before ``call``; the id for ``after``."""
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
        self, conversations: Collection[ConversationId]
    ) -> tuple[FilesByPath, FilesByPath]:
        """All files before the first of these conversations changed some, and after the last did."""
        ...

    async def prune(self, *, everything: bool = False) -> DroppedCheckpoints:
        """Drop checkpoints that are too old or too many, or all of them, and those of deleted folders."""
        ...
