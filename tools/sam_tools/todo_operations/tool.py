"""The todo list as a tool: four operations on one board, one call at a time."""

from sam_tools.todo_operations.arguments import AddTodos, Rejected, UpdateTodos, WriteTodos
from sam_tools.todo_operations.changes import appended, updated, written
from sam_tools.todo_operations.report import add_report, read_report, update_report, write_report
from sam_tui.core.board import TodoBoard
from sam_tui.core.display import Todos
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.todos.item import todo_statistics
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult

_ABOUT = (
    "The todo list of this conversation, which the person watches. Use it for work of several steps;"
    " leave it for a single step or plain talk. Set an item to in-progress before you begin it (one at"
    " a time: beginning another sets the first one back) and to completed as soon as it is done."
    " Completed items cannot be deleted."
)


class TodoOperations:
    """todo_operations (seed 004): reports the stored list, not the request."""

    def __init__(self, board: TodoBoard) -> None:
        self._board = board

    def tool(self) -> Tool:
        """Return the tool, ready to register. Its calls are serial: each reads what the last one stored."""
        return Tool(
            "todo_operations",
            _ABOUT,
            (
                Operation(
                    "read",
                    "the list with its progress",
                    NoArguments,
                    self._read,
                    lambda _: "Reading todo list",
                    schedule=Schedule.SERIAL,
                ),
                Operation(
                    "write",
                    "create or replace the whole list; fields left out are reset, but subtasks,"
                    " estimate and evidence stay",
                    WriteTodos,
                    self._write,
                    _write_summary,
                    schedule=Schedule.SERIAL,
                ),
                Operation(
                    "update",
                    "change the given fields of some items, subtasks by id",
                    UpdateTodos,
                    self._update,
                    _update_summary,
                    schedule=Schedule.SERIAL,
                ),
                Operation(
                    "add",
                    "append items; ids go on from the highest",
                    AddTodos,
                    self._add,
                    _add_summary,
                    schedule=Schedule.SERIAL,
                ),
            ),
        )

    async def _read(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        return self._result(
            context.conversation, read_report(self._board.items(context.conversation))
        )

    async def _write(self, arguments: WriteTodos, context: ToolContext) -> ToolResult:
        before = self._board.items(context.conversation)
        change = written(before, arguments.todoList, self._board.now())
        self._board.replace(context.conversation, change.items)
        stored = self._board.items(context.conversation)
        return self._result(context.conversation, write_report(before, stored, change))

    async def _update(self, arguments: UpdateTodos, context: ToolContext) -> ToolResult:
        before = self._board.items(context.conversation)
        if not before:
            raise ToolError("There is no todo list to update yet.", hint="Create it with write.")
        if not arguments.todoUpdates:
            raise InvalidArguments(
                "todoUpdates is empty.",
                hint='Usage: {"operation": "update", "todoUpdates": [{"id": 1, "status": "completed"}]}',
            )
        batch = updated(before, arguments.todoUpdates, self._board.now())
        if batch.change.items != before:
            self._board.replace(context.conversation, batch.change.items)
        stored = self._board.items(context.conversation)
        text, ok = update_report(before, stored, batch)
        return self._result(context.conversation, text, ok=ok)

    async def _add(self, arguments: AddTodos, context: ToolContext) -> ToolResult:
        if not arguments.newTodos:
            raise InvalidArguments(
                "newTodos is empty.",
                hint='Usage: {"operation": "add", "newTodos": [{"title": "…", "description": "…"}]}',
            )
        before = self._board.items(context.conversation)
        change = appended(before, arguments.newTodos, self._board.now())
        self._board.replace(context.conversation, change.items)
        stored = self._board.items(context.conversation)
        return self._result(context.conversation, add_report(before, stored, change))

    def _result(self, conversation: ConversationId, text: str, *, ok: bool = True) -> ToolResult:
        """Return the text beside the present list, for people and for programs."""
        items = self._board.items(conversation)
        counts = todo_statistics(items)
        data: dict[str, object] = {
            "conversationId": conversation,
            "totalTodos": counts.total,
            "completedTodos": counts.completed,
            "inProgressTodos": counts.in_progress,
            "notStartedTodos": counts.not_started,
            "blockedTodos": counts.blocked,
            "completionRate": counts.rate,
        }
        return ToolResult(text, ok, (Todos(items),), data)


def _write_summary(arguments: WriteTodos) -> str:
    return f"Creating todo list ({_tasks(len(arguments.todoList))})"


def _update_summary(arguments: UpdateTodos) -> str:
    updates = arguments.todoUpdates
    if len(updates) != 1:
        return f"Updating {len(updates)} todos"
    only = updates[0]
    if isinstance(only, Rejected):
        return "Updating 1 todo" if only.id is None else f"Updating todo #{only.id}"
    name = _short(only.title) or f"todo #{only.id}"
    if not only.gives("status"):
        return f"Updating {name}"
    match only.status:
        case "in-progress":
            return f"Starting: {name}"
        case "completed":
            return f"Completed: {name}"
        case "blocked" | "not-started":
            return f"Updating todo #{only.id}: {only.status}"


def _add_summary(arguments: AddTodos) -> str:
    new = arguments.newTodos
    if len(new) == 1 and not isinstance(new[0], Rejected):
        return f"Adding task: {_short(new[0].title)}"
    return f"Adding {len(new)} new {'task' if len(new) == 1 else 'tasks'}"


def _short(title: str) -> str:
    return title if len(title) <= 35 else title[:34] + "…"


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"
