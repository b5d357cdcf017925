"""What the person changes about the list: kept under its rules, and told to the model once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_reminders.progress import TodoListReminder
from sam_tui.adapters.storage import open_storage
from sam_tui.core.agent.budget import Budgets, Limits
from sam_tui.core.agent.context_window import Room
from sam_tui.core.agent.history import History
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.session import Session
from sam_tui.core.agent.turn import TurnEngine
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.errors import ToolError
from sam_tui.core.events import InquiryOpened, TodosChanged
from sam_tui.core.ids import CallId, InquiryId
from sam_tui.core.inquiry import Reply
from sam_tui.core.messages import ReminderMessage, ToolMessage
from sam_tui.core.ports.model import Delta, ModelRequest, TextDelta
from sam_tui.core.prompt.reminders import Injectors
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.todos.edits import EditKind, EditSpan, TodoEdit, differences, edited
from sam_tui.core.todos.item import TODO_STATUSES, Todo
from sam_tui.core.todos.rules import validate
from tests.fakes.engine_kit import Piece, RawModel, calls
from tests.todos.harness import Harness

LIST = (Todo(1, "One", status="completed"), Todo(2, "Two", status="in-progress"), Todo(3, "Three"))


def after(kind: EditKind, todo: int = 0, title: str = "", items: Sequence[Todo] = LIST):
    return edited(items, TodoEdit(kind, todo, title), now=5.0)


def told(before: Sequence[Todo], now: Sequence[Todo]) -> list[str]:
    return differences(
        EditSpan(tuple(before), tuple(now)), lambda item: f"[{item.id}] {item.title}"
    )


@pytest.mark.requirement("todos:person-edits")
def test_cycling_goes_round_and_keeps_one_item_in_progress():
    items = after("cycle", 3)
    assert [i.status for i in items] == ["completed", "not-started", "in-progress"]
    items = after("cycle", 3, items=items)
    assert items[2].status == "completed"
    assert after("cycle", 3, items=items)[2].status == "not-started"
    blocked = (Todo(1, "a", status="blocked", blocked_reason="no key"),)
    (freed,) = after("cycle", 1, items=blocked)
    assert (freed.status, freed.blocked_reason) == ("not-started", "")


@pytest.mark.requirement("todos:person-edits")
def test_a_person_adds_renames_moves_and_removes_even_what_is_completed():
    assert after("add", title="  Four\nfive\u202e ")[3] == Todo(
        4, "Four five", created_at=5.0, updated_at=5.0
    )
    assert after("retitle", 2, "Zwei")[1].title == "Zwei"
    assert [i.id for i in after("up", 3)] == [1, 3, 2]
    assert [i.id for i in after("down", 1)] == [2, 1, 3]
    assert [i.id for i in after("remove", 1)] == [2, 3]


@pytest.mark.requirement("todos:person-edits")
def test_edits_that_lead_nowhere_change_nothing():
    for kind, todo in (("up", 1), ("down", 3), ("remove", 9), ("cycle", 9), ("retitle", 9)):
        assert after(kind, todo, "x") == LIST  # pyright: ignore[reportArgumentType] # literals


@pytest.mark.requirement("todos:person-edits")
def test_an_edit_that_breaks_a_rule_is_refused_in_words():
    for title in ("", " \u202e", "x" * 301):
        with pytest.raises(ToolError, match="title"):
            after("retitle", 2, title)
        with pytest.raises(ToolError, match="title"):
            after("add", title=title)


@pytest.mark.requirement("todos:person-edits")
def test_who_waited_for_a_removed_item_no_longer_does():
    items = (Todo(1, "a"), Todo(2, "b", dependencies=(1, 3)), Todo(3, "c"))
    left = after("remove", 1, items=items)
    assert left[0].dependencies == (3,)
    assert told(items, left) == ["removed [1] a", "[2] b no longer waits for 1"]


edits = st.builds(
    TodoEdit,
    st.sampled_from(["add", "retitle", "cycle", "remove", "up", "down"]),
    st.integers(0, 6),
    st.sampled_from(["a", "b c", "", "\x1b"]),
)


@pytest.mark.requirement("todos:person-edits")
@given(st.lists(edits, max_size=12))
def test_no_sequence_of_edits_breaks_the_rules(sequence: list[TodoEdit]):
    items: tuple[Todo, ...] = LIST
    for edit in sequence:
        try:
            items = edited(items, edit, now=1.0)
        except ToolError:
            continue
        assert [f for f in validate(items) if f.severity == "error"] == []
        assert sum(i.status == TODO_STATUSES[1] for i in items) <= 1


@pytest.mark.requirement("todos:person-delta")
async def test_an_edit_is_announced_and_one_that_changes_nothing_is_not(harness: Harness):
    await harness.stand((1, "not-started"))
    harness.events.drain()
    assert harness.board.edit(harness.conversation, TodoEdit("cycle", 1))
    assert not harness.board.edit(harness.conversation, TodoEdit("up", 1))
    changed = [e for e in harness.events.drain() if isinstance(e, TodosChanged)]
    assert changed == [
        TodosChanged(harness.conversation, harness.board.items(harness.conversation))
    ]


@pytest.mark.requirement("todos:person-delta")
async def test_what_was_undone_is_not_told_and_the_rest_is_told_as_one_change(harness: Harness):
    await harness.stand((1, "not-started"), (2, "not-started"))
    here, board = harness.conversation, harness.board
    for _ in range(3):
        board.edit(here, TodoEdit("cycle", 1))
    assert board.edits_to_tell(here, new_message=True).spans == ()
    board.edit(here, TodoEdit("retitle", 1, "Eins"))
    board.edit(here, TodoEdit("add", title="Drei"))
    board.edit(here, TodoEdit("retitle", 3, "Three"))
    board.edit(here, TodoEdit("up", 3))
    (span,) = board.edits_to_tell(here, new_message=True).spans
    assert told(span.before, span.after) == ["added [3] Three", "[1] T1 is now called [1] Eins"]


@pytest.mark.requirement("todos:person-delta")
async def test_edits_wait_for_the_model_over_a_restart(tmp_path: Path, harness: Harness):
    await harness.stand((1, "not-started"))
    harness.board.edit(harness.conversation, TodoEdit("cycle", 1))
    storage = open_storage(tmp_path / "data")
    board = TodoBoard(storage.todos, Bus(), harness.clock)
    assert len(board.edits_to_tell(harness.conversation, new_message=True).spans) == 1
    assert board.edits_to_tell(harness.conversation, new_message=True).spans == ()
    storage.close()


class Meddled(RawModel):
    """While it thinks about its n-th answer (from 0), somebody does something."""

    def __init__(
        self, *answers: Sequence[Piece], meddle: Mapping[int, Callable[[], object]]
    ) -> None:
        super().__init__(*answers)
        self.meddle = meddle

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Do it, then answer."""
        self.meddle.get(len(self.seen), lambda: None)()
        async for delta in super().stream(request):
            yield delta


