"""Tells which commands in the background ended, until their end was read."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sam_tui.core.ids import ConversationId
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.todos.item import one_line

if TYPE_CHECKING:
    # A run in which no command runs does not load what they are.
    from sam_tui.core.ports.processes.background import BackgroundCommand

Ended = Callable[[ConversationId], "Sequence[BackgroundCommand]"]
"""The background commands of a conversation that ended and whose end the agent has not read."""

_MOST = 5
_COMMAND = 80
_BRACKETS = str.maketrans("<>", "‹›")


class BackgroundCommandsReminder:
    """What ended beside the conversation, so that nobody has to look again and again."""

    name = "background_commands"

    def __init__(self, ended: Ended) -> None:
        self._ended = ended

    def content(self, view: TurnView) -> str | None:
        """One line a command between ``<backgroundCommands>`` tags; None while there is no news."""
        ended = self._ended(view.conversation)
        if not ended:
            return None
        lines = [_line(command) for command in ended[-_MOST:]]
        if len(ended) > _MOST:
            lines.insert(0, f"{len(ended) - _MOST} more ended before these.")
        hint = "get_terminal_output with the id reads what it printed."
        return "\n".join(["<backgroundCommands>", *lines, hint, "</backgroundCommands>"])


def _line(command: "BackgroundCommand") -> str:
    words = one_line(command.command).translate(_BRACKETS)
    words = words if len(words) <= _COMMAND else words[: _COMMAND - 1] + "…"
    return f"{command.id} ({words}): {_ending(command)} after {command.seconds:.0f} s"


def _ending(command: "BackgroundCommand") -> str:
    result = command.result
    if result is None:
        return one_line(command.failure).translate(_BRACKETS) or "ended"
    if result.timed_out:
        return "timed out"
    if result.exit_code is None:
        return f"killed by {result.signal}"
    return f"exit code {result.exit_code}"
