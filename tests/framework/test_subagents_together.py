"""Several subagents at once, in real sessions of the assembled runtime, with every real tool."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sam_tui.core.agent.subagents import AT_ONCE
from sam_tui.core.events import RequestSent, SubagentStarted, TurnFinished
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from sam_tui.core.ports.model import Delta, ModelRequest, TextDelta, UsageDelta
from sam_tui.core.usage import Usage
from sam_tui.folders import settings_folder
from tests.fakes.engine_kit import Piece, calls
from tests.framework.bench import Bench, Person
from tests.framework.conftest import Opened

DEADLINE = 90.0
COST = UsageDelta(Usage(100, 0, 0, 10, cost=0.25))
SENT = "send them"
SECRET = "read by the subagent alone"


@dataclass
class Crowd:
    """A model that plays a part for each conversation, chosen by its first message."""

    parts: Mapping[str, Sequence[Sequence[Piece]]]
    name: str = "crowd"
    host = ""
    context_tokens: int | None = None
    seen: dict[str, list[list[Message]]] = field(default_factory=dict[str, list[list[Message]]])
    tools: dict[str, str] = field(default_factory=dict[str, str])
    at_once: int = 0
    most: int = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The next answer of the part; an event in it is waited for."""
        first = next(m.text for m in request.messages if isinstance(m, UserMessage))
        said = self.seen.setdefault(first, [])
        said.append(list(request.messages))
        self.tools[first] = request.tools_json
        self.at_once += first != SENT
        self.most = max(self.most, self.at_once)
        try:
            for piece in self.parts[first][len(said) - 1]:
                if isinstance(piece, asyncio.Event):
                    await piece.wait()
                elif isinstance(piece, Exception):
                    raise piece
                else:
                    yield piece
        finally:
            self.at_once -= first != SENT

    async def close(self) -> None:
        """Nothing to release."""


def errands(*tasks: str, **more: object) -> list[Piece]:
    """A message that sends a subagent for each task."""
    return calls(*[("run_subagent", {"task": task, **more}) for task in tasks])


def results(bench: Bench) -> list[ToolMessage]:
    """What the sender was told, in order."""
    return [m for m in bench.session.messages if isinstance(m, ToolMessage)]


class Watcher:
    """Waits for what the bus tells."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.children: dict[str, ConversationId] = {}
        self.ended: dict[ConversationId, TurnFinished] = {}
        self.asked: set[ConversationId] = set()

    async def until_asked(self, count: int) -> None:
        """Until so many subagents asked their model."""
        async with asyncio.timeout(DEADLINE):
            while len(self.asked) < count:
                self.take(await self.bench.events.batch())

    def take(self, events: Sequence[object]) -> None:
        """Keep what tells of subagents."""
        for event in events:
            match event:
                case SubagentStarted(child=child, task=task):
                    self.children[task] = child
                case TurnFinished(conversation=conversation):
                    self.ended[conversation] = event
                case RequestSent(conversation=conversation):
                    self.asked |= {conversation} & set(self.children.values())
                case _:
                    pass


def begin(opened: Opened, model: Crowd, person: Person | None = None) -> tuple[Bench, Watcher]:
    """A session with that model."""
    bench = opened(person=person)
    bench.runtime.use_model(model)
    bench.session.model = model
    return bench, Watcher(bench)


@pytest.mark.requirement("subagent:parallel")
async def test_the_calls_of_one_message_work_at_the_same_time_and_are_told_in_order(
    opened: Opened,
) -> None:
    together = asyncio.Barrier(3)
    met = [asyncio.Event() for _ in range(3)]
    finished: list[str] = []

    class Meeting(asyncio.Event):
        """Everybody waits for the other two, and then the last of them ends first."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        async def wait(self) -> bool:  # type: ignore[override]
            await together.wait()
            if self.number < 2:
                await met[self.number + 1].wait()
            finished.append(f"task {self.number}")
            met[self.number].set()
            return True

    parts: dict[str, Sequence[Sequence[Piece]]] = {
        f"task {n}": [[Meeting(n), TextDelta(f"answer {n}")]] for n in range(3)
    }
    parts[SENT] = [errands(*[f"task {n}" for n in range(3)]), [TextDelta("all back")]]
    bench, _ = begin(opened, Crowd(parts))
    async with asyncio.timeout(DEADLINE):
        assert (await bench.session.run(SENT)).answer == "all back"
    assert finished == ["task 2", "task 1", "task 0"]
    assert [f"answer {n}" in m.text for n, m in enumerate(results(bench))] == [True] * 3


