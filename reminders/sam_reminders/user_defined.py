"""The person's own reminders, from Markdown files that say how often they speak."""

from collections.abc import Sequence

from sam_tui.core.ports.prompts import UserReminder, UserReminders
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.prompt.tally import Tally
from sam_tui.core.tooling.neutralization import neutralise

LONGEST = 16_384
"""Characters of all that are due together; what does not fit is named instead of sent."""


class UserDefinedReminder:
    """Those that are due before a user message. The files are read once per turn, at its beginning."""

    name = "user_defined"

    def __init__(self, reminders: UserReminders) -> None:
        self._reminders = reminders
        self._said: dict[str, str | None] = {}

    def content(self, view: TurnView) -> str | None:
        """What is due, in the order of the files; in a tool loop what was due at its beginning."""
        if view.new_message:
            tally = view.tally
            due = [
                reminder for reminder in self._reminders.read().reminders if _due(reminder, tally)
            ]
            self._said[view.conversation] = _text(due)
        return self._said.get(view.conversation)


def _due(reminder: UserReminder, tally: Tally) -> bool:
    """Counted in user messages before this one; a compaction begins the count anew."""
    if reminder.every == 1:
        return True
    if reminder.every == 0:
        return tally.prompts == 0 and not tally.compacted
    return tally.prompts % reminder.every == 0


def _text(due: Sequence[UserReminder]) -> str | None:
    parts: list[str] = []
    left_out: list[str] = []
    size = 0
    for reminder in due:
        size += len(reminder.text)
        if size > LONGEST:
            left_out.append(reminder.name)
            size -= len(reminder.text)
        else:
            parts.append(neutralise(reminder.text))
    if left_out:
        parts.append(f"(Too long to be sent here: {', '.join(left_out)}.)")
    return "\n\n".join(parts) or None
