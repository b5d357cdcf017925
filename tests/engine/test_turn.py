"""A turn: streaming, calls, retries, limits, cancellation, and what is left in the history."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.core.agent.budget import Limits
from sam_tui.core.agent.endings import TOLD
from sam_tui.core.agent.history import History
from sam_tui.core.agent.session import Session
from sam_tui.core.errors import (
    ConfigurationError,
    ModelAuthError,
    ModelCut,
    ModelLimited,
    ModelUnavailable,
    UsageError,
)
from sam_tui.core.events import (
    Answered,
    ModelRetried,
    Noticed,
    TextStreamed,
    TurnFinished,
    TurnStarted,
)
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
    calls_of,
)
from sam_tui.core.ports.model import ReasoningDelta, TextDelta, UsageDelta
from sam_tui.core.tooling.offer import Offer
from sam_tui.core.usage import Usage
from tests.fakes.engine_kit import Kit, RawModel, calls, open_engine, open_kit, open_talk


def results(messages: Sequence[Message]) -> list[ToolMessage]:
    """The tool results, in order."""
    return [m for m in messages if isinstance(m, ToolMessage)]


@pytest.mark.requirement("turn:streams")
async def test_an_answer_streams_is_stored_and_ends_the_turn(kit: Kit) -> None:
    usage = Usage(10, 4, 0, 2, 1, 0.5)
    answer = [ReasoningDelta("hm"), TextDelta("Hel"), TextDelta("lo"), UsageDelta(usage)]
    talk = open_talk(kit, RawModel(answer))
    finished = await talk.session.run("hi")
    assert (finished.reason, finished.answer, finished.usage) == ("finished", "Hello", usage)
    assert (finished.exit_code, finished.ending) == (0, "complete")
    assert list(talk.session.messages) == [UserMessage("hi"), AssistantMessage("Hello", "hm")]
    assert kit.storage.conversations.messages(kit.conversation) == list(talk.session.messages)
    events = kit.events.drain()
    assert [e.text for e in events if isinstance(e, TextStreamed)] == ["Hello"]
    assert isinstance(events[0], TurnStarted)
    assert isinstance(events[-1], TurnFinished)


@pytest.mark.requirement("turn:call-order")
async def test_results_stand_in_call_order_whatever_ended_first(kit: Kit) -> None:
    gate = kit.journal.gates["slow"] = asyncio.Event()
    model = RawModel(
        calls(("murmur", {"text": "slow"}), ("murmur", {"text": "fast"})), [TextDelta("done")]
    )
    talk = open_talk(kit, model)
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(talk.session.run("go"))
        await kit.journal.until("end fast")
        assert results(talk.session.messages) == []
        gate.set()
    assert turn.result().reason == "finished"
    assert [r.text for r in results(talk.session.messages)] == ["slow", "fast"]


@pytest.mark.requirement("turn:schedule")
async def test_blocking_calls_run_alone_and_serial_ones_one_by_one(kit: Kit) -> None:
    model = RawModel(
        calls(
            ("murmur", {"text": "a"}),
            ("speak", {"text": "b"}),
            ("speak", {"text": "c"}),
            ("shout", {"text": "d"}),
            ("murmur", {"text": "e"}),
        ),
        [TextDelta("done")],
    )
    gate = kit.journal.gates["b"] = asyncio.Event()
    talk = open_talk(kit, model)
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.session.run("go"))
        await kit.journal.until("end a")
        assert kit.journal.lines == ["begin a", "end a", "begin b"] or kit.journal.lines == [
            "begin a",
            "begin b",
            "end a",
        ]
        gate.set()
    after = kit.journal.lines[kit.journal.lines.index("end b") :]
    assert after == ["end b", "begin c", "end c", "begin d", "end d", "begin e", "end e"]


@pytest.mark.requirement("turn:safe-ids")
async def test_missing_repeated_and_unsafe_call_ids_are_replaced(kit: Kit) -> None:
    first = calls(*[("ping", "{}")] * 4, ids=["", "same", "same", "../../x"])
    talk = open_talk(kit, RawModel(first, calls(("ping", {}), ids=["same"]), [TextDelta("ok")]))
    await talk.session.run("go")
    ids = [c.id for c in calls_of(talk.session.messages)]
    assert len(set(ids)) == 5
    assert "../../x" not in ids
    assert [r.call_id for r in results(talk.session.messages)] == ids


@pytest.mark.requirement("retry:ours")
async def test_a_rate_limit_is_waited_out_as_the_provider_said(kit: Kit) -> None:
    model = RawModel(
        [TextDelta("lost"), ModelLimited("slow down", status=429, retry_after=7.0)],
        [ModelUnavailable("down", status=500)],
        [TextDelta("there")],
    )
    talk = open_talk(kit, model)
    finished = await talk.session.run("go")
    assert (finished.reason, finished.answer, finished.steps) == ("finished", "there", 3)
    assert talk.clock.waits == [7.0, 1.0]
    retried = [e for e in kit.events.drain() if isinstance(e, ModelRetried)]
    assert [(e.attempt, e.retries, e.status) for e in retried] == [(1, 20, 429), (2, 2, 500)]
    assert [m.text for m in talk.session.messages if isinstance(m, AssistantMessage)] == ["there"]


@pytest.mark.requirement("retry:ours")
async def test_what_the_limit_of_calls_leaves_no_try_for_ends_with_its_own_error(kit: Kit) -> None:
    model = RawModel(*[[ModelUnavailable("down", status=500)]] * 3)
    talk = open_talk(kit, model, max_steps=2)
    finished = await talk.session.run("go")
    assert (finished.steps, finished.exit_code, len(model.seen)) == (2, 75, 2)
    assert len(talk.clock.waits) == 1


@pytest.mark.requirement("retry:ours")
@pytest.mark.parametrize(
    ("error", "tries", "exit_code"),
    [
        (ModelAuthError("bad key", status=401), 1, 41),
        (ModelUnavailable("down", status=500), 3, 75),
        (ModelLimited("later", retry_after=9999.0), 1, 75),
        (ModelCut("cut"), 3, 75),
    ],
)
async def test_what_cannot_succeed_ends_the_turn_with_its_exit_code(
    kit: Kit, error: Exception, tries: int, exit_code: int
) -> None:
    model = RawModel(*[[TextDelta("part"), error]] * 3, [TextDelta("next time")])
    talk = open_talk(kit, model)
    finished = await talk.session.run("go")
    assert (finished.reason, finished.exit_code, len(model.seen)) == ("failed", exit_code, tries)
    assert "part" in talk.session.messages[-1].text
    model.answers = [[TextDelta("next time")]]
    assert (await talk.session.run("again")).answer == "next time"


@pytest.mark.requirement("budget:counts")
async def test_every_model_call_counts_and_the_limit_ends_the_turn(kit: Kit) -> None:
    talk = open_talk(kit, RawModel(*[calls(("ping", {}))] * 3), max_steps=3)
    finished = await talk.session.run("go")
    assert (finished.reason, finished.exit_code, finished.steps) == ("limit", 53, 3)
    assert "3 model calls" in finished.error
    assert len(results(talk.session.messages)) == 3


@pytest.mark.requirement("turn:cancel")
async def test_cancelling_gives_every_call_a_result_and_keeps_the_conversation(kit: Kit) -> None:
    kit.journal.gates["stuck"] = asyncio.Event()
    answer = calls(("murmur", {"text": "a"}), ("shout", {"text": "stuck"}), ("ping", {}))
    model = RawModel([TextDelta("On it."), *answer], [TextDelta("fine")])
    talk = open_talk(kit, model)
    task = asyncio.ensure_future(talk.session.run("go"))
    await kit.journal.until("begin stuck")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [r.ok for r in results(talk.session.messages)] == [True, False, False]
    assert "Cancelled" in results(talk.session.messages)[2].text
    assert [m.text for m in talk.session.messages if isinstance(m, AssistantMessage)] == ["On it."]
    last = kit.events.drain()[-1]
    assert isinstance(last, TurnFinished)
    assert (last.reason, last.exit_code) == ("cancelled", 130)
    assert (await talk.session.run("go on")).answer == "fine"


@pytest.mark.requirement("turn:streams")
async def test_tools_that_appeared_before_a_turn_are_told_in_its_first_request(kit: Kit) -> None:
    talk = open_talk(kit, RawModel([TextDelta("one")], [TextDelta("two")]))
    assert (await talk.session.run("go")).answer == "one"
    tool = next(tool for tool in kit.registry.tools if tool.name == "ping")
    offers = [Offer.of(replace(tool, name="mcp__late__ping"))]

    async def arrivals(_: ConversationId) -> None:
        kit.registry.join(offers)

    engine = replace(open_engine(kit), arrivals=arrivals)
    history = History(kit.storage.conversations, kit.conversation)
    history.restore(kit.executor.plan)
    session = Session(engine, history, talk.model, limits=Limits(9))
    assert (await session.run("on")).answer == "two"
    assert ["mcp__late__ping" in told for told in talk.model.tools] == [False, True]
    news = [e.text for e in kit.events.drain() if isinstance(e, Noticed)]
    assert news == [TOLD["tools"]]
    talk.model.answers.append([TextDelta("three")])
    assert (await session.run("and on")).answer == "three"
    assert not any(isinstance(event, Noticed) for event in kit.events.drain())


@pytest.mark.requirement("execute:names")
async def test_a_result_is_stored_under_its_operation_whatever_the_model_called_it(
    kit: Kit,
) -> None:
    names = ("murmur", "voice.murmur", "voice")
    arguments = {"operation": "murmur", "text": "x"}
    talk = open_talk(
        kit, RawModel(calls(*((name, arguments) for name in names)), [TextDelta("ok")])
    )
    await talk.session.run("go")
    stored = [m for m in talk.session.messages if isinstance(m, ToolMessage)]
    assert [(m.name, m.operation) for m in stored] == [(name, "voice.murmur") for name in names]
    assert all(m.summary for m in stored)


@pytest.mark.requirement("turn:cancel")
async def test_what_had_streamed_when_it_was_cancelled_is_kept(kit: Kit) -> None:
    talk = open_talk(kit, RawModel([TextDelta("so far"), asyncio.Event()]))
    task = asyncio.ensure_future(talk.session.run("go"))
    streamed = False
    while not streamed:
        streamed = any(isinstance(e, TextStreamed) for e in await kit.events.batch())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert talk.session.messages[-1] == AssistantMessage("so far\n\n[interrupted]")


class Line:
    """A stream that is no generator: whoever reads it must close it."""

    def __init__(self) -> None:
        self.read = asyncio.Event()
        self.closed = 0

    def __aiter__(self) -> "Line":
        return self

    async def __anext__(self) -> TextDelta:
        if self.read.is_set():
            await asyncio.Event().wait()
        self.read.set()
        return TextDelta("so far")

    async def aclose(self) -> None:
        """Count."""
        self.closed += 1


@pytest.mark.requirement("turn:cancel")
async def test_a_stream_that_is_left_in_the_middle_is_closed(kit: Kit) -> None:
    model, line = RawModel(), Line()
    model.stream = lambda _: line  # pyright: ignore[reportAttributeAccessIssue]
    task = asyncio.ensure_future(open_talk(kit, model).session.run("go"))
    await line.read.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert line.closed == 1


@pytest.mark.requirement("session:refuses")
async def test_an_empty_message_or_a_missing_model_is_refused_before_anything_is_stored(
    kit: Kit,
) -> None:
    talk = open_talk(kit, RawModel())
    with pytest.raises(UsageError):
        await talk.session.run("  ")
    talk.session.model = None
    with pytest.raises(ConfigurationError):
        await talk.session.run("hi")
    assert talk.session.messages == []


@pytest.mark.requirement("session:dangling")
async def test_calls_that_a_crash_left_open_are_closed_on_resume(kit: Kit, tmp_path: Path) -> None:
    talk = open_talk(kit, RawModel(calls(("ping", {}), ("ping", {}))), max_steps=1)
    await talk.session.run("go")
    stored = kit.storage.conversations.messages(kit.conversation)
    other = open_kit(tmp_path / "other")
    other.storage.conversations.append(other.conversation, stored[:3])
    resumed = open_talk(other, RawModel([TextDelta("ok")]))
    assert [r.ok for r in results(resumed.session.messages)] == [True, False]
    assert "ended before" in results(resumed.session.messages)[1].text
    other.storage.close()


@pytest.mark.requirement("reminders:append-only")
async def test_a_reminder_stands_before_the_message_and_returns_only_when_it_changed(
    kit: Kit,
) -> None:
    model = RawModel(*[calls(("ping", {}))] * 3, [TextDelta("done")], [TextDelta("again")])
    talk = open_talk(kit, model)
    talk.reminder.says = lambda view: "two" if len(results(view.messages)) > 1 else "one"
    await talk.session.run("go")
    await talk.session.run("more")
    said = [m.text for m in talk.session.messages if isinstance(m, ReminderMessage)]
    assert said == ["one", "two", "two"]
    assert isinstance(talk.session.messages[0], ReminderMessage)
    assert isinstance(talk.session.messages[1], UserMessage)
    position = list(talk.session.messages).index(UserMessage("more"))
    assert isinstance(talk.session.messages[position - 1], ReminderMessage)
    for earlier, later in pairwise(model.seen):
        assert later[: len(earlier)] == earlier


Written = tuple[str, Any]
ONE_CALL: st.SearchStrategy[Written] = st.sampled_from([
    ("murmur", {"text": "a"}),
    ("speak", {"text": "b"}),
    ("shout", {"text": "c"}),
    ("murmur", {"text": "crash"}),
    ("shout", {"text": "refuse"}),
    ("voice.note", {"filePath": "../x"}),
    ("voice.note", {"wrong": 1}),
    ("nonsense", {}),
    ("ping", "{broken"),
])
CALLS = st.lists(ONE_CALL, min_size=1, max_size=6)


@pytest.mark.requirement("turn:one-result")
@settings(max_examples=40, deadline=None)
@given(rounds=st.lists(CALLS, min_size=1, max_size=3), ids=st.booleans(), stop=st.integers(0, 40))
def test_every_call_id_gets_exactly_one_result(
    rounds: list[list[tuple[str, Any]]], ids: bool, stop: int
) -> None:
    with TemporaryDirectory() as folder:
        kit = open_kit(Path(folder))
        asyncio.run(_check_pairing(kit, rounds, ids, stop))
        kit.storage.close()


async def _check_pairing(kit: Kit, rounds: list[list[Any]], ids: bool, stop: int) -> None:
    answers = [calls(*r, ids=["x"] * len(r) if ids else ()) for r in rounds]
    talk = open_talk(kit, RawModel(*answers, [TextDelta("end")]))
    task = asyncio.ensure_future(talk.session.run("go"))
    for _ in range(stop):
        await asyncio.sleep(0)
    if stop % 2:
        task.cancel()
    await asyncio.wait([task])
    stored = kit.storage.conversations.messages(kit.conversation)
    asked: list[CallId] = [c.id for c in calls_of(stored)]
    assert [r.call_id for r in results(stored)] == asked
    assert len(set(asked)) == len(asked)
    assert stored == list(talk.session.messages)


@pytest.mark.requirement("turn:planning-yields")
@pytest.mark.parametrize("leave_at", [None, 20])
async def test_others_work_while_many_calls_are_read(kit: Kit, leave_at: int | None) -> None:
    """A signal, say: it ends the turn between two calls, and each still has its one result."""
    many = calls(*[("murmur", {"text": "now"})] * 50)
    talk = open_talk(kit, RawModel(many, [TextDelta("done")]))
    ticks = 0

    async def others(turn: "asyncio.Task[TurnFinished]") -> None:
        nonlocal ticks
        while not any(isinstance(event, Answered) for event in await kit.events.batch()):
            pass
        while not kit.journal.lines and not turn.done():
            ticks += 1
            if ticks == leave_at:
                turn.cancel()
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(talk.session.run("go"))
        group.create_task(others(turn))
    answered = results(talk.session.messages)
    assert len(answered) == len({r.call_id for r in answered}) == 50
    assert turn.cancelled() == (leave_at is not None)
    assert ticks >= (leave_at or 45)
    assert bool(kit.journal.lines) == (leave_at is None)