@pytest.mark.requirement("subagent:parallel")
async def test_more_than_the_limit_wait_for_a_place(opened: Opened) -> None:
    gate = asyncio.Event()
    tasks = [f"task {n}" for n in range(AT_ONCE + 2)]
    parts: dict[str, Sequence[Sequence[Piece]]] = {t: [[gate, TextDelta("ok")]] for t in tasks}
    parts[SENT] = [errands(*tasks), [TextDelta("all back")]]
    model = Crowd(parts)
    bench, watcher = begin(opened, model)
    turn = asyncio.ensure_future(bench.session.run(SENT))
    await watcher.until_asked(AT_ONCE)
    assert len(bench.runtime.subagents.working) == AT_ONCE
    gate.set()
    async with asyncio.timeout(DEADLINE):
        assert (await turn).answer == "all back"
    assert model.most == AT_ONCE
    assert len(results(bench)) == AT_ONCE + 2


@pytest.mark.requirement("subagent:cancel-one")
async def test_cancelling_one_leaves_the_others_and_the_sender_at_work(opened: Opened) -> None:
    never, gate = asyncio.Event(), asyncio.Event()
    bench, watcher = begin(
        opened,
        Crowd({
            "long": [[TextDelta("so far"), never]],
            "short": [[gate, TextDelta("done")]],
            SENT: [errands("long", "short"), [TextDelta("went on")]],
        }),
    )
    turn = asyncio.ensure_future(bench.session.run(SENT))
    await watcher.until_asked(2)
    assert bench.runtime.subagents.cancel(watcher.children["long"])
    gate.set()
    async with asyncio.timeout(DEADLINE):
        finished = await turn
    assert (finished.reason, finished.answer) == ("finished", "went on")
    cancelled, done = results(bench)
    assert not cancelled.ok and "Status: cancelled" in cancelled.text
    assert done.ok and "done" in done.text
    watcher.take(bench.events.drain())
    assert watcher.ended[watcher.children["long"]].reason == "cancelled"
    assert not bench.runtime.subagents.cancel(watcher.children["long"])


@pytest.mark.requirement("subagent:cancel")
async def test_cancelling_the_turn_ends_all_and_leaves_no_call_without_a_result(
    opened: Opened,
) -> None:
    never = asyncio.Event()
    waiting: dict[str, Sequence[Sequence[Piece]]] = {t: [[never]] for t in ("a", "b", "c")}
    bench, watcher = begin(opened, Crowd({**waiting, SENT: [errands("a", "b", "c")]}))
    turn = asyncio.ensure_future(bench.session.run(SENT))
    await watcher.until_asked(3)
    turn.cancel()
    async with asyncio.timeout(DEADLINE):
        with pytest.raises(asyncio.CancelledError):
            await turn
    watcher.take(bench.events.drain())
    ends = [watcher.ended[child].reason for child in watcher.children.values()]
    assert ends == ["cancelled"] * 3
    assert [m.ok for m in results(bench)] == [False] * 3
    assert bench.runtime.subagents.working == ()
    for child in watcher.children.values():
        assert bench.runtime.engine.budgets.get(child) is None


@pytest.mark.requirement("subagent:budget")
async def test_each_has_a_budget_of_its_own_and_all_they_cost_is_the_senders(
    opened: Opened,
) -> None:
    loop = [*calls(("think", {"thoughts": "again"})), COST]
    bench, watcher = begin(
        opened,
        Crowd({
            "endless": [loop] * 9,
            "brief": [[TextDelta("done"), COST]],
            SENT: [
                [*errands("endless", "brief", maxIterations=3), COST],
                [TextDelta("went on"), COST],
            ],
        }),
    )
    async with asyncio.timeout(DEADLINE):
        finished = await bench.session.run(SENT)
    watcher.take(bench.events.drain())
    endless, brief = (watcher.ended[watcher.children[t]] for t in ("endless", "brief"))
    assert (endless.reason, endless.limit, endless.steps) == ("limit", "turns", 3)
    assert (brief.reason, brief.steps) == ("finished", 1)
    assert (endless.usage.cost, brief.usage.cost) == (0.75, 0.25)
    # Two calls of its own, three and one of theirs; its steps are its own.
    assert (finished.steps, finished.usage.cost) == (2, 1.5)
    assert finished.usage.input_tokens == 600


