"""Conversations as files: written for people and programs, read from ours and other agents'."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sam_tui.core.ids import CallId
from sam_tui.core.messages import Message
from sam_tui.core.ports.storage import CallDisplay

ExportForm = Literal["markdown", "json", "html"]


@dataclass(frozen=True, slots=True)
class DatedMessage:
    """A message, and when it was stored in seconds since the epoch."""

    at: float
    message: Message


@dataclass(frozen=True, slots=True)
class ConversationDocument:
    """A whole conversation. ``source`` names the program that wrote the file it was read from.

    ``skipped`` counts what the file had that could not be read.
    """

    title: str
    workspace: str
    entries: Sequence[DatedMessage]
    displays: Mapping[CallId, CallDisplay] = field(default_factory=dict[CallId, CallDisplay])
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
