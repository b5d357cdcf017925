"""Conversations: stored, each change committed on return, and as files for people and programs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, Protocol

from sam_tui.core.display import Display
from sam_tui.core.errors import ConversationTakenOver, UsageError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import Message
from sam_tui.core.ports.memory import ArchivedChunk
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import Usage


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """An entry of a list of conversations. Times in seconds since the epoch."""

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
    """A conversation with matching messages.

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

    ``decision`` is the decision on it in words, empty if it was not shown."""

    call: CallId
    seconds: float
    displays: tuple[Display, ...] = ()
    decision: str = ""
    allowed: bool = True


@dataclass(frozen=True, slots=True)
class StoredNotice:
    """A message of the program to the person in a conversation; the model does not read it.

    ``above`` counts the messages that came before it. ``at`` is in seconds since the epoch; ``level`` is
    ``info``, ``warning`` or ``error``.
    """

    above: int
    at: float
    level: str
    text: str


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
    """Conversations on disk, each change committed on return; raises ``errors.StorageError``."""

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
        """Return the last prompts in this workspace (None: anywhere), oldest first; none of subagents."""
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
        """Add messages at the end, and a call's displays, all or none."""
        ...

    def call_displays(self, conversation: ConversationId) -> Mapping[CallId, CallDisplay]:
        """The displays of the conversation's calls; unreadable ones are left out."""
        ...

    def messages(self, conversation: ConversationId) -> list[Message]:
        """Return the model's view of the history: an opening replaces dropped messages."""
        ...

    def moments(self, conversation: ConversationId) -> list[float]:
        """Return when each of ``messages`` was stored, in seconds since the epoch."""
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
        """Replace the first ``dropped`` of ``messages`` by ``opening``; nothing is deleted.

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
        """Give up the lease, so that other programs can write to the conversation."""
        ...

    def writer(self, conversation: ConversationId) -> Writer | None:
        """The other program that writes to the conversation now, or None."""
        ...

    def lost(self, conversation: ConversationId) -> ConversationTakenOver | None:
        """The process that took over a conversation claimed here; None if none did."""
        ...

    def user_prompts(self, conversation: ConversationId) -> Sequence[UserPrompt]:
        """Return the person's prompts in a conversation, oldest first, compacted or not."""
        ...

    def fork(
        self, conversation: ConversationId, copy: ConversationId, *, at: int | None = None
    ) -> None:
        """Make ``copy`` a new conversation with the same history, todos, pins, choices, results, and
        archive.

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
        """List the conversation before the others, or no longer."""
        ...

    def archive(self, conversation: ConversationId, archived: bool) -> None:
        """Leave the conversation out of lists, or no longer; a new message also brings it back."""
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


class NoticeStore(Protocol):
    """The notices that the person got in each conversation. Raises ``errors.StorageError``."""

    def add(self, conversation: ConversationId, level: str, text: str) -> None:
        """Store a notice behind the messages that are stored now."""
        ...

    def load(self, conversation: ConversationId) -> Sequence[StoredNotice]:
        """The newest notices, oldest first."""
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


ExportForm = Literal["markdown", "json", "html"]
_FORMS: Mapping[str, ExportForm] = {
    "": "markdown", ".md": "markdown", ".markdown": "markdown",
    ".json": "json", ".html": "html", ".htm": "html",
}  # fmt: skip


def export_form(path: str, *, hint: str = "") -> ExportForm:
    """The format that a file's extension names; Markdown without one. Raises ``UsageError``."""
    extension = PurePath(path).suffix
    form = _FORMS.get(extension.lower())
    if form is None:
        raise UsageError(
            f"{path} was not written: the extension {extension} names no format.",
            hint=f"Use .md, .json or .html{hint}.",
        )
    return form


@dataclass(frozen=True, slots=True)
class DatedMessage:
    """A message, and when it was stored in seconds since the epoch."""

    at: float
    message: Message


@dataclass(frozen=True, slots=True)
class ConversationDocument:
    """A whole conversation. ``source`` names the program that wrote the file it was read from.

    Files are written with its notices and read without them.

    ``skipped`` counts the unreadable parts of the file.
    """

    title: str
    workspace: str
    entries: Sequence[DatedMessage]
    displays: Mapping[CallId, CallDisplay] = field(default_factory=dict[CallId, CallDisplay])
    notices: Sequence[StoredNotice] = ()
    source: str = ""
    skipped: int = 0


class ConversationFiles(Protocol):
    """Writes and reads files of conversations."""

    def write(self, document: ConversationDocument, form: ExportForm) -> str:
        """A conversation as one text, secrets masked."""
        ...

    def read(self, data: bytes) -> ConversationDocument:
        """The conversation in a file that this program, Claude Code or Codex wrote.

        Its text is somebody else's: calls have new ids, secrets are masked, look-alikes of reminders
        broken, reminders, provider data and decisions left out. Raises ``UsageError``.
        """
        ...
