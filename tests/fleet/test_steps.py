"""Who hands out steps and who performs them, over one real queue in this process: 2 s of CPU, half dbos."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.fleet.messages import (
    Ask,
    SubTaskMessage,
    SubTaskResult,
)
from sam_tui.adapters.fleet.queues import LEASE_SECONDS, Leases, WorkHold, failure
from sam_tui.adapters.fleet.steps import StepQueues, StepRuns
from sam_tui.assembly import Options, build
from sam_tui.cli.commands.fleets.worker import RuntimeCalls
from sam_tui.core.ids import CallId, ConversationId, mint_conversation
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Approval, Inquiry, Question, Reply
from sam_tui.core.messages import ToolCall
from sam_tui.core.workflow.service import Workflows
from tests.fleet.hands import ROLE, Hands, hands, module_hands
from tests.fleet.waiting import until
from tests.workflow.bench import OPENED, Bench, open_kit
from tests.workflow.stage import Stage, on

__all__ = ["hands", "module_hands"]


@pytest.fixture(autouse=True)
def closed_databases() -> Iterator[None]:
    """No database of a test stays open."""
    yield
    while OPENED:
        OPENED.pop()()


def sub(id_: str, text: str, tool: str = "voice.murmur", **more: Any) -> dict[str, Any]:
    """A sub-task of the role that is handed out."""
    given = {"filePath": text} if tool == "voice.note" else {"text": text}
    return {"stepId": id_, "assigned_agent_role": ROLE, "tool_name": tool,
            "sub_task_input": given, "narrative_step": f"do {id_}", **more}  # fmt: skip


class Away:
    """A plan driven here whose role is handed out, and a worker with a program of its own."""

    def __init__(self, folder: Path, hands: Hands, *plans: list[Any]) -> None:
        self.bench = Bench(folder)
        persona = self.bench.workspace / ".sam" / "personas" / f"{ROLE}.md"
        persona.write_text(
            f"---\nname: {ROLE}\ntools: [voice.murmur, voice.note, voice.speak]\n---\nYou.\n"
        )
        self.bench.define(
            "policy: {on_exhausted: abort, replans: 1}\n"
            "steps: [{id: plan, kind: plan, prompt: plan, form: stages}]"
        )
        tools = {"voice.murmur": "murmurs", "voice.note": "notes", "voice.speak": "speaks"}
        bench = self.bench
        bench.workflows = Workflows(
            bench.store, bench.source, bench.clock, bench.told.append, lambda: tools
        )
        plays = [on("plan", {"summary": "p", "steps": plan}) for plan in reversed(plans)]
        if len(plans) > 1:
            plays[0][0]["when"] = {"user": "revision 2"}
        self.stage = Stage(bench, folder / "here", *plays)
        self.worker = open_kit(folder / "there")
        self.time, self.pace = 0.0, 0.0
        leases = Leases(self.monotonic)
        self.present = True
        self.person = Inquiries(
            self.stage.kit.bus, self.stage.bench.clock, attended=lambda _: self.present
        )
        self.queues = StepQueues(hands.database, [ROLE], str(folder), self.person, leases)
        self.stage.hand_out = self.queues
        self.loop = asyncio.get_running_loop()
        self.asking: list[Ask] = []
        self.answers: list[tuple[str, str]] = []
        self.runs = StepRuns({ROLE: ["voice.murmur"]}, self)
        self.execution = bench.workflows.start("flow").execution_id

    def monotonic(self) -> float:
        """A clock that goes on by ``pace`` with each look."""
        self.time += self.pace
        return self.time

    def begin(self, conversation: ConversationId, tool: str, arguments: str) -> "Any":
        """A call in the worker's program."""
        asked = ToolCall(CallId("call"), tool, arguments)
        made = self.worker.executor.execute(asked, self.worker.conversation)
        return asyncio.run_coroutine_threadsafe(made, self.loop)

    def asks(self, conversation: ConversationId) -> list[Ask]:
        """What the worker's program asks."""
        return self.asking

    def answer(self, ask: str, reply: str) -> None:
        """What its program is told."""
        self.answers.append((ask, reply))
        self.asking = [other for other in self.asking if other.id != ask]
        if not self.asking:
            self.loop.call_soon_threadsafe(self.worker.journal.gates["one"].set)

    async def asked(self, count: int) -> list[Inquiry]:
        """The questions that wait for the person here, once there are so many."""
        await asyncio.to_thread(until, lambda: len(self.person.pending()) == count)
        return self.person.pending()

    @property
    def lines(self) -> tuple[list[str], list[str]]:
        """What was said here, and there."""
        return self.stage.kit.journal.lines, self.worker.journal.lines


