"""Says what was stored just now, so that it is not stored again: seed 004, MemoryReminderInjector."""

from sam_tui.core.ports.memory import Memory, MemoryStore
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.shared_memory import told_origin

WINDOW = 300.0
"""Seconds for which a stored memory is told."""

_TOLD, _PREVIEW = 20, 100
_BRACKETS = str.maketrans("<>", "‹›")


class MemoriesReminder:
    """The memories of the last five minutes, of this conversation or those that share its topic."""

    name = "memories"

    def __init__(self, memories: MemoryStore) -> None:
        self._memories = memories

    def content(self, view: TurnView) -> str | None:
        """Numbered previews between ``<recentlyStoredMemories>`` tags, or None without any."""
        scope = self._memories.scope_of(view.conversation)
        stored = self._memories.recent(scope, view.now - WINDOW)
        if not stored:
            return None
        first = max(0, len(stored) - _TOLD)
        lines = ["<recentlyStoredMemories>", "Stored already, in the last minutes:"]
        if first:
            lines.append(f"(and {first} before these)")
        for number, memory in enumerate(stored[first:], start=first + 1):
            lines.append(
                f"{number}. [{memory.id[:8]}] {_preview(memory.draft.content)}{_whose(memory, view)}"
            )
        lines += [
            "Were you about to store one of these? It is done: go on with the next step.",
            "</recentlyStoredMemories>",
        ]
        return "\n".join(lines)


def _whose(memory: Memory, view: TurnView) -> str:
    words = told_origin(memory.draft.origin, view.conversation, memory.scope)
    return f" ({words})".translate(_BRACKETS) if words else ""


def _preview(text: str) -> str:
    """The model's own words, which may repeat a file's: one short line that can be no tag."""
    line = one_line(text)
    return (line if len(line) <= _PREVIEW else line[: _PREVIEW - 1] + "…").translate(_BRACKETS)
