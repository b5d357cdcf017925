"""Who hands out and who performs, over one real queue in this process: 1.5 s of CPU, mostly dbos."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.fleet.database import QueueDatabase, database_url, load
from sam_tui.adapters.fleet.driver import Driver
from sam_tui.adapters.fleet.messages import (
    HeadlessInput,
    HeadlessResult,
    Seal,
    SubTaskMessage,
    SubTaskResult,
)
from sam_tui.adapters.fleet.queues import LEASE_SECONDS, Leases, Takes, WorkHold, failure
from sam_tui.adapters.fleet.records import FleetFolder, Fleets, FleetSettings
from sam_tui.adapters.fleet.steps import StepQueues, StepRuns
from sam_tui.adapters.fleet.tasks import FleetLimits, FleetTask, Rate
from sam_tui.core.ids import CallId
from sam_tui.core.messages import ToolCall
from sam_tui.core.workflow.service import Workflows
from tests.fleet.waiting import until
from tests.workflow.bench import OPENED, Bench, open_kit
from tests.workflow.stage import Stage, on

Perform = Callable[[SubTaskMessage, WorkHold], SubTaskResult]
ROLE = "Talker"


class Hands:
    """The one worker of this process; each test says what it does with a sub-task."""

    def __init__(self, folder: Path) -> None:
        self.database = QueueDatabase(database_url({}, str(folder)), Seal("k" * 40))
        self.perform: Perform = lambda task, hold: failure("x", "x", "", "nothing to do")
        self.taken: list[SubTaskMessage] = []
        Takes(self.database, ["FleetAgent", ROLE], "hands", self._take)

    def _take(self, task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        self.taken.append(task)
        return self.perform(task, hold)


@pytest.fixture(scope="module")
def module_hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hands]:
    """Hands for all of these tests."""
    hands = Hands(tmp_path_factory.mktemp("hands"))
    yield hands
    load().DBOS.destroy(workflow_completion_timeout_sec=0)
    hands.database.close()


@pytest.fixture
def hands(module_hands: Hands) -> Hands:
    """Hands that have taken nothing yet, and empty queues."""
    module_hands.taken.clear()
    client = module_hands.database.client
    if rows := client.list_workflows(load_input=False, load_output=False):
        client.delete_workflows([row.workflow_id for row in rows])
    return module_hands


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
        persona.write_text(f"---\nname: {ROLE}\ntools: [voice.murmur, voice.note]\n---\nYou.\n")
        self.bench.define(
            "policy: {on_exhausted: abort, replans: 1}\n"
            "steps: [{id: plan, kind: plan, prompt: plan, form: stages}]"
        )
        tools = {"voice.murmur": "murmurs", "voice.note": "notes"}
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
        self.queues = StepQueues(hands.database, [ROLE], str(folder), leases)
        self.stage.hand_out = self.queues
        loop = asyncio.get_running_loop()

        def call(tool: str, arguments: str) -> "Any":
            asked = ToolCall(CallId("call"), tool, arguments)
            executor = self.worker.executor
            return asyncio.run_coroutine_threadsafe(
                executor.execute(asked, self.worker.conversation), loop
            )

        self.runs = StepRuns({ROLE: ["voice.murmur"]}, call)
        self.execution = bench.workflows.start("flow").execution_id

    def monotonic(self) -> float:
        """A clock that goes on by ``pace`` with each look."""
        self.time += self.pace
        return self.time

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
    away = Away(tmp_path, hands, [[refused]], [[here]])
    hands.perform = away.runs.perform
    assert (await away.stage.run(away.execution)).state == "completed"
    attempts = away.bench.workflows.records.history(away.execution)
    assert ["cannot" in a.error for a in attempts if a.step == "plan/a"] == [True]
    assert [task.stepId for task in hands.taken] == ["a"]
    assert away.lines == ([], ["begin refuse"])
    away.runs.tools = {ROLE: []}
    with pytest.raises(Exception, match="has no tool"):
        away.runs.perform(hands.taken[0], WorkHold(hands.database, "x.y", "hands"))


@pytest.mark.requirement("plans:workers")
async def test_a_worker_without_a_beat_loses_a_step_and_the_fourth_ends_it(
    tmp_path: Path, hands: Hands
) -> None:
    away = Away(tmp_path, hands, [[sub("a", "one")]], [[sub("b", "two")]])

    def is_lost(id: str) -> bool:
        return hands.database.client.list_workflows(workflow_ids=[id])[0].status != "PENDING"

    def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        is_silent = [t.stepId for t in hands.taken] != [*"aaaabb"]
        away.pace = 2 * LEASE_SECONDS if is_silent else 0  # time stands still for who does its work
        if not is_silent:
            return away.runs.perform(task, hold)
        count = len(hands.taken)
        until(lambda: len(hands.taken) > count or is_lost(hold.id))
        return failure(task.parent_task_id, task.sub_task_id, ROLE, "too late")

    hands.perform = perform
    assert (await away.stage.run(away.execution)).state == "completed"
    assert [task.stepId for task in hands.taken] == [*"aaaabb"]
    history = away.bench.workflows.records.history(away.execution)
    assert "4 workers ended over it" in "".join(attempt.error for attempt in history)


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


class Drive:
    """A fleet whose tasks are performed in this process, by what their prompts say."""

    def __init__(self, folder: Path, hands: Hands, *tasks: FleetTask, **limits: Any) -> None:
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        settings = FleetSettings(
            id="fleet", workspace=str(self.workspace), limits=FleetLimits(**limits)
        )
        self.fleet: FleetFolder = Fleets(str(folder)).create(settings, tasks)
        self.hands, self.applied, self.lost = hands, list[str](), list[str]()
        self.time, self.pace = 0.0, 0.0
        self.begun: list[tuple[str, float, int]] = []
        # of each taken task its id, when, and how many of its model were handed out then
        hands.perform = self.perform

    def monotonic(self) -> float:
        """A clock that goes on by ``pace`` with each look, until a task was given back."""
        self.time += 0 if any(r.returns for r in self.fleet.records.values()) else self.pace
        return self.time

    def dead(self) -> list[str]:
        """Names of workers that ended, once a task was taken."""
        names, self.lost = (self.lost, []) if self.begun else ([], self.lost)
        return names

    async def apply(self, patch: str) -> str:
        """Apply a patch."""
        self.applied.append(patch)
        return ""

    async def run(self) -> dict[str, str]:
        """Drive to the end; the state of each task."""
        driver = Driver(
            self.fleet, self.hands.database, self, self.apply, lambda record: None,
            monotonic=self.monotonic,
        )  # fmt: skip
        await driver.drive()
        return {record.id: record.state for record in self.fleet.records.values()}

    def perform(self, task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        """Do what the prompt says: fail so many times, be silent the first time, or be done."""
        wish = HeadlessInput.model_validate(task.sub_task_input)
        flying = [r.id for r in self.fleet.records.values() if r.state == "queued"]
        models = [self.fleet.tasks[id].model for id in flying]
        times = sum(id == task.stepId for id, _, _ in self.begun)
        self.begun.append((task.stepId, self.time, models.count(wish.model)))
        word, _, number = wish.prompt.partition(" ")
        if word == "fail" and times < int(number):
            return failure("fleet", task.sub_task_id, task.assigned_agent_role, "no luck")
        while word == "hold" and hold.beat(()) is not None:
            threading.Event().wait(0.05)
        if word == "silent" and times == 0:
            rows = self.hands.database.client.list_workflows
            until(
                lambda: len(self.begun) > 1 or rows(workflow_ids=[hold.id])[0].status != "PENDING"
            )
        result = HeadlessResult(answer="done", cost=1.0, tokens=10)
        return SubTaskResult(
            sub_task_id=task.sub_task_id, parent_task_id=task.parent_task_id,
            worker_agent_role=task.assigned_agent_role, status="COMPLETED",
            result_data=result.model_dump(),
        )  # fmt: skip


def tasks(*prompts: str, **more: Any) -> list[FleetTask]:
    """Tasks t1, t2, ... of these prompts."""
    return [FleetTask(id=f"t{n}", prompt=p, **more) for n, p in enumerate(prompts, 1)]


LIMITED: list[tuple[list[FleetTask], dict[str, Any], dict[str, str], str]] = [
    (tasks("fail 2", "fail 9"), {"retries": 2}, {"t1": "done", "t2": "failed"}, "no luck"),
    (tasks("fail 1", retries=0), {"retries": 5}, {"t1": "failed"}, "no luck"),
    (tasks(*"abcd"), {"at_once": 1, "max_cost": 2}, {"t2": "done", "t3": "cancelled"}, "budget"),
    (tasks(*"abcd"), {"at_once": 1, "max_tokens": 20}, {"t2": "done", "t4": "cancelled"}, "tokens"),
]


@pytest.mark.requirement("fleet:retries", "fleet:limits")
@pytest.mark.parametrize(("given", "limits", "states", "why"), LIMITED)
async def test_tasks_are_tried_again_and_none_begins_beyond_a_budget(
    tmp_path: Path, hands: Hands, given: list[FleetTask], limits: dict[str, Any],
    states: dict[str, str], why: str,
) -> None:  # fmt: skip
    drive = Drive(tmp_path, hands, *given, **limits)
    ended = await drive.run()
    assert {id: ended[id] for id in states} == states
    record = drive.fleet.records[list(states)[-1]]
    assert why in record.error
    begun = [id for id, _, _ in drive.begun]
    assert (record.id in begun) == (ended[record.id] != "cancelled")


@pytest.mark.requirement("fleet:limits")
async def test_rates_hold_for_the_fleet_and_for_each_model(tmp_path: Path, hands: Hands) -> None:
    model, other = tasks("a", "b", model="m"), tasks("x", "c", "d", model="n")
    given = [*model, *(t.model_copy(update={"id": f"o{t.id}"}) for t in other)]
    rates = {"m": Rate(at_once=1), "n": Rate(per_minute=2)}
    drive = Drive(tmp_path, hands, *given, at_once=9, models=rates)
    drive.pace = 0.5
    assert set((await drive.run()).values()) == {"done"}
    first = {id: (at, most) for id, at, most in reversed(drive.begun)}
    assert (first["t1"][1], first["t2"][1]) == (1, 1)
    times = sorted(at for id, (at, _) in first.items() if id.startswith("o"))
    assert times[2] - times[0] >= 50  # the third began in the next minute, as the clock here has it


@pytest.mark.requirement("fleet:cancel")
async def test_a_fleet_that_is_cancelled_ends_what_runs_and_begins_nothing(
    tmp_path: Path, hands: Hands
) -> None:
    drive = Drive(tmp_path, hands, *tasks("hold", "b", "c"), at_once=1)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(drive.run(), name="fleet")
        await asyncio.to_thread(until, lambda: bool(drive.begun))
        drive.fleet.cancel()
    assert set(running.result().values()) == {"cancelled"}
    assert [id for id, _, _ in drive.begun] == ["t1"]
    drive.fleet.reopen()
    hands.perform = lambda task, hold: drive.perform(
        task.model_copy(update={"sub_task_input": {"prompt": "a"}}), hold
    )
    assert set((await drive.run()).values()) == {"done"}


@pytest.mark.requirement("fleet:exactly-once")
@pytest.mark.parametrize("crew", [True, False])
async def test_work_is_given_back_at_once_by_a_known_worker_and_after_15_seconds_by_others(
    tmp_path: Path, hands: Hands, crew: bool
) -> None:
    drive = Drive(tmp_path, hands, *tasks("silent"), retries=0)
    drive.lost, drive.pace = (["hands"], 0.0) if crew else ([], 5.0)
    assert await drive.run() == {"t1": "done"}
    assert (drive.fleet.records["t1"].returns, len(drive.begun)) == (1, 2)
    assert (drive.time > LEASE_SECONDS) is not crew


PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"


@pytest.mark.requirement("fleet:exactly-once", "fleet:patches")
@pytest.mark.parametrize(("text", "applied"), [("one\n", 1), ("two\n", 0)])
async def test_a_driver_killed_while_applying_applies_once_and_takes_up_what_it_handed_out(
    tmp_path: Path, hands: Hands, text: str, applied: int
) -> None:
    drive = Drive(tmp_path, hands, *tasks("a", "b", "c"))
    (drive.workspace / "a.txt").write_text(text)
    first, second, third = drive.fleet.records.values()
    first.state = "applying"
    drive.fleet.keep("patches", "t1", PATCH)
    (drive.fleet.path / "patches" / "t1").rename(drive.fleet.path / "patches" / "t1.patch")
    second.state, second.attempt = "queued", 1  # written down, and killed before it was enqueued
    drive.fleet.save(second)
    assert set((await drive.run()).values()) == {"done"}
    assert (len(drive.applied), sorted(id for id, _, _ in drive.begun)) == (applied, ["t2", "t3"])
    assert (second.attempt, third.attempt) == (2, 1)