@pytest.mark.requirement("plans:workers")
async def test_a_step_is_carried_out_by_a_worker_of_its_role(tmp_path: Path, hands: Hands) -> None:
    away = Away(tmp_path, hands, [[sub("a", "one")], [sub("b", "then @{outputs.a.summary}")]])
    results: list[SubTaskResult] = []

    def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        results.append(away.runs.perform(task, hold))
        return results[-1]

    hands.perform = perform
    assert (await away.stage.run(away.execution)).state == "completed"
    assert away.lines == ([], ["begin one", "end one", "begin then one", "end then one"])
    first = hands.taken[0].model_dump()
    assert {name: first[name] for name in sorted(first) if not name.endswith("task_id")} == {
        "assigned_agent_role": ROLE, "narrative_step": first["narrative_step"], "stepId": "a",
        "sub_task_input": {"text": "one"}, "tool_name": "voice.murmur",
    }  # fmt: skip
    assert (first["sub_task_id"], first["parent_task_id"]) == (
        results[0].sub_task_id, results[0].parent_task_id,
    )  # fmt: skip
    assert (results[0].status, results[0].worker_agent_role) == ("COMPLETED", ROLE)


@pytest.mark.requirement("plans:workers")
async def test_a_step_waits_for_its_role_and_two_of_a_stage_come_home(
    tmp_path: Path, hands: Hands
) -> None:
    away = Away(tmp_path, hands, [[sub("a", "one"), sub("b", "two")]])
    both = threading.Event()

    def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        assert both.wait(60)  # the other one waits meanwhile: a worker takes one at a time
        return away.runs.perform(task, hold)

    hands.perform = perform

    def queued() -> list[str]:
        rows = hands.database.client.list_workflows(workflow_id_prefix="plan-", load_output=False)
        return sorted(row.status for row in rows)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(away.stage.run(away.execution), name="plan")
        await asyncio.to_thread(until, lambda: queued() == ["ENQUEUED", "PENDING"])
        both.set()
    assert running.result().state == "completed"
    assert sorted(task.stepId for task in hands.taken) == ["a", "b"]
    assert sorted(away.lines[1]) == ["begin one", "begin two", "end one", "end two"]
    outputs = {s.id: s.output for s in away.bench.workflows.records.steps(away.execution)}
    assert {id: (output or {})["text"] for id, output in outputs.items() if "/" in id} == {
        "plan/a": "one", "plan/b": "two",
    }  # fmt: skip
    away.queues.forget(away.execution)
    assert hands.database.client.list_workflows(workflow_id_prefix="plan-") == []


@pytest.mark.requirement("plans:workers")
async def test_what_a_worker_refuses_or_what_is_of_a_file_is_not_done_there(
    tmp_path: Path, hands: Hands
) -> None:
    refused, here = sub("a", "refuse"), sub("b", "x.txt", "voice.note")
    stays = sub("c", "to be remembered", "voice.speak")
    away = Away(tmp_path, hands, [[refused]], [[here, stays]])
    hands.perform = away.runs.perform
    assert (await away.stage.run(away.execution)).state == "completed"
    attempts = away.bench.workflows.records.history(away.execution)
    assert ["cannot" in a.error for a in attempts if a.step == "plan/a"] == [True]
    assert [task.stepId for task in hands.taken] == ["a"]
    remembered = ["begin to be remembered", "end to be remembered"]
    assert away.lines == (remembered, ["begin refuse"])
    assert any(
        "c: done here" in line and "needs data of this program" in line for line in away.stage.said
    )
    away.runs.tools = {ROLE: []}
    with pytest.raises(Exception, match="has no tool"):
        away.runs.perform(hands.taken[0], WorkHold(hands.database, "x.y", "hands"))


@pytest.mark.requirement("plans:workers")
async def test_a_worker_without_a_beat_loses_a_step_and_the_fourth_ends_it(
    tmp_path: Path, hands: Hands
) -> None:
    away = Away(tmp_path, hands, [[sub("a", "one")]], [[sub("b", "two")]])

    def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        is_silent = [t.stepId for t in hands.taken] != [*"aaaabb"]
        away.pace = 2 * LEASE_SECONDS if is_silent else 0  # time stands still for who does its work
        if not is_silent:
            return away.runs.perform(task, hold)
        count = len(hands.taken)
        until(lambda: len(hands.taken) > count or hands.is_lost(hold.id))
        return failure(task.parent_task_id, task.sub_task_id, ROLE, "too late")

    hands.perform = perform
    assert (await away.stage.run(away.execution)).state == "completed"
    assert [task.stepId for task in hands.taken] == [*"aaaabb"]
    history = away.bench.workflows.records.history(away.execution)
    assert "4 workers ended while they worked on it" in "".join(
        attempt.error for attempt in history
    )


