"""Says what holds now and may change: spec/sam.md 2.3, the user context, kept out of the system prompt."""

from collections.abc import Callable, Mapping
from datetime import datetime

from sam_tui.core.ids import ConversationId
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.todos.item import one_line

_LONGEST = 200
_BRACKETS = str.maketrans("<>", "‹›")

Facts = Callable[[ConversationId], Mapping[str, str]]
"""What else is worth knowing in a conversation, by name; an empty value is left out."""


class UserContextReminder:
    """The day, and the facts of the conversation: told at its beginning, then when they changed."""

    name = "user_context"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def content(self, view: TurnView) -> str | None:
        """One line a fact between ``<userContext>`` tags; None where the model read the same before.

        What was said stays in the history, so that saying it again would only cost; a compaction
        takes it away, and it is said anew.
        """
        lines = [f"Date: {datetime.fromtimestamp(view.now):%A %Y-%m-%d}"]
        lines += [
            f"{name}: {_quiet(value)}"
            for name, value in self._facts(view.conversation).items()
            if value
        ]
        text = "\n".join(["<userContext>", *lines, "</userContext>"])
        return None if view.tally.last(self.name) == text else text


def _quiet(text: str) -> str:
    """A name that somebody else chose: one short line that can be no tag."""
    return one_line(text)[:_LONGEST].translate(_BRACKETS)
