"""Says which documents are in memory already: seed 004, DocumentImportReminderInjector."""

from collections.abc import Sequence

from sam_tui.core.ports.memory import DocumentStore, ImportedDocument
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.todos.item import one_line

_NAMED = 30
_BRACKETS = str.maketrans("<>", "‹›")


class DocumentsReminder:
    """The imported documents, so that none is imported twice."""

    name = "documents"

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents

    def content(self, view: TurnView) -> str | None:
        """One line for each document, newest import of each source, or None without any."""
        documents = self._documents.imported(view.conversation)
        if not documents:
            return None
        newest = _newest(documents)
        names = [one_line(document.name) for document in newest]
        lines = [
            "These documents are in memory already. Do not import them again; search their content"
            " with memory_operations search_memory.",
        ]
        lines += [
            _named(document, twice=names.count(one_line(document.name)) > 1)
            for document in newest[-_NAMED:]
        ]
        if len(newest) > _NAMED:
            lines.append(f"• and {len(newest) - _NAMED} imported before these")
        lines.append(
            'For example: memory_operations {"operation": "search_memory", "query": "<what you look'
            ' for>", "similarity_threshold": "0.2"}'
        )
        return "\n".join(lines)


def _newest(documents: Sequence[ImportedDocument]) -> list[ImportedDocument]:
    """The last import of each source (of each name where none is known), oldest first."""
    last = {document.source or document.name: document for document in documents}
    return sorted(last.values(), key=lambda document: document.imported_at)


def _named(document: ImportedDocument, *, twice: bool) -> str:
    """Two files of one name are told apart by where they came from."""
    size = f" ({document.characters} chars)" if document.characters else ""
    origin = f" from {_quiet(document.source)}" if twice and document.source else ""
    return f"• {_quiet(document.name)}{size} - ID: {_quiet(document.id)[:8]}{origin}"


def _quiet(text: str) -> str:
    """A name that somebody else chose: one short line that can be no tag."""
    line = one_line(text)
    return (line if len(line) <= 120 else line[:119] + "…").translate(_BRACKETS)
