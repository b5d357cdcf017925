"""Each model call is kept: what it sent, what of that was sent before, what came back, what it cost.

Costs about 0.4 s of CPU.
"""

from dataclasses import replace

import pytest

from sam_tui.core.agent.budget import Limits
from sam_tui.core.agent.calls.recorder import CallRecorder
from sam_tui.core.agent.calls.xray import xray
from sam_tui.core.agent.history import History
from sam_tui.core.agent.notes.planned import WhatLeaves
from sam_tui.core.agent.session import Session
from sam_tui.core.errors import ModelRejected
from sam_tui.core.events import Answered
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import Price, Usage
from tests.fakes.engine_kit import Echo, Hand, Kit, RawModel, calls, open_engine

TODO = Todo(2, "read the long one", "", "in-progress")


def open_recorded(kit: Kit, model: RawModel, reminder: Echo | None = None) -> Session:
    """A session whose calls are kept; ``raw`` costs a dollar for a million tokens in, ten out."""
    clock = Hand()
    prices, current = {"raw": Price(1.0, 10.0, 0.1)}, kit.board.current
    recorder = CallRecorder(kit.storage.calls, clock, prices, todo=current)
    engine = replace(open_engine(kit, [reminder or Echo()], clock), recorder=recorder)
    history = History(kit.storage.conversations, kit.conversation)
    history.restore(kit.executor.plan)
    return Session(engine, history, model, limits=Limits())


@pytest.mark.requirement("calls:prefix")
async def test_a_request_that_does_not_extend_the_one_before_names_the_first_block(
    kit: Kit,
) -> None:
    long = "what was said long ago " * 100
    model = RawModel(
        calls(("murmur", {"text": "a"})), [TextDelta(long)], [TextDelta("two")], [TextDelta("three")],
        [TextDelta("four")], [TextDelta("five")],
    )  # fmt: skip
    session = open_recorded(kit, model)

    def prefixes() -> list[tuple[bool, str]]:
        events = [e for e in kit.events.drain() if isinstance(e, Answered)]
        kept = [e.prefix for e in events if e.prefix is not None]
        assert len(kept) == len(events)
        return [(0 < p.same < p.size, p.culprit) for p in kept]

    await session.run("first")
    await session.run("second")
    # The first of a conversation has nothing before it, all others extend it.
    assert prefixes() == [(False, ""), (True, ""), (True, "")]
    planned, _ = await session.planner.plan(None, WhatLeaves("up to", 1))
    session.planner.apply(planned)
    await session.run("third")
    assert prefixes() == [(True, "compaction")]
    other = RawModel([TextDelta("four")])
    other.name = "other"
    session.model = other
    await session.run("fourth")
    assert prefixes() == [(False, "model: raw became other")]


@pytest.mark.requirement("calls:request", "calls:cost")
async def test_every_call_opens_as_it_was_sent_also_across_compactions_and_their_undo(
    kit: Kit,
) -> None:
    reminder = Echo()
    reminder.says = lambda view: f"rule {len(view.messages) // 4}"
    used = UsageDelta(Usage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=100_000))
    long = "what was said long ago " * 100
    model = RawModel(
        [*calls(("murmur", {"text": "a"}), ("ping", {}), ids=("k1", "k2")), used],
        [TextDelta(long), used], [TextDelta("two"), used], [ModelRejected("too bad")],
        [TextDelta("three")],
    )  # fmt: skip
    session = open_recorded(kit, model, reminder)
    await session.run("first")
    kit.board.replace(kit.conversation, [Todo(1, "old", "", "completed"), TODO])
    await session.run("second")
    kit.board.replace(kit.conversation, [replace(TODO, status="completed")])
    planned, _ = await session.planner.plan(None, WhatLeaves("up to", 1))
    session.planner.apply(planned)
    await session.run("third")
    assert session.planner.restore()
    await session.run("fourth")
    log = kit.storage.calls
    kept = log.calls(kit.conversation)
    assert [call.number for call in kept] == [1, 2, 3, 4, 5]
    for call, seen in zip(kept, model.seen, strict=True):
        request = log.request(kit.conversation, call.number)
        assert request is not None
        assert list(request.messages) == seen
        assert (request.system, request.tools_json) == ("system", kit.registry.schemas_json)
        words = xray(call, request)
        assert "REMINDER echo" in words and "system prompt" in words
    second = log.request(kit.conversation, 2)
    assert second is not None and "what was said long ago" in second.stream
    assert kept[3].fault == "too bad" and "too bad" in xray(kept[3], second)
    assert kept[0].tools == ("murmur", "ping")
    # Half a million fresh at 1, half a million cached at 0.1, a hundred thousand out at 10.
    assert kept[0].usage.cost == pytest.approx(1.55)  # pyright: ignore[reportUnknownMemberType]
    record = kit.storage.conversations.find(kit.conversation)
    assert record is not None and record.usage.cost == pytest.approx(4.65)  # pyright: ignore[reportUnknownMemberType]
    assert log.request(kit.conversation, 9) is None

    def costs(by: str) -> dict[str, float]:
        rows = log.totals(by, conversation=kit.conversation)  # pyright: ignore[reportArgumentType]
        return {row.key: round(row.usage.cost or 0, 3) for row in rows}

    assert costs("tool") == {"(answers)": 3.1, "murmur": 0.775, "ping": 0.775}
    assert costs("turn") == {"0001": 3.1, "0002": 1.55, "0003": 0, "0004": 0}
    assert costs("todo") == {"(none)": 3.1, "[2] read the long one": 1.55}
    assert costs("model") == {"raw": 4.65} and list(costs("folder").values()) == [4.65]
    assert not log.totals("day", since=kept[-1].at + 9)
    assert UserMessage("first") in session.messages
