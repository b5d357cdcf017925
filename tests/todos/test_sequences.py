"""Whatever a model sends, in whatever order, the list keeps its rules and the report tells the truth."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sam_tools.todo_operations import TodoOperations
from sam_tools.todo_operations.arguments import Rejected, UpdateTodos
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.display import Todos
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.todos.edits import EditSpan
from sam_tui.core.todos.item import TODO_STATUSES, Todo
from sam_tui.core.todos.rules import validate
from sam_tui.core.tooling.contract import Operation, Permit, ToolContext, ToolResult

HERE = ConversationId("c")
CONTEXT = ToolContext(HERE, CallId("k"), "/ws", Permit({}), lambda _: None)


class Memory:
    """A todo store without a disk, so that thousands of calls stay quick."""

    def __init__(self) -> None:
        self.lists: dict[ConversationId, tuple[Todo, ...]] = {}
        self.edits: dict[ConversationId, tuple[EditSpan, ...]] = {}

    def load(self, conversation: ConversationId) -> tuple[Todo, ...]:
        return self.lists.get(conversation, ())

    def save(self, conversation: ConversationId, items: Sequence[Todo]) -> None:
        self.lists[conversation] = tuple(items)

    def load_edits(self, conversation: ConversationId) -> tuple[EditSpan, ...]:
        return self.edits.get(conversation, ())

    def save_edits(self, conversation: ConversationId, spans: Sequence[EditSpan]) -> None:
        self.edits[conversation] = tuple(spans)


ids = st.integers(0, 6)
statuses = st.sampled_from([*TODO_STATUSES, *TODO_STATUSES, *TODO_STATUSES, "done"])
optional = {
    "description": st.just("d"),
    "priority": st.sampled_from(["low", "high", "urgent"]),
    "dependencies": st.lists(ids, max_size=2),
    "progress": st.sampled_from([0, 0.5, "0.5", 1, 1.5, "x"]),
    "blockedReason": st.sampled_from(["", "no key"]),
    "subtasks": st.lists(st.fixed_dictionaries({}, optional={"id": ids, "title": st.just("p")})),
    "estimateMinutes": st.sampled_from([0, 5, "2.5", -1]),
    "evidence": st.sampled_from([[], ["call_1"], "make test"]),
}
titles = st.sampled_from(["a", "b", "", "c\nd"])
drafts = st.fixed_dictionaries({"id": ids, "title": titles, "status": statuses}, optional=optional)
tidy = st.fixed_dictionaries({
    "title": st.just("t"),
    "status": st.sampled_from(["not-started", "in-progress", "completed"]),
})
tidy_lists = st.lists(tidy, max_size=6).map(
    lambda items: [{"id": n, **item} for n, item in enumerate(items, start=1)]
)
updates = st.fixed_dictionaries(
    {"id": ids}, optional={"title": titles, "status": statuses, **optional}
)
new = st.fixed_dictionaries({"title": titles}, optional={"status": statuses, **optional})
requests = st.one_of(
    tidy_lists.map(lambda items: ("write", {"todoList": items})),
    st.lists(drafts, max_size=5).map(lambda items: ("write", {"todoList": items})),
    st.lists(updates, max_size=4).map(lambda items: ("update", {"todoUpdates": items})),
    st.lists(updates, max_size=2).map(lambda items: ("update", {"todoUpdates": items})),
    st.lists(new, max_size=2).map(lambda items: ("add", {"newTodos": items})),
    st.just(("read", {})),
)


def names_told(text: str, heading: str) -> list[int]:
    """The ids in the line of one status."""
    line = re.search(rf"^  {heading}: (.*)$", text, re.MULTILINE)
    return [int(n) for n in re.findall(r"#(\d+): ", line[1])] if line else []


def check_rules(before: Sequence[Todo], after: Sequence[Todo]) -> None:
    assert len({item.id for item in after}) == len(after)
    assert sum(item.status == "in-progress" for item in after) <= 1
    assert [f for f in validate(after) if f.severity == "error"] == []
    assert all(item.blocked_reason == "" for item in after if item.status != "blocked")
    kept = {item.id for item in after}
    assert all(item.id in kept for item in before if item.status == "completed")
    born = {item.id: item.created_at for item in before}
    assert all(item.created_at == born.get(item.id, item.created_at) for item in after)


def check_report(
    operation: str, before: Sequence[Todo], after: Sequence[Todo], result: ToolResult
) -> None:
    assert result.display == (Todos(tuple(after)),)
    if operation == "read":
        return
    for status in TODO_STATUSES:
        told = names_told(result.text, status.replace("-", " ").capitalize())
        assert told == sorted(item.id for item in after if item.status == status)
    if operation == "update":
        old = {item.id: item for item in before}
        applied = {
            int(n) for n in re.findall(r"^  Todo #(\d+) .*: .*", _applied(result.text), re.M)
        }
        set_back = {int(n) for n in re.findall(r"#(\d+) ", _line(result.text, "Set back"))}
        changed = {item.id for item in after if item != old[item.id]}
        assert changed == applied | set_back
        for id_, was, now in re.findall(r"#(\d+) \(.*?\): status: (\S+?)→([a-z-]+)", result.text):
            stored = next(item for item in after if item.id == int(id_))
            assert (old[int(id_)].status, stored.status) == (was, now)


def _applied(text: str) -> str:
    return text.partition("Applied:\n")[2].partition("\n\n")[0]


def _line(text: str, head: str) -> str:
    return next((line for line in text.splitlines() if line.startswith(head)), "")


@pytest.mark.requirement(
    "todos:one-in-progress", "todos:report-stored", "todos:completed-protected"
)
@settings(max_examples=100)
@given(st.lists(requests, min_size=1, max_size=12))
def test_any_sequence_of_calls_keeps_the_rules_and_reports_what_is_stored(
    sequence: list[tuple[str, dict[str, Any]]],
):
    board = TodoBoard(Memory(), Bus(), SystemClock())
    operations: dict[str, Operation[Any]] = {
        operation.name: operation for operation in TodoOperations(board).tool().operations
    }

    async def play() -> None:
        for name, arguments in sequence:
            operation = operations[name]
            before = board.items(HERE)
            given_arguments = operation.arguments.model_validate(arguments)
            assert operation.summary(given_arguments)
            try:
                result = await operation.run(given_arguments, CONTEXT)
            except ToolError:
                assert board.items(HERE) == before
                continue
            check_rules(before, board.items(HERE))
            check_report(name, before, board.items(HERE), result)

    asyncio.run(play())


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | ids | statuses
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "id",
                "title",
                "status",
                "dependencies",
                "progress",
                "blocked_reason",
                "subtasks",
                "estimateMinutes",
                "evidence",
                "x",
            ]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.requirement("todos:usage")
@given(st.sampled_from(["write", "update", "add"]), values, st.booleans())
def test_no_json_makes_a_call_fail_in_any_other_way_than_with_words_for_the_model(
    name: str, value: object, seeded: bool
):
    board = TodoBoard(Memory(), Bus(), SystemClock())
    if seeded:
        board.replace(HERE, [Todo(1, "a"), Todo(2, "b", status="completed")])
    operation: Operation[Any] = next(
        o for o in TodoOperations(board).tool().operations if o.name == name
    )
    parameter = {"write": "todoList", "update": "todoUpdates", "add": "newTodos"}[name]
    for shape in (value, [value], [value, value]):
        try:
            arguments = operation.arguments.model_validate({parameter: shape})
        except ValidationError:
            continue
        assert operation.summary(arguments)
        before = board.items(HERE)
        try:
            asyncio.run(operation.run(arguments, CONTEXT))  # pyright: ignore[reportArgumentType] # a coroutine
        except ToolError as error:
            assert error.explain()
        check_rules(before, board.items(HERE))


@pytest.mark.requirement("todos:usage")
def test_a_value_nested_deeper_than_repr_can_follow_is_told_like_any_other():
    deep: object = "x"
    for _ in range(5_000):
        deep = [deep]
    arguments = UpdateTodos.model_validate({
        "todoUpdates": [{"id": 1, "title": deep, "status": deep}]
    })
    rejected = arguments.todoUpdates[0]
    assert isinstance(rejected, Rejected)
    assert len("".join(rejected.problems)) < 500
