"""What drives a fleet, over one real queue in this process: 1 s of CPU, mostly dbos."""

import asyncio
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from sam_tui.adapters.fleet.driver import Driver, WorkersEnded
from sam_tui.adapters.fleet.messages import (
    FLEET_ROLE,
    HeadlessInput,
    HeadlessResult,
    SubTaskMessage,
    SubTaskResult,
)
from sam_tui.adapters.fleet.queues import (
    LEASE_SECONDS,
    QueueReads,
    SubTaskQueue,
    Work,
    WorkHold,
    failure,
)
from sam_tui.adapters.fleet.records import FleetFolder, Fleets, FleetSettings
from sam_tui.adapters.fleet.tasks import FleetLimits, FleetTask, Rate
from tests.fakes.preloaded import SCRIPT
from tests.fleet.hands import Hands, hands, module_hands
from tests.fleet.waiting import until

__all__ = ["hands", "module_hands"]


LIES: dict[str, dict[str, Any]] = {
    "of another": {"sub_task_id": "t9-1"},
    "of another fleet": {"parent_task_id": "other"},
    "of another role": {"worker_agent_role": "UtilityAgent"},
    "negative": {"result_data": {"cost": -1.0}},
    "huge": {"result_data": {"tokens": 10**400}},
    "endless": {"result_data": {"seconds": float("inf")}},
    "no result": {"result_data": [1]},
    "not well": {"error_details": {"message": "but no"}},
}
"""What results of workers that lie have in place of the truth, by the prompt."""


@pytest.mark.requirement("fleet:idle")
def test_a_queue_is_read_after_each_change_and_else_ever_more_rarely() -> None:
    look, change = 0, 1
    reads = QueueReads(lambda: change, 1.0, lambda: look * 0.06)

    class System:
        """What dbos asks: the settings of a queue, and whether to take from it."""

        def __init__(self) -> None:
            self.asked = list[int]()

        def get_queue(self, name: str) -> str:
            return name

        def dequeue_scopes(self, name: str) -> list[None]:
            self.asked.append(look)
            return [None]

    system = System()
    reads.limit(system)
    for look in range(100):
        change = 1 + (look >= 70)
        assert system.get_queue("q") == "q"
        system.dequeue_scopes("q")
    assert system.asked == [0, 1, 3, 7, 14, 28, 45, 62, 70, 71, 73, 77, 84, 98]
    reads.last.clear()
    assert system.dequeue_scopes("q"), "with room for work again, at once"


@pytest.mark.requirement("fleet:idle")
def test_a_commit_of_another_connection_is_a_change(hands: Hands) -> None:
    changes = hands.database.changes.number
    before = changes()
    assert changes() == before
    hands.database.keep_bundle("b", "text")
    assert changes() != before