@pytest.mark.requirement("subagent:asks-by-name")
async def test_approvals_of_two_at_work_say_which_of_them_asks(opened: Opened) -> None:
    def writing(name: str) -> Sequence[Sequence[Piece]]:
        place = {"filePath": f"../{name}.txt", "content": name}
        return [calls(("create_file", place)), [TextDelta("wrote")]]

    person = Person()
    bench, _ = begin(
        opened,
        Crowd({
            "first job": writing("one"),
            "second job": writing("two"),
            SENT: [errands("first job", "second job"), [TextDelta("ok")]],
        }),
        person,
    )
    async with asyncio.timeout(DEADLINE):
        await bench.session.run(SENT)
    asked = {request.asker: request.targets for request in person.approvals}
    assert set(asked) == {"subagent: first job", "subagent: second job"}
    assert "one.txt" in str(asked["subagent: first job"])
    assert (bench.folder.parent / "two.txt").read_text() == "two"


@pytest.mark.requirement("subagent:isolated")
async def test_only_the_summary_is_in_the_senders_context_and_it_cannot_send_others(
    opened: Opened,
) -> None:
    model = Crowd({
        "look": [
            calls(("think", {"thoughts": SECRET}), ("run_subagent", {"task": "deeper"})),
            [TextDelta("the summary")],
        ],
        SENT: [errands("look"), [TextDelta("ok")]],
    })
    bench, watcher = begin(opened, model)
    async with asyncio.timeout(DEADLINE):
        await bench.session.run(SENT)
    watcher.take(bench.events.drain())
    told = model.seen[SENT][-1]
    assert any("the summary" in m.text for m in told)
    assert not any(SECRET in m.text for m in told)
    own = bench.runtime.conversations.messages(watcher.children["look"])
    assert any(SECRET in m.text for m in own)
    assert any("no tool called 'run_subagent'" in m.text for m in own)
    assert '"run_subagent"' in model.tools[SENT]
    assert '"run_subagent"' not in model.tools["look"]


@pytest.mark.requirement("subagent:at-work")
async def test_one_at_work_is_not_opened_as_if_it_had_been_broken_off(opened: Opened) -> None:
    gate = asyncio.Event()
    bench, watcher = begin(
        opened,
        Crowd({"wait": [[gate, TextDelta("done")]], SENT: [errands("wait"), [TextDelta("ok")]]}),
    )
    turn = asyncio.ensure_future(bench.session.run(SENT))
    await watcher.until_asked(1)
    with pytest.raises(Exception, match="is working"):
        bench.runtime.open_session(watcher.children["wait"])
    gate.set()
    async with asyncio.timeout(DEADLINE):
        await turn
    opened_again = bench.runtime.open_session(watcher.children["wait"])
    answers = [m.text for m in opened_again.messages if isinstance(m, AssistantMessage)]
    assert answers == ["done"]


def define(step: str) -> None:
    """A workflow of the person with one step."""
    file = Path(settings_folder(), "workflows", "flow.md")
    file.parent.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: flow\ndescription: d.\nsteps: [{step}]\n---\n"
    file.write_text(text, encoding="utf-8")


@pytest.mark.requirement("plans:workers")
async def test_what_the_subagent_of_a_step_uses_is_counted_with_its_execution(
    opened: Opened,
) -> None:
    bench, _ = begin(opened, Crowd({"look": [[TextDelta("seen"), COST]]}))
    define("{id: a, kind: tool, tool: run_subagent, arguments: {task: look}}")
    workflows = bench.runtime.workflows.workflows()
    execution = workflows.start("flow").execution_id
    view = await bench.runtime.open_runner(print).run(execution)
    assert view.state == "completed", view.reason
    calls, usage = workflows.records.used(execution)
    assert (calls, usage.input_tokens, usage.output_tokens, usage.cost) == (1, 100, 10, 0.25)
