"""Which documents a conversation imported."""

from collections.abc import Sequence

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import ImportedDocument


class SqliteDocuments:
    """The ``DocumentStore``. One row per source: an import of a changed file replaces the old one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, conversation: ConversationId, document: ImportedDocument) -> None:
        """Keep it; an earlier import from the same source (of the same name, without one) goes."""
        source = storable(document.source) or f"name:{storable(document.name)}"
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    storable(conversation),
                    source,
                    storable(document.id),
                    storable(document.name),
                    storable(document.digest),
                    document.characters,
                    document.imported_at,
                ),
            )

    def imported(self, conversation: ConversationId) -> Sequence[ImportedDocument]:
        """The documents, in the order of their last import."""
        rows = self._database.query(
            "SELECT id, name, source, digest, characters, imported_at FROM documents"
            " WHERE conversation = ? ORDER BY imported_at, rowid",
            storable(conversation),
        )
        return [
            ImportedDocument(
                id_, name, "" if source == f"name:{name}" else source, digest, characters, at
            )
            for id_, name, source, digest, characters, at in rows
        ]
