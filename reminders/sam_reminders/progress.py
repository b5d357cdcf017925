"""The progress of the work: the todo list, the phase of a workflow, commands in the background, calls
that repeat, and the status that is asked for in workflow mode."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sam_tui.core.board import TodoBoard
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from sam_tui.core.prompt.reminders import TurnView, quoted_line
from sam_tui.core.todos.edits import DeliveredEdits, differences
from sam_tui.core.todos.item import (
    Todo,
    completed_ids,
    todo_statistics,
    unmet_dependencies,
    with_status,
)

if TYPE_CHECKING:
    # A run without background commands does not load their module.
    from sam_tui.core.ports.processes.background import BackgroundCommand

_TITLE = 120
_MOST_ITEMS = 25
"""The most items that a line names; the tool's ``read`` shows all."""


_MOST_EDITS = 30
"""The most changes of a person that are listed; further ones are counted."""


class TodoListReminder:
    """The state of the list, the person's changes in it, and the one thing to do now.

    Without a ``board`` it knows nothing of a person's edits.
    """

    name = "todo_list"
    trigger = "the todo list changes, and again in long loops"
    repeats = True
    """It is sent again in a long turn even if nothing changed."""

    def __init__(self, board: TodoBoard | None = None) -> None:
        self._board = board

    def content(self, view: TurnView) -> str | None:
        """The list between ``<todoList>`` tags, or None when there is none."""
        items = view.todos
        edits_made = DeliveredEdits()
        if self._board is not None:
            edits_made = self._board.edits_to_tell(view.conversation, new_message=view.new_message)
        edits = _edits(edits_made)
        if not items:
            return (
                "\n".join(["<todoList>", *edits, "It is empty now.", "</todoList>"])
                if edits
                else None
            )
        counts = todo_statistics(items)
        lines = [f"Completed: {counts.completed}"] if counts.completed else []
        lines += _status_line("In Progress", with_status(items, "in-progress"))
        lines += _status_line("Not Started", with_status(items, "not-started"))
        lines += _status_line("Blocked", with_status(items, "blocked"))
        return "\n".join(["<todoList>", *lines, *edits, "", _guidance(items), "</todoList>"])


def _edits(edits: DeliveredEdits) -> list[str]:
    """One line for all changes the person made since the last one; empty for none.

    A second line of the same turn says so: it must differ from the first even where its words are
    the same, else it would not be appended.
    """
    rows = [row for span in edits.spans for row in differences(span, _titled)]
    if not rows:
        return []
    again = f" again ({edits.times})" if edits.times > 1 else ""
    if len(rows) > _MOST_EDITS:
        rows[_MOST_EDITS:] = [f"and {len(rows) - _MOST_EDITS} more changes"]
    return [f"The person changed the list{again}: {'; '.join(rows)}."]


def _guidance(items: Sequence[Todo]) -> str:
    """One sentence by the state of the list: all done, one in progress, some to begin, or all blocked."""
    running = with_status(items, "in-progress")
    waiting = with_status(items, "not-started")
    if todo_statistics(items).complete:
        return (
            f"All {len(items)} are done. New work goes on this list with todo_operations add;"
            " what is on it stays."
        )
    if running:
        return (
            f"You are on [{running[0].id}]; it is marked already. Work on it, and the moment it is"
            f" done call {_call(running[0].id, 'completed')}. Saying so in the answer does not"
            " change the list."
        )
    if waiting:
        done = completed_ids(items)
        # In the order of the list, which is the person's to change.
        ready = (i for i in items if i in waiting and not unmet_dependencies(i, done))
        first = next(ready, waiting[0])
        return (
            "None is being worked on. Choose one and mark it before any other step, for example"
            f" {_call(first.id, 'in-progress')}."
        )
    return (
        "All that is left is blocked. See whether a reason no longer holds and set that one to"
        " in-progress; otherwise tell the person what is needed."
    )


def _call(id_: int, status: str) -> str:
    return (
        f'todo_operations {{"operation": "update", "todoUpdates": [{{"id": {id_},'
        f' "status": "{status}"}}]}}'
    )


def _status_line(label: str, items: Sequence[Todo]) -> list[str]:
    if not items:
        return []
    named = [_item(item) for item in items[:_MOST_ITEMS]]
    if len(items) > _MOST_ITEMS:
        named.append(f"and {len(items) - _MOST_ITEMS} more")
    return [f"{label}: {', '.join(named)}"]