@pytest.mark.requirement("plans:workers")
async def test_a_worker_that_is_ended_gives_its_step_to_another(
    tmp_path: Path, hands: Hands
) -> None:
    away = Away(tmp_path, hands, [[sub("a", "one")]])
    held = away.worker.journal.gates["one"] = asyncio.Event()
    hands.perform = away.runs.perform
    async with asyncio.TaskGroup() as group:
        running = group.create_task(away.stage.run(away.execution), name="plan")
        await away.worker.journal.until("begin one")
        await asyncio.to_thread(away.runs.stop)
        await asyncio.to_thread(until, lambda: len(hands.taken) == 2)
        held.set()
    assert running.result().state == "completed"
    assert [task.stepId for task in hands.taken] == ["a", "a"]


@pytest.mark.requirement("plans:asked")
async def test_what_a_worker_asks_reaches_who_drives_and_only_their_yes_approves(
    tmp_path: Path, hands: Hands
) -> None:
    away = Away(tmp_path, hands, [[sub("a", "one")]])
    away.worker.journal.gates["one"] = asyncio.Event()
    away.asking = [
        Ask(id="q1", title="web.get", targets=("https://a.test",), choices=("approve", "deny")),
        Ask(id="q2", title="web.get", targets=("https://b.test",), choices=("approve", "deny")),
        Ask(id="q3", title="Which one?", choices=("left", "right")),
    ]
    hands.perform = away.runs.perform
    async with asyncio.TaskGroup() as group:
        running = group.create_task(away.stage.run(away.execution), name="plan")
        for inquiry in await away.asked(3):
            request = inquiry.request
            if isinstance(request, Question):
                assert (request.choices, "worker hands asks" in request.context) == (
                    ("left", "right"), True,
                )  # fmt: skip
                answer = Reply("left")
            else:
                assert (request.asker, request.choices, request.timed_scope) == (
                    "worker hands", (), "",
                )  # fmt: skip
                is_first = request.targets == ("https://a.test",)
                answer = Approval("once") if is_first else Approval("deny", "yes")
            away.person.answer(inquiry.id, answer)
    assert running.result().state == "completed"
    assert sorted(away.answers) == [("q1", "approve"), ("q2", "No: yes"), ("q3", "left")]


@pytest.mark.requirement("plans:asked")
async def test_a_question_goes_with_its_worker_and_nobody_there_is_no_leave(
    tmp_path: Path, hands: Hands
) -> None:
    away = Away(tmp_path, hands, [[sub("a", "one")]])
    away.worker.journal.gates["one"] = asyncio.Event()
    asking = Ask(id="q1", title="web.get", choices=("approve", "deny"))

    def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        if len(hands.taken) > 1:
            return away.runs.perform(task, hold)
        hold.beat([asking])  # once, and never again
        until(lambda: hands.is_lost(hold.id))
        return failure(task.parent_task_id, task.sub_task_id, ROLE, "too late")

    hands.perform = perform
    async with asyncio.TaskGroup() as group:
        running = group.create_task(away.stage.run(away.execution), name="plan")
        (first,) = await away.asked(1)
        away.pace = 2 * LEASE_SECONDS
        await asyncio.to_thread(until, lambda: len(hands.taken) > 1)
        away.pace = 0
        assert not away.person.answer(first.id, Approval("once"))
        away.present = False
        away.asking = [asking]
    assert running.result().state == "completed"
    assert {*away.answers} == {("q1", "Nobody can be asked here.")}


@pytest.mark.requirement("plans:asked")
async def test_the_program_of_a_worker_asks_and_takes_the_answer(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    options = Options(str(tmp_path / "ws"), str(tmp_path / "data"), attended=True)
    runtime = build(options, {})
    calls = RuntimeCalls(runtime, asyncio.get_running_loop())
    outside = str(tmp_path / "outside.txt")
    arguments = {"operation": "create_file", "filePath": outside, "content": "x"}
    conversation = mint_conversation()

    def ask_and_answer() -> tuple[list[Ask], bool]:
        call = calls.begin(conversation, "file_operations", json.dumps(arguments))
        until(lambda: bool(calls.asks(conversation)))
        asks = list(calls.asks(conversation))
        assert list(calls.asks(mint_conversation())) == []
        calls.answer(asks[0].id, "No: not there")
        return asks, call.result(60).finished.ok

    try:
        (ask,), done = await asyncio.to_thread(ask_and_answer)
    finally:
        await runtime.close()
    assert (ask.targets, ask.choices, done) == ((outside,), ("approve", "deny"), False)
    assert not (await asyncio.to_thread(Path(outside).exists))
