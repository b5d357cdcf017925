"""Runs whose drivers are killed at random points, again and again, until the execution is completed.

Every driver is a process of its own with a real store, real conversations and the real runner. It kills
itself by SIGKILL at a random one of its function calls, so the points do not depend on the machine.
"""

import asyncio
import os
import random
import re
import signal
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from sam_tui.core.inquiry import Inquiry, Question, Reply
from sam_tui.core.messages import ToolMessage, UserMessage
from sam_tui.core.ports.model import CallDelta, Delta, ModelRequest, TextDelta
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.executor import CallSurroundings, Executor
from sam_tui.core.tooling.registry import Registry
from sam_tui.core.workflow.drivers.run import RunContext
from sam_tui.core.workflow.drivers.runner import Runner
from sam_tui.core.workflow.views import WorkflowRefused
from tests.fakes.engine_kit import Say, open_engine, open_kit
from tests.workflow.bench import NO_OTHER_MODELS, Bench

FLOW = """
    steps:
      - {id: look, prompt: look}
      - {id: act, kind: tool, needs: [look], tool: mark, arguments: {text: act}}
      - {id: also, kind: tool, needs: [look], tool: mark, arguments: {text: also}}
      - {id: ask, kind: human, needs: [act, also], prompt: "Go on?", choices: [go, stop]}
      - {id: plan, kind: plan, needs: [ask], prompt: plan}
      - {id: end, kind: tool, needs: [plan], tool: mark, arguments: {text: end}}
"""
EFFECTS = {"look", "act", "also", "plan/x", "plan/y", "end"}
STEPS = {*EFFECTS, "ask", "plan"}
PLAN = '{"summary": "two", "steps": [{"id": "x", "prompt": "x"}, {"id": "y", "prompt": "y"}]}'
_CALLS = 60_000
"""Function calls and returns of two thirds of a run, from which the points are drawn."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What so many kills came to: effects had twice, steps or effects lost, files not whole."""

    executions: int
    kills: int
    twice: int
    lost: int
    broken: int


class Effects:
    """A file to which each step that has an effect writes its name."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def counted(self) -> Counter[str]:
        """How often each was written."""
        return Counter(self._file.read_text("utf-8").split() if self._file.exists() else ())

    async def mark(self, arguments: Say, _: ToolContext) -> ToolResult:
        """Have the effect."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{arguments.text}\n")
        return ToolResult("marked")

    def tool(self) -> Tool:
        """The tool that has it."""
        mark = Operation(
            "mark", "mark it", Say, self.mark, lambda a: a.text, schedule=Schedule.SERIAL
        )
        return Tool("mark", "Marks.", (mark,), consolidated=False)

    def answer(self, inquiry: Inquiry) -> Reply:
        """A person who looks whether an interrupted step had its effect."""
        assert isinstance(inquiry.request, Question)
        if "go" in inquiry.request.choices:
            return Reply("go")
        step = inquiry.request.context.rpartition(" ")[2]
        return Reply("accept" if self.counted()[step] else "retry")


class Worker:
    """A model that does a step once: after an interruption it looks whether it was done."""

    name = "worker"
    host = ""
    context_tokens: int | None = None

    def __init__(self, effects: Effects) -> None:
        self._effects = effects

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The call that has the effect, or the answer."""
        asked = [m.text for m in request.messages if isinstance(m, UserMessage)]
        found = re.search(r"step ([a-z/]+),", asked[0]) or re.search(r"step (\S+)", asked[0])
        assert found is not None
        step, last = found[1], request.messages[-1]
        done = isinstance(last, ToolMessage) and last.ok
        if step == "plan":
            yield TextDelta(PLAN)
        elif done or self._effects.counted()[step]:
            yield TextDelta("done")
        else:
            calls = sum(isinstance(m, ToolMessage) for m in request.messages)
            yield CallDelta(0, f"c{calls}", "mark", f'{{"text": "{step}"}}')

    async def close(self) -> None:
        """Nothing to release."""


async def drive(folder: Path) -> None:
    """Run the execution to its end, waiting while another process drives it."""
    bench, effects = Bench(folder), Effects(folder / "effects")
    kit = open_kit(folder / "kit", effects.answer)
    kit.registry = Registry([effects.tool()])
    kit.executor = Executor(
        kit.registry,
        CallSurroundings(
            kit.guard, kit.storage.results, kit.storage.decisions, kit.bus, bench.clock
        ),
    )
    engine, store = open_engine(kit), kit.storage.conversations
    crew = RunContext(
        engine, store, kit.inquiries, Worker(effects), NO_OTHER_MODELS, kit.conversation
    )
    while bench.workflows.records.execution("run").state != "completed":
        try:
            await Runner(bench.workflows, crew, kit.bus).run("run")
        except WorkflowRefused as refused:
            assert refused.code == "execution_held", refused
            await asyncio.sleep(0.005)


def started(folder: Path, point: int) -> int:
    """A driver that dies at its ``point``-th call; its process id."""
    child = os.fork()
    if child:
        return child
    left = point

    def counted(*_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    code = 3
    try:
        sys.setprofile(counted)
        asyncio.run(drive(folder))
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


def killed(folder: Path, kills: int, seed: int) -> Tally:
    """Run executions, their drivers killed, until there were so many kills.

    Half of the executions are driven by two processes at once. Raises ``AssertionError`` where a
    driver fails otherwise than by being killed.
    """
    rng, total = random.Random(seed), Counter[str]()
    for number in count(1):
        place = folder / str(number)
        bench = Bench(place)
        bench.define(FLOW)
        bench.workflows.start("flow", execution_id="run")
        bench.close()
        # No store is open here while children are forked.
        open_kit(place / "kit").storage.close()
        ended = False
        while not ended:
            points = [rng.randrange(1, _CALLS) for _ in range(1 + number % 2)]
            drivers = [started(place, point) for point in points]
            for driver in drivers:
                status = os.waitpid(driver, 0)[1]
                died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
                assert died or status == 0, f"a driver ended with {status} at {points}, seed {seed}"
                total["kills"] += died
                ended = ended or not status
            total["broken"] += sum(not whole(file) for file in place.rglob("*.db"))
        twice, lost = judged(place)
        total["twice"] += twice
        total["lost"] += lost
        if total["kills"] >= kills:
            return Tally(number, total["kills"], total["twice"], total["lost"], total["broken"])
    raise AssertionError


def whole(file: Path) -> bool:
    """Whether SQLite finds nothing wrong in a database."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def judged(folder: Path) -> tuple[int, int]:
    """How many steps or effects of an ended execution were there twice, and how many not at all."""
    effects, bench = Effects(folder / "effects").counted(), Bench(folder)
    events = bench.workflows.records.reader.events(EventQuery("run", limit=100_000))
    completed = Counter(event.step for event in events if event.type == "step_completed")
    bench.close()
    twice = [name for seen in (effects, completed) for name in seen if seen[name] > 1]
    lost = [*(EFFECTS - effects.keys()), *(STEPS - completed.keys())]
    return len(twice), len(lost)