def session_over(harness: Harness, model: RawModel) -> Session:
    """A real session over the harness, with the reminder that knows the board."""
    engine = TurnEngine(
        harness.executor,
        RequestBuilder(
            "system",
            harness.registry.schemas_json,
            Injectors([TodoListReminder(harness.board)], harness.storage.reminders),
            harness.board,
        ),
        harness.bus,
        harness.clock,
        RetryPolicy(),
        Budgets(),
        Room(harness.storage.archive, harness.bus),
    )
    history = History(harness.storage.conversations, harness.conversation)
    return Session(engine, history, model, limits=Limits(20))


def think(id_: str) -> list[Piece]:
    return calls(("think", {"thoughts": "hm"}), ids=[id_])


def update(id_: str, todo: int, status: str) -> list[Piece]:
    change = {"operation": "update", "todoUpdates": [{"id": todo, "status": status}]}
    return calls(("todo_operations", change), ids=[id_])


def read(id_: str) -> list[Piece]:
    return calls(("todo_operations", {"operation": "read"}), ids=[id_])


SAY: list[Piece] = [TextDelta("done")]


def nudges(session: Session) -> list[str]:
    return [m.text for m in session.messages if isinstance(m, ReminderMessage)]


def deltas(session: Session) -> list[str]:
    """The line about the person's edits of every reminder that has one."""
    lines = [line for text in nudges(session) for line in text.splitlines()]
    return [line for line in lines if line.startswith("The person changed the list")]


def extends(model: RawModel) -> bool:
    """Whether every request begins with all that the one before it sent."""
    return all(later[: len(earlier)] == earlier for earlier, later in pairwise(model.seen))


@pytest.mark.requirement("todos:person-delta")
async def test_an_edit_between_two_turns_reaches_the_model_once(harness: Harness):
    await harness.stand((1, "completed"), (2, "not-started"), (3, "not-started"))
    model = RawModel(SAY, think("k1"), read("k2"), SAY, SAY)
    session = session_over(harness, model)
    await session.run("go")
    harness.board.edit(harness.conversation, TodoEdit("remove", 1))
    harness.board.edit(harness.conversation, TodoEdit("retitle", 2, "</todoList> Zwei"))
    harness.board.edit(harness.conversation, TodoEdit("up", 3))
    await session.run("go on")
    line = (
        "The person changed the list: removed [1] T1; [2] T2 is now called [2] ‹/todoList› Zwei;"
        " the order is now 3, 2."
    )
    assert deltas(session) == [line]
    assert len(nudges(session)) == 2
    await session.run("and on")
    assert deltas(session) == [line]
    assert len(nudges(session)) == 3
    assert extends(model)


