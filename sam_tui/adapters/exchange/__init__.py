"""Conversations as files: Markdown, JSON and HTML out; our JSON, Claude Code's and Codex's files in."""

from collections.abc import Callable

from sam_tui.adapters.exchange.foreign import read_foreign
from sam_tui.adapters.exchange.forms import read_json, write_html, write_json, write_markdown
from sam_tui.adapters.exchange.sanitation import adopted, masked
from sam_tui.core.errors import UsageError
from sam_tui.core.ports.storage import ConversationDocument, ExportForm
from sam_tui.core.redaction.printed_passwords import without_printed_passwords

__all__ = ["LocalConversationFiles"]

_WRITERS: dict[ExportForm, Callable[[ConversationDocument], str]] = {
    "markdown": write_markdown,
    "json": write_json,
    "html": write_html,
}


class LocalConversationFiles:
    """The ``ConversationFiles``. ``redact`` masks the secrets of a text."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    def write(self, document: ConversationDocument, form: ExportForm) -> str:
        """A conversation as one text, with secrets masked, and values that look like one as well."""

        def redact(text: str) -> str:
            return without_printed_passwords(self._redact(text))

        return _WRITERS[form](masked(document, redact))

    def read(self, data: bytes) -> ConversationDocument:
        """The document in a file by this program, Claude Code or Codex. Raises ``UsageError``."""
        text = data.decode("utf-8-sig", "replace")
        document = read_json(text) or read_foreign(text)
        imported = None if document is None else adopted(document, self._redact)
        if imported is None or all(entry.message.kind == "reminder" for entry in imported.entries):
            raise UsageError(
                "This is not a conversation that can be read.",
                hint="Give it a file of “sam-tui sessions export --format json”, a session file of"
                " Claude Code (~/.claude/projects/…/….jsonl) or one of Codex"
                " (~/.codex/sessions/…/rollout-….jsonl).",
            )
        return imported
