"""What would walk around a gate: calls of one message, subagents, thinking time, other front ends."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sam_tools.workflow import WorkflowTool
from sam_tui.core.agent.budget import Budget
from sam_tui.core.agent.history import History
from sam_tui.core.agent.subagents import Sender, SubagentAssignment, Subagents, Surroundings
from sam_tui.core.agent.turn import Turn
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import WorkflowMoved
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Responder
from sam_tui.core.inquiry import Approval, Inquiry
from sam_tui.core.messages import ToolCall, ToolMessage
from sam_tui.core.ports.model import Delta, ModelRequest, TextDelta
from sam_tui.core.tooling.executor import CallSurroundings, Executor
from sam_tui.core.tooling.registry import Registry
from sam_tui.core.workflow.lazy import LazyWorkflows
from tests.fakes.engine_kit import Piece, RawModel, calls, example_tools, open_engine
from tests.workflow.bench import Bench, open_kit

PHASES = """
    steps:
      - {id: look, prompt: look, tools: [voice.murmur, run_subagent]}
      - {id: act, prompt: act, needs: [look], tools: [voice.speak]}
"""


class Way:
    """A kit whose turns are gated by lazy workflows over a bench's store."""

    def __init__(self, bench: Bench, folder: Path, responder: Responder | None = None) -> None:
        self.bench = bench
        self.opened = 0
        self.kit = open_kit(folder, responder)
        self.used = True
        self.lazy = LazyWorkflows(
            self._store, lambda: bench.source, lambda: self.used, bench.clock, self.kit.bus
        )
        tool = WorkflowTool(self.lazy.workflows, self.kit.inquiries, self.lazy.flush)
        kit, registry = self.kit, Registry([*example_tools(self.kit.journal), tool.tool()])
        storage, gate = kit.storage, self.lazy.gate
        surroundings = CallSurroundings(
            kit.guard, storage.results, storage.decisions, kit.bus, SystemClock(), gate
        )
        kit.executor = Executor(registry, surroundings)
        self.engine = open_engine(self.kit)

    def _store(self) -> Any:
        self.opened += 1
        return self.bench.store

    def begin(self) -> str:
        """An execution that the kit's conversation drives."""
        self.bench.define(PHASES)
        done = self.lazy.workflows().start("flow", {}, conversation=self.kit.conversation)
        return done.execution_id

    async def turn(self, *answers: Any) -> list[str]:
        """One turn of the kit's conversation; what its calls came to."""
        history = History(self.kit.storage.conversations, self.kit.conversation)
        model = RawModel(*answers, [TextDelta("done")])
        gate = self.lazy.gate(self.kit.conversation)
        budget = Budget(9)
        with self.engine.budgets.running(self.kit.conversation, budget, model, gate):
            await Turn(self.engine, model, history, budget).run("go")
        return [m.text for m in history.messages if isinstance(m, ToolMessage)]