def _item(item: Todo) -> str:
    reason = f" ({quoted_line(item.blocked_reason, _TITLE)})" if item.status == "blocked" else ""
    return f"{_titled(item)}{reason}"


def _titled(item: Todo) -> str:
    return f"[{item.id}] {quoted_line(item.title, _TITLE)}"


class WorkflowPhaseReminder:
    """The phase of a conversation's workflow; nothing without one."""

    name = "workflow_phase"
    trigger = "the workflow moves on"

    def __init__(self, digest: Callable[[ConversationId], str]) -> None:
        self._digest = digest

    def content(self, view: TurnView) -> str | None:
        """The phase between ``<workflowPhase>`` tags, or None."""
        digest = self._digest(view.conversation)
        return f"<workflowPhase>\n{digest}\n</workflowPhase>" if digest else None


EndedCommands = Callable[[ConversationId], "Sequence[BackgroundCommand]"]
"""The background commands of a conversation that ended without the agent having read it."""

_MOST_COMMANDS = 5
_COMMAND = 80


class BackgroundCommandsReminder:
    """Background commands that have ended, so that the agent need not check them repeatedly."""

    name = "background_commands"
    trigger = "a command in the background ends"

    def __init__(self, ended: EndedCommands) -> None:
        self._ended = ended

    def content(self, view: TurnView) -> str | None:
        """One line a command between ``<backgroundCommands>`` tags; None while there is no news."""
        ended = self._ended(view.conversation)
        if not ended:
            return None
        lines = [_command_line(command) for command in ended[-_MOST_COMMANDS:]]
        if len(ended) > _MOST_COMMANDS:
            lines.insert(0, f"{len(ended) - _MOST_COMMANDS} more ended before these.")
        hint = "get_terminal_output with the id reads what it printed."
        return "\n".join(["<backgroundCommands>", *lines, hint, "</backgroundCommands>"])


def _command_line(command: "BackgroundCommand") -> str:
    words = quoted_line(command.command, _COMMAND)
    return f"{command.id} ({words}): {_ending(command)} after {command.seconds:.0f} s"


def _ending(command: "BackgroundCommand") -> str:
    result = command.result
    if result is None:
        return quoted_line(command.failure) or "ended"
    if result.timed_out:
        return "timed out"
    if result.exit_code is None:
        return f"killed by {result.signal}"
    return f"exit code {result.exit_code}"


LOOP = 4
"""How many calls with the same arguments and result count as a loop."""
_NEWEST = 40
"""How many of the newest messages are searched for a loop."""


class RepeatedCallsReminder:
    """Fingerprints of calls with their results since the person's last message."""

    name = "repeated_calls"
    trigger = "a call is repeated without progress"

    def content(self, view: TurnView) -> str | None:
        """Return which call repeats, at the first time and each few times more; None if none does."""
        if view.new_message:
            return None
        name, times = _most_repeated(view.messages[-_NEWEST:])
        if times < LOOP:
            return None
        return (
            f"{name} was called {times // LOOP * LOOP} times with the same arguments and gave the same"
            " result each time. Calling it again will not change that. Do something else: look at what"
            " the result says, try another way, or tell the person what is missing."
        )


def _most_repeated(messages: Sequence[Message]) -> tuple[str, int]:
    """The call that was made most often with one result, and how often; the empty name for none."""
    arguments: dict[str, str] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    for message in messages:
        match message:
            case UserMessage():
                seen.clear()
            case AssistantMessage(calls=calls):
                arguments.update({call.id: call.arguments for call in calls})
            case ToolMessage() if message.call_id in arguments:
                seen[message.name, arguments[message.call_id], message.text] += 1
            case _:
                continue
    if not seen:
        return "", 0
    (name, _, _), times = seen.most_common(1)[0]
    return name, times


_STATUS_SIGNAL = (
    'Workflow mode is on. End every step of work with one line of JSON: {"status": "continue"} when'
    ' more of the task is left, {"status": "complete"} when all of it is done. Having planned, or'
    " having said what you will do, is not a step: continue only after something was done."
)


class StatusSignalReminder:
    """One paragraph while workflow mode is on."""

    name = "status_signal"
    trigger = "workflow mode is on"

    def __init__(self, workflow_mode: Callable[[ConversationId], bool]) -> None:
        self._workflow_mode = workflow_mode

    def content(self, view: TurnView) -> str | None:
        """Return how to say that work goes on, or None outside workflow mode."""
        return _STATUS_SIGNAL if self._workflow_mode(view.conversation) else None
