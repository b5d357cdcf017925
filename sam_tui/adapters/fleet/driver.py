"""Drives one fleet to its end: hands out tasks, collects results, hands lost work out again."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from pydantic import ValidationError

from sam_tui.adapters.fleet import messages
from sam_tui.adapters.fleet.database import QueueDatabase, QueueSilent
from sam_tui.adapters.fleet.queues import (
    LEASE_SECONDS,
    MOST_RETURNS,
    Leases,
    ResultsQueue,
    SubTaskQueue,
    Work,
)
from sam_tui.adapters.fleet.records import FleetFolder, FleetQuestion, TaskRecord
from sam_tui.adapters.fleet.tasks import FleetTask, Rate
from sam_tui.adapters.fleet.workspaces import is_applied, refused_in
from sam_tui.core.errors import SamError
from sam_tui.core.ports.fleets import OPEN
from sam_tui.core.text.field_faults import faults_of

TICK_SECONDS = 0.05
_LOOK_SECONDS = 0.5
"""Seconds between two checks of heartbeats, questions and requests of other processes."""

Result = TypeVar("Result")
Apply = Callable[[str], Awaitable[str]]
"""Applies a patch through the guard. Returns why it was not applied; empty if it was."""


class WorkersEnded(SamError):
    """The workers that the fleet started keep ending, and no other takes its tasks."""

    title = "No worker"
    exit_code = 75


class Crew(Protocol):
    """The workers that the driver itself started."""

    @property
    def exhausted(self) -> bool:
        """Whether all of them ended and no more are started."""
        ...

    def dead(self) -> Sequence[str]:
        """The names of workers that ended since the last call; new workers replace them."""
        ...


@dataclass(slots=True)
class Driver:
    """One drive. ``own`` are questions of this process itself, answered by ``reply``."""

    fleet: FleetFolder
    database: QueueDatabase
    crew: Crew
    apply: Apply
    report: Callable[[TaskRecord], None]
    inquiries: Callable[[], Sequence[FleetQuestion]] = lambda: ()
    reply: Callable[[messages.AnswerMessage], None] = lambda answer: None
    say: Callable[[str], None] = lambda text: None
    """Passes on that the database does not answer, once for each time."""
    monotonic: Callable[[], float] = time.monotonic
    _flying: dict[str, TaskRecord] = field(default_factory=dict[str, TaskRecord])
    _leases: Leases = field(init=False)
    _begun: deque[tuple[float, str]] = field(default_factory=deque[tuple[float, str]])
    _posted: list[FleetQuestion] = field(default_factory=list[FleetQuestion])
    _looked: float = 0.0
    _worked: float = 0.0
    """When some worker had a task, or the workers that this process started were not exhausted."""

    def __post_init__(self) -> None:
        self._leases = Leases(self.monotonic)

    async def drive(self) -> None:
        """Drive until no task is open, including tasks that an earlier process handed out."""
        try:
            await self._drive()
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None

    async def _drive(self) -> None:
        queue, results = SubTaskQueue(self.database), ResultsQueue(self.database)
        waiting = await self._taken_up(queue)
        async with asyncio.TaskGroup() as group:
            applying = group.create_task(asyncio.sleep(0), name="apply")
            patches: deque[tuple[TaskRecord, str]] = deque(self._half_applied())
            while waiting or self._flying or patches or not applying.done():
                if waiting and (why := self._stopped()):
                    self._drop(waiting, why)
                await self._hand_out(queue, waiting)
                for id, result in (await self._threaded(results.take, list(self._flying))).items():
                    record = self._flying.pop(id)
                    self._leases.forget(id)
                    if patch := self._came_home(record, result, waiting):
                        patches.append((record, patch))
                if patches and applying.done():
                    applying = group.create_task(self._applied(*patches.popleft()), name="apply")
                if time.monotonic() - self._looked >= _LOOK_SECONDS:
                    await self._look(queue, waiting)
                await asyncio.sleep(TICK_SECONDS)
        self.fleet.post([])
        await self._threaded(self.database.forget, self.fleet.settings.id)

    async def _taken_up(self, queue: SubTaskQueue) -> deque[TaskRecord]:
        """The waiting tasks, among them those of an earlier process without work in the queue."""
        for record in self.fleet.records.values():
            if record.state == "queued":
                self._flying[self._work(record)] = record
        works = await self._threaded(queue.look, list(self._flying))
        for id in [id for id in self._flying if id not in works or works[id].state == "cancelled"]:
            self._flying.pop(id).state = "waiting"
        return deque(r for r in self.fleet.records.values() if r.state == "waiting")

    def _half_applied(self) -> list[tuple[TaskRecord, str]]:
        """Patches that an earlier process may have applied without noting it."""
        left: list[tuple[TaskRecord, str]] = []
        for record in self.fleet.records.values():
            if record.state == "applying":
                path = self.fleet.path / "patches" / f"{record.id}.patch"
                left.append((record, path.read_text("utf-8", "surrogateescape")))
        return left

    async def _hand_out(self, queue: SubTaskQueue, waiting: deque[TaskRecord]) -> None:
        ready: list[messages.SubTaskMessage] = []
        for _ in range(len(waiting)):
            if len(self._flying) >= self.fleet.settings.limits.at_once:
                break
            record = waiting.popleft()
            task = self.fleet.tasks[record.id]
            if not self._may_begin(task.model):
                waiting.append(record)
                continue
            record.attempt, record.state = record.attempt + 1, "queued"
            self.fleet.save(record)
            self._flying[self._work(record)] = record
            self._begun.append((self.monotonic(), task.model))
            ready.append(self._sub_task(record, task))
        if ready:
            await self._threaded(queue.put, ready)

    def _may_begin(self, model: str) -> bool:
        """Whether the rates allow one more task of a model to begin now."""
        now, limits = self.monotonic(), self.fleet.settings.limits
        while self._begun and now - self._begun[0][0] >= 60:
            self._begun.popleft()
        flying = [self.fleet.tasks[record.id].model for record in self._flying.values()]
        rate = limits.models.get(model, Rate())
        of_model = sum(1 for _, other in self._begun if other == model)
        return not (
            (limits.per_minute and len(self._begun) >= limits.per_minute)
            or (rate.per_minute and of_model >= rate.per_minute)
            or (rate.at_once and flying.count(model) >= rate.at_once)
        )

    def _stopped(self) -> str:
        """Return why no further task begins; empty if one may."""
        limits, records = self.fleet.settings.limits, self.fleet.records.values()
        if self.fleet.cancelled:
            return "cancelled"
        return _overspent(records, limits.max_cost) or _used_up(records, limits.max_tokens)

    def _drop(self, waiting: deque[TaskRecord], why: str) -> None:
        for record in waiting:
            record.state, record.error = "cancelled", "" if why == "cancelled" else why
            self._ended(record)
        waiting.clear()

    def _came_home(
        self, record: TaskRecord, result: messages.SubTaskResult, waiting: deque[TaskRecord]
    ) -> str:
        """Store a result; returns the patch to apply, or an empty text."""
        good, patch = self._keep(record, result)
        if not good:
            record.failures += 1
            if record.failures <= self._retries(record) and not self._stopped():
                record.state = "waiting"
                waiting.append(record)
            else:
                record.state = "cancelled" if self.fleet.cancelled else "failed"
            self._ended(record)
            return ""
        record.state = "applying" if patch and self.fleet.settings.limits.apply else "done"
        if record.state == "applying" and (why := refused_in(patch)):
            record.state, record.error = "conflict", why
        self._ended(record)
        return patch if record.state == "applying" else ""

    def _keep(self, record: TaskRecord, result: messages.SubTaskResult) -> tuple[bool, str]:
        """Store a worker's result; returns whether the task succeeded, and its patch."""
        data, why = _checked(result)
        good = result.status == "COMPLETED" and not why
        record.answer, record.error, record.worker = data.answer, why, data.worker
        record.cost = record.cost if data.cost is None else (record.cost or 0) + data.cost
        record.tokens, record.seconds = record.tokens + data.tokens, record.seconds + data.seconds
        record.patch = bool(data.patch)
        name = record.id
        if data.log:
            self.fleet.keep("logs", f"{name}.txt", data.log)
        if data.patch:
            self.fleet.keep("patches", f"{name}.patch", data.patch)
        return good, data.patch

    async def _applied(self, record: TaskRecord, patch: str) -> None:
        """Apply one patch, once: if a process died meanwhile, git decides whether it is applied."""
        folder = self.fleet.settings.workspace
        if await asyncio.to_thread(is_applied, folder, patch):
            why = ""
        else:
            why = await self.apply(patch)
        record.state, record.error = ("conflict", why) if why else ("done", "")
        self._ended(record)

    async def _look(self, queue: SubTaskQueue, waiting: deque[TaskRecord]) -> None:
        """Handle heartbeats, questions, answers, and a request to cancel the fleet."""
        self._looked = time.monotonic()
        if self.fleet.cancelled and self._flying:
            await self._cancel(queue)
        dead = set(self.crew.dead())
        works = (await self._threaded(queue.look, list(self._flying))).values()
        self._require_workers(works)
        for work in works:
            if work.state == "running" and (work.worker in dead or self._leases.over(work)):
                await self._give_back(queue, work)
        await self._answer(queue)

    def _require_workers(self, works: Collection[Work]) -> None:
        """Raise ``WorkersEnded`` if for the length of a lease nobody was there to work."""
        now = self.monotonic()
        if not self.crew.exhausted or any(work.state == "running" for work in works):
            self._worked = now
        elif now - self._worked > LEASE_SECONDS:
            raise WorkersEnded(
                "The workers that the fleet started keep ending, and no other takes its tasks.",
                hint=f"To continue: sam-tui fleet retry {self.fleet.settings.id}",
            )

    async def _cancel(self, queue: SubTaskQueue) -> None:
        await self._threaded(queue.cancel, list(self._flying))
        for record in self._flying.values():
            record.state = "cancelled"
            self._ended(record)
        self._flying.clear()

    async def _give_back(self, queue: SubTaskQueue, work: Work) -> None:
        record = self._flying[work.id]
        self._leases.forget(work.id)
        record.returns += 1
        if record.returns > MOST_RETURNS:
            await self._threaded(queue.cancel, [work.id])
            del self._flying[work.id]
            record.state = "failed"
            record.error = f"{record.returns} workers ended while they worked on it."
            self._ended(record)
            return
        self.fleet.save(record)
        await self._threaded(queue.give_back, work.id, messages.FLEET_ROLE)

    async def _answer(self, queue: SubTaskQueue) -> None:
        works = await self._threaded(queue.look, list(self._flying))
        questions = [
            FleetQuestion(task=self._flying[work.id].id, work=work.id, ask=ask)
            for work in works.values()
            for ask in work.asks
        ]
        questions += self.inquiries()
        if questions != self._posted:
            self._posted = questions
            self.fleet.post(questions)
        for answer in self.fleet.answers():
            if answer.work in self._flying:
                await self._threaded(queue.answer, answer)
            else:
                self.reply(answer)

    def _sub_task(self, record: TaskRecord, task: FleetTask) -> messages.SubTaskMessage:
        settings, limits = self.fleet.settings, self.fleet.settings.limits
        wish = messages.HeadlessInput(
            prompt=task.prompt,
            model=task.model,
            mode=task.mode,
            max_turns=task.max_turns,
            max_tokens=task.max_tokens,
            max_cost=task.max_cost,
            seconds=task.seconds or limits.seconds,
            answer_seconds=limits.answer_seconds,
            workspace=settings.id if settings.commit and not task.clone else "",
            clone=task.clone,
            commit=task.commit if task.clone else settings.commit,
        )
        parent, _, sub_task = self._work(record).partition(".")
        return messages.SubTaskMessage(
            sub_task_id=sub_task,
            parent_task_id=parent,
            assigned_agent_role=messages.FLEET_ROLE,
            tool_name=messages.HEADLESS_TOOL,
            sub_task_input=wish.model_dump(exclude_none=True),
            stepId=record.id,
        )

    def _retries(self, record: TaskRecord) -> int:
        inquiries = self.fleet.tasks[record.id].retries
        return self.fleet.settings.limits.retries if inquiries is None else inquiries

    def _work(self, record: TaskRecord) -> str:
        return f"{self.fleet.settings.id}.{record.id}-{record.attempt}"

    async def _threaded(self, call: Callable[..., Result], *arguments: object) -> Result:
        """Run a call to the database on a thread, again and again while the server does not answer."""
        silent = False
        while True:
            try:
                with self.database.reported():
                    return await asyncio.to_thread(call, *arguments)
            except QueueSilent as error:
                if not silent:
                    self.say(f"{error} Trying again until it answers; Ctrl+C ends the fleet.")
                silent = True
            await asyncio.sleep(_LOOK_SECONDS)

    def _ended(self, record: TaskRecord) -> None:
        self.fleet.save(record)
        if record.state not in OPEN:
            self.report(record)