class Moving(RawModel):
    """Before its second answer something else happens."""

    def __init__(self, move: Callable[[], None], *answers: Sequence[Piece]) -> None:
        super().__init__(*answers)
        self._move = move

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The next answer."""
        if len(self.seen) == 1:
            self._move()
        async for piece in super().stream(request):
            yield piece


@pytest.fixture
def way(bench: Bench, tmp_path: Path) -> Iterator[Way]:
    """Nobody is there to be asked."""
    made = Way(bench, tmp_path / "kit")
    yield made
    made.kit.storage.close()


def advance(step: str) -> tuple[str, dict[str, Any]]:
    """A call that finishes a step."""
    return "workflow", {"operation": "advance", "step": step, "output": {"summary": "s"}}


def voice(operation: str) -> tuple[str, dict[str, Any]]:
    """A call of an example tool."""
    return "voice", {"operation": operation, "text": operation}


@pytest.mark.requirement("workflow:gate-message")
async def test_calls_of_one_message_are_judged_by_the_phase_they_run_in(way: Way) -> None:
    way.begin()
    told = await way.turn(
        calls(voice("murmur"), advance("look"), voice("murmur"), voice("speak"), advance("act"))
    )
    assert told[0] == "murmur"
    assert "voice.murmur is not allowed in phase act. Allowed now: voice.speak" in told[2]
    assert told[3] == "speak"
    assert "completed" in told[4]
    assert way.kit.journal.lines == ["begin murmur", "end murmur", "begin speak", "end speak"]


@pytest.mark.requirement("workflow:gate-message")
async def test_a_call_that_cannot_be_read_is_still_outside_its_phase(way: Way) -> None:
    way.begin()
    told = await way.turn(calls(("voice", {"operation": "speak"}), ("vioce", {})))
    assert "voice.speak is not allowed in phase look" in told[0]
    assert "not allowed" not in told[1]


@pytest.mark.requirement("workflow:gate-message")
@pytest.mark.parametrize("verb", ["pause", "abandon"])
async def test_every_verb_that_moves_a_phase_holds_up_what_stands_after_it(
    way: Way, verb: str
) -> None:
    way.begin()
    told = await way.turn(calls(("workflow", {"operation": verb}), voice("speak")))
    assert ("is paused" in told[1]) is (verb == "pause")
    assert way.kit.journal.lines == ([] if verb == "pause" else ["begin speak", "end speak"])


@pytest.mark.requirement("workflow:gate-message")
async def test_a_phase_that_ends_while_the_person_thinks_lets_nothing_through(
    bench: Bench, tmp_path: Path
) -> None:
    thinking = list[Callable[[Inquiry], Approval]]()
    way = Way(bench, tmp_path / "kit", lambda inquiry: thinking[0](inquiry))
    bench.define("""
        steps:
          - {id: write, prompt: write, tools: [voice.note]}
          - {id: read, prompt: read, needs: [write], tools: []}
    """)
    workflows = way.lazy.workflows()
    execution = workflows.start("flow", {}, conversation=way.kit.conversation).execution_id

    def think(_: Inquiry) -> Approval:
        workflows.submit(execution, "write", {"summary": "another driver was faster"})
        return Approval("once")

    thinking.append(think)
    told = await way.turn(calls(("voice", {"operation": "note", "filePath": "/elsewhere/a"})))
    way.kit.storage.close()
    assert "voice.note is not allowed in phase read" in told[0]


@pytest.mark.requirement("workflow:gate-subagent")
async def test_a_subagent_obeys_the_phase_of_its_parent_while_it_works(way: Way) -> None:
    execution = way.begin()
    kit = way.kit

    def move() -> None:
        way.lazy.workflows().submit(execution, "look", {"summary": "behind its back"})

    model = Moving(
        move,
        calls(voice("murmur"), voice("speak")),
        calls(voice("speak"), voice("murmur")),
        [TextDelta("done")],
    )
    subagents = Subagents(
        kit.storage.conversations,
        way.engine.budgets,
        Surroundings(
            lambda: way.engine,
            lambda _name, _options: model,
            str,
            lambda prompt, _: prompt,
            kit.storage.memories.set_topic,
        ),
    )
    parent = kit.conversation
    gate = way.lazy.gate(parent)
    with way.engine.budgets.running(parent, Budget(9), model, gate):
        sender = Sender(parent, CallId("s"), lambda _: None)
        report = await subagents.run(sender, SubagentAssignment("look around"))
    results = [
        m.text
        for m in kit.storage.conversations.messages(report.conversation)
        if isinstance(m, ToolMessage)
    ]
    assert (results[0], results[2]) == ("murmur", "speak")
    assert "voice.speak is not allowed in phase look" in results[1]
    assert "voice.murmur is not allowed in phase act" in results[3]


@pytest.mark.requirement("workflow:gate")
async def test_a_call_of_any_front_end_is_judged_by_the_phase_of_its_conversation(
    way: Way,
) -> None:
    way.begin()
    execute, conversation = way.kit.executor.execute, way.kit.conversation
    call = ToolCall(CallId("c"), "voice.speak", '{"text": "loud"}')
    refused = await execute(call, conversation)
    assert "voice.speak is not allowed in phase look" in refused.finished.text
    assert (await execute(call, ConversationId("another"))).finished.ok
    narrowed = way.kit.executor.narrowed((), asker="x")
    assert not (await narrowed.execute(call, conversation)).finished.ok


@pytest.mark.requirement("workflow:lazy")
async def test_before_the_first_workflow_nothing_is_opened_and_every_gate_is_open(
    way: Way,
) -> None:
    way.used = False
    lazy, conversation = way.lazy, way.kit.conversation
    assert lazy.gate(conversation)("voice.speak") == ""
    assert lazy.digest(conversation) == ""
    assert lazy.phase(conversation) is None
    lazy.flush()
    lazy.close()
    assert way.opened == 0
    way.used = True
    lazy.on_conversation(ConversationId("new"))
    assert lazy.gate(ConversationId("new"))("voice.speak") == ""
    assert way.opened == 0
    assert lazy.gate(conversation)("voice.speak") == ""
    assert way.opened == 1


@pytest.mark.requirement("workflow:told")
async def test_every_change_is_told_on_the_bus_with_the_conversation_that_drives_it(
    way: Way,
) -> None:
    heard = way.kit.bus.subscribe()
    execution = way.begin()
    moved = [e for e in heard.drain() if isinstance(e, WorkflowMoved)]
    assert {(e.execution, e.conversation) for e in moved} == {(execution, way.kit.conversation)}
    assert [e.change for e in moved][-1] == "token_generated"
    assert [e.seq for e in moved] == sorted(e.seq for e in moved)