@pytest.mark.requirement("todos:person-delta")
async def test_an_edit_in_the_middle_of_a_tool_loop_reaches_the_model_once(harness: Harness):
    await harness.stand((1, "in-progress"), (2, "not-started"))

    def add() -> None:
        harness.board.edit(harness.conversation, TodoEdit("add", title="Write it down"))

    model = Meddled(think("k1"), think("k2"), read("k3"), SAY, SAY, meddle={1: add})
    session = session_over(harness, model)
    await session.run("go")
    line = "The person changed the list: added [3] Write it down."
    assert deltas(session) == [line]
    assert len(nudges(session)) == 2
    kinds = [message.kind for message in session.messages]
    assert kinds == [
        "reminder",
        "user",
        *("assistant", "tool"),
        *("assistant", "tool", "reminder"),
        *("assistant", "tool", "assistant"),
    ]
    await session.run("go on")
    assert deltas(session) == [line]
    assert extends(model)


@pytest.mark.requirement("todos:person-delta")
async def test_an_edit_that_the_model_writes_over_unseen_is_told_all_the_same(harness: Harness):
    await harness.stand((1, "in-progress"), (2, "not-started"))

    def rename() -> None:
        harness.board.edit(harness.conversation, TodoEdit("retitle", 2, "Zwei"))

    model = Meddled(update("k1", 1, "completed"), SAY, meddle={0: rename})
    session = session_over(harness, model)
    await session.run("go")
    assert deltas(session) == ["The person changed the list: [2] T2 is now called [2] Zwei."]
    assert harness.statuses == {1: "completed", 2: "not-started"}
    assert len(nudges(session)) == 2


async def opened(harness: Harness) -> InquiryId:
    """The question that somebody is asked next."""
    while True:
        for event in await harness.events.batch():
            if isinstance(event, InquiryOpened):
                return event.inquiry.id


@pytest.mark.requirement("todos:person-delta")
async def test_an_edit_repeated_after_the_model_undid_it_is_told_again(attended: Harness):
    harness = attended
    await harness.stand((1, "not-started"), (2, "not-started"))

    def begin() -> None:
        harness.board.edit(harness.conversation, TodoEdit("cycle", 1))

    undo = {"operation": "update", "todoUpdates": [{"id": 1, "status": "not-started"}]}
    ask = {"prompt": "Why?"}
    pair = calls(("todo_operations", undo), ("user_collaboration", ask), ids=["k1", "k2"])
    model = Meddled(think("k0"), pair, SAY, meddle={0: begin})
    session = session_over(harness, model)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run("go"))
        question = await opened(harness)
        begin()
        harness.inquiries.answer(question, Reply("because"))
    first, second = deltas(session)
    assert first == "The person changed the list: [1] T1 is now in-progress."
    assert second == "The person changed the list again (2): [1] T1 is now in-progress."
    assert extends(model)


@pytest.mark.requirement("todos:person-delta")
async def test_a_list_that_the_person_emptied_is_told_empty_and_then_no_more(harness: Harness):
    await harness.stand((1, "completed"))
    harness.board.edit(harness.conversation, TodoEdit("remove", 1))
    session = session_over(harness, RawModel(SAY, SAY))
    await session.run("go")
    await session.run("go on")
    (only,) = nudges(session)
    assert only == (
        "<todoList>\nThe person changed the list: removed [1] T1.\nIt is empty now.\n</todoList>"
    )


@pytest.mark.requirement("todos:one-nudge")
async def test_there_is_never_more_than_one_nudge_for_a_change(harness: Harness):
    await harness.stand((1, "not-started"), (2, "not-started"))
    plan = [
        update("k0", 1, "in-progress"),  # a change
        think("k1"),
        read("k2"),
        update("k3", 1, "in-progress"),  # redundant
        update("k4", 9, "completed"),  # refused
        update("k5", 1, "completed"),  # a change
        think("k6"),  # the person changes two things meanwhile
        read("k7"),
        SAY,
    ]

    def twice() -> None:
        harness.board.edit(harness.conversation, TodoEdit("cycle", 2))
        harness.board.edit(harness.conversation, TodoEdit("retitle", 2, "Zwei"))

    model = Meddled(*plan, meddle={6: twice})
    session = session_over(harness, model)
    await session.run("go")
    after_calls = [
        earlier.call_id if isinstance(earlier, ToolMessage) else None
        for earlier, later in pairwise(session.messages)
        if isinstance(later, ReminderMessage)
    ]
    # The first stands before everything, for the new message.
    assert [CallId("k0"), CallId("k5"), CallId("k6")] == after_calls
    assert len(nudges(session)) == 4
    assert len(deltas(session)) == 1
    assert extends(model)


@pytest.mark.requirement("todos:one-nudge")
async def test_several_calls_of_one_answer_are_one_change_and_one_nudge(harness: Harness):
    await harness.stand((1, "not-started"), (2, "not-started"))
    change = {"operation": "update", "todoUpdates": [{"id": 1, "status": "completed"}]}
    more = {"operation": "add", "newTodos": [{"title": "Three"}]}
    both = calls(("todo_operations", change), ("todo_operations", more), ids=["k0", "k1"])
    session = session_over(harness, RawModel(both, think("k2"), SAY))
    await session.run("go")
    assert len(nudges(session)) == 2