def _overspent(records: Collection[TaskRecord], dollars: float | None) -> str:
    """Return why a limit of money ends a fleet: it is reached, or a price is not known; else empty."""
    if not dollars:
        return ""
    if sum(record.cost or 0 for record in records) >= dollars:
        return "The budget of the fleet is spent."
    if any(record.tokens and record.cost is None for record in records):
        return "The price of a model is not known, so --max-cost cannot be enforced."
    return _unreported(records, "--max-cost")


def _used_up(records: Collection[TaskRecord], tokens: int | None) -> str:
    """Return why a limit of tokens ends a fleet: it is reached, or a usage is not known; else empty."""
    if not tokens:
        return ""
    if sum(record.tokens for record in records) >= tokens:
        return "The tokens of the fleet are spent."
    return _unreported(records, "--max-tokens")


def _unreported(records: Collection[TaskRecord], limit: str) -> str:
    """Return that a limit cannot be enforced, if an answer came without its usage; else empty."""
    if any(record.answer and not record.tokens for record in records):
        return f"A model does not report its usage, so {limit} cannot be enforced."
    return ""


def _checked(result: messages.SubTaskResult) -> tuple[messages.HeadlessResult, str]:
    """Return the data of a worker's result, and its fault; empty if there is none."""
    data = messages.HeadlessResult()
    why = result.error_details.message if result.error_details else ""
    if result.result_data is not None:
        try:
            data = messages.HeadlessResult.model_validate(result.result_data)
        except ValidationError as error:
            why = f"The result has the wrong form: {faults_of(error)[0]}"
    if result.status == "COMPLETED" and result.worker_agent_role != messages.FLEET_ROLE:
        why = f"A worker of another role answered: {result.worker_agent_role}."
    return data, why
