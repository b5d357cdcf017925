"""Which mini prompts the person turned on or off, by conversation."""

from collections.abc import Mapping

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.ids import ConversationId


class SqlitePromptChoices:
    """The ``PromptChoices``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def chosen(self, conversation: ConversationId) -> Mapping[str, bool]:
        """Prompt id -> on or off, for those that were chosen."""
        rows = self._database.query(
            "SELECT prompt, enabled FROM prompt_choices WHERE conversation = ? ORDER BY prompt",
            storable(conversation),
        )
        return {prompt: bool(enabled) for prompt, enabled in rows}

    def choose(self, conversation: ConversationId, prompt_id: str, enabled: bool) -> None:
        """Remember a choice."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO prompt_choices VALUES (?, ?, ?)",
                (storable(conversation), storable(prompt_id), int(enabled)),
            )