class Drive:
    """A fleet whose tasks are performed in this process, by what their prompts say."""

    exhausted = False

    def __init__(self, folder: Path, hands: Hands, *tasks: FleetTask, **limits: Any) -> None:
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        settings = FleetSettings(
            id="fleet", workspace=str(self.workspace), limits=FleetLimits(**limits)
        )
        self.fleet: FleetFolder = Fleets(str(folder)).create(settings, tasks)
        self.hands, self.applied, self.lost = hands, list[str](), list[str]()
        self.time, self.pace = 0.0, 0.0
        self.said: list[str] = []
        self.begun: list[tuple[str, float, int]] = []
        # of each taken task its id, when, and how many of its model were handed out then
        self.wishes: list[HeadlessInput] = []
        hands.perform = self.perform

    def monotonic(self) -> float:
        """A clock that goes on by ``pace`` with each look, until a task was given back.

        It waits for workers to take what was handed out: a busy machine lets them begin late.
        """
        records, taken = self.fleet.records.values(), {id for id, _, _ in self.begun}
        waits = any(r.returns or (r.state == "queued" and r.id not in taken) for r in records)
        self.time += 0 if waits else self.pace
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
            monotonic=self.monotonic, say=self.said.append,
        )  # fmt: skip
        await driver.drive()
        return {record.id: record.state for record in self.fleet.records.values()}

    def perform(self, task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        """Do what the prompt says: fail so many times, be silent the first time, or be done."""
        wish = HeadlessInput.model_validate(task.sub_task_input)
        self.wishes.append(wish)
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
        cost, used = (None if word in ("free", "mute") else 1.0), (0 if word == "mute" else 10)
        result = HeadlessResult(answer="done", cost=cost, tokens=used)
        return SubTaskResult.model_validate({
            "sub_task_id": task.sub_task_id, "parent_task_id": task.parent_task_id,
            "worker_agent_role": task.assigned_agent_role, "status": "COMPLETED",
            "result_data": result.model_dump(), **LIES.get(wish.prompt, {}),
        })  # fmt: skip


def tasks(*prompts: str, **more: Any) -> list[FleetTask]:
    """Tasks t1, t2, ... of these prompts."""
    return [FleetTask(id=f"t{n}", prompt=p, **more) for n, p in enumerate(prompts, 1)]


LIMITED: list[tuple[list[FleetTask], dict[str, Any], dict[str, str], str]] = [
    (tasks("fail 2", "fail 9"), {"retries": 2}, {"t1": "done", "t2": "failed"}, "no luck"),
    (
        tasks("fail 1", retries=0, max_turns=3, max_tokens=90, max_cost=5.0),
        {"retries": 5},
        {"t1": "failed"},
        "no luck",
    ),
    (tasks(*"abcd"), {"at_once": 1, "max_cost": 2}, {"t2": "done", "t3": "cancelled"}, "budget"),
    (tasks(*"abcd"), {"at_once": 1, "max_tokens": 20}, {"t2": "done", "t4": "cancelled"}, "tokens"),
    (tasks("free", "b"), {"at_once": 1, "max_cost": 9}, {"t1": "done", "t2": "cancelled"}, "price"),
    (tasks("mute", "b"), {"at_once": 1, "max_cost": 9}, {"t1": "done", "t2": "cancelled"}, "usage"),
    (
        tasks("mute", "b"),
        {"at_once": 1, "max_tokens": 9},
        {"t1": "done", "t2": "cancelled"},
        "usage",
    ),
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
    limited = ("max_turns", "max_tokens", "max_cost")
    wish, task = (data.model_dump(include=set(limited)) for data in (drive.wishes[0], given[0]))
    assert wish == task


@pytest.mark.requirement("fleet:sealed")
async def test_results_of_workers_that_lie_fail_their_own_task_alone(
    tmp_path: Path, hands: Hands
) -> None:
    given = tasks(*LIES, "truth")
    given[7] = given[7].model_copy(update={"retries": 1})  # what both attempts took is summed up
    drive = Drive(tmp_path, hands, *given, retries=0)
    states = await drive.run()
    assert states == {**{f"t{n}": "failed" for n in range(1, 9)}, "t9": "done"}
    records = drive.fleet.records.values()
    took = (sum(r.cost or 0 for r in records), sum(r.tokens for r in records))
    assert took == (4.0, 40)  # what was of the form


@pytest.mark.requirement("fleet:exactly-once")
def test_a_worker_that_ends_leaves_work_alone_that_is_not_its_own_any_more(hands: Hands) -> None:
    taken, ended = list[WorkHold](), threading.Event()

    def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        taken.append(hold)
        ended.wait(60)
        return failure(task.parent_task_id, task.sub_task_id, FLEET_ROLE, "ended")

    hands.perform = perform
    task = SubTaskMessage(
        sub_task_id="a", parent_task_id="fleet", assigned_agent_role=FLEET_ROLE,
        tool_name="x", sub_task_input={}, stepId="a",
    )  # fmt: skip
    queue, rows = SubTaskQueue(hands.database), hands.database.client.list_workflows
    try:
        queue.put([task])
        until(lambda: bool(taken))
        WorkHold(hands.database, task.id, "a worker before it").give_back(FLEET_ROLE)
        assert queue.look([task.id])[task.id].state == "running"
        queue.cancel([task.id])
        taken[0].give_back(FLEET_ROLE)
        assert queue.look([task.id])[task.id].state == "cancelled"
        hands.database.forget("fleet")
        taken[0].give_back(FLEET_ROLE)
        assert rows(workflow_ids=[task.id]) == []
    finally:
        ended.set()


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


@pytest.mark.requirement("fleet:exactly-once")
async def test_a_fleet_without_workers_ends_and_waits_for_a_database_that_does_not_answer(
    tmp_path: Path, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = Drive(tmp_path, hands, *tasks("a"))
    drive.exhausted, drive.pace = True, 10.0
    look, looks = SubTaskQueue.look, list[int]()

    def silent_once(queue: SubTaskQueue, ids: Sequence[str]) -> dict[str, Work]:
        looks.append(len(ids))
        if len(looks) == 2:
            raise OperationalError("look", {}, Exception("no answer"))
        drive.time += drive.pace if ids else 0
        return {} if ids else look(queue, ids)

    def put(queue: SubTaskQueue, tasks: Sequence[SubTaskMessage]) -> None:
        """Nobody takes them."""

    monkeypatch.setattr(SubTaskQueue, "put", put)
    monkeypatch.setattr(SubTaskQueue, "look", silent_once)
    with pytest.raises(WorkersEnded, match="keep ending"):
        await drive.run()
    assert [text.split(": ")[1] for text in drive.said] == [
        "no answer. Trying again until it answers; Ctrl+C ends the fleet."
    ]
    assert drive.fleet.records["t1"].state == "queued"


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


LEAVING = """
import gc, os, sys
end = os._exit
def leave(code):
    print(gc.isenabled(), gc.get_threshold()[0], flush=True)
    end(code)
os._exit = leave
sys.argv[1:] = ["worker", "--while-stdin", "--data-dir", sys.argv[1]]
from sam_tui.__main__ import main
main()
"""


@pytest.mark.requirement("fleet:worker-memory")
def test_a_worker_collects_garbage_though_its_start_does_not(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SCRIPT, LEAVING, str(tmp_path)], capture_output=True, text=True, check=False, input=""
    )
    collects, objects = done.stdout.split()
    assert collects == "True"
    assert int(objects) < 10_000  # it never collected: 37 MB a minute
