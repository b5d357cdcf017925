"""SubTaskQueue and ResultsQueue of seed 002 on dbos: one queue a role."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from sam_tui.adapters.fleet import messages
from sam_tui.adapters.fleet.database import APPLICATION, Json, QueueDatabase, load
from sam_tui.core.errors import SamError

if TYPE_CHECKING:
    from dbos import DBOS

POLLING_SECONDS = 0.05
"""Seconds between two looks of a worker whether its queue is to be read; docs/scale.md has their cost."""
_IDLE_SECONDS = {"sqlite": 10.0, "postgresql": 1.0}
"""The most seconds between two reads of a queue while nothing changes: on PostgreSQL no change is seen."""
LEASE_SECONDS = 15.0
"""Seconds without a heartbeat, by the driver's clock, after which another worker gets the sub-task."""
MOST_RETURNS = 3
"""How many workers may be lost over one sub-task; when one more is lost, the sub-task fails."""
_VERSION, _WORKFLOW = "sam-tui-1", "sub_task"
State = Literal["waiting", "running", "done", "failed", "cancelled", "unknown"]
_STATES: Mapping[str, State] = {
    "ENQUEUED": "waiting",
    "DELAYED": "waiting",
    "PENDING": "running",
    "SUCCESS": "done",
    "CANCELLED": "cancelled",
}


@dataclass(frozen=True, slots=True)
class Work:
    """The state of one sub-task in the queue."""

    id: str
    state: State
    worker: str
    beat: int
    """The worker's heartbeat, a number that it increases while it lives; 0 before the first heartbeat."""
    asks: tuple[messages.Ask, ...]


@dataclass(slots=True)
class Leases:
    """Decides which work lost its worker: there was no heartbeat for the length of a lease."""

    monotonic: Callable[[], float] = time.monotonic
    _beats: dict[str, tuple[str, int, float]] = field(
        default_factory=dict[str, tuple[str, int, float]]
    )

    def over(self, work: Work) -> bool:
        """Whether running work had no heartbeat for so long. A new worker or a heartbeat starts it anew."""
        now = self.monotonic()
        worker, beat, since = self._beats.get(work.id, ("", 0, now))
        if (worker, beat) != (work.worker, work.beat):
            self._beats[work.id] = (work.worker, work.beat, now)
            return False
        return now - since > LEASE_SECONDS

    def forget(self, id: str) -> None:
        """Forget work that is over or has another worker."""
        self._beats.pop(id, None)


class SubTaskQueue:
    """Hands sub-tasks to the workers of their roles."""

    def __init__(self, database: QueueDatabase) -> None:
        self._database = database

    def put(self, tasks: Sequence[messages.SubTaskMessage]) -> None:
        """Enqueue sub-tasks; an id that is in the queue already is skipped."""
        client, seal = self._database.client, self._database.seal
        for task in tasks:
            options: Any = {
                "workflow_name": _WORKFLOW,
                "queue_name": queue_name(task.assigned_agent_role),
                "workflow_id": task.id,
                "app_version": _VERSION,
            }
            client.enqueue(options, seal.closed("sub-task", task))

    def look(self, ids: Sequence[str]) -> dict[str, Work]:
        """The state of sub-tasks; unknown ids are left out."""
        if not ids:
            return {}
        rows = self._database.client.list_workflows(
            workflow_ids=list(ids), load_input=False, load_output=False
        )
        return {row.workflow_id: self._work(row) for row in rows}

    def give_back(self, id: str, role: str) -> None:
        """Return work of a lost worker to the queue; its later reports do not count."""
        self._database.client.resume_workflow(id, queue_name=queue_name(role))

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel work: it does not begin, or ends at its worker's next heartbeat."""
        if ids:
            self._database.client.cancel_workflows(list(ids))

    def answer(self, answer: messages.AnswerMessage) -> None:
        """Send an answer to the worker that asked."""
        self._database.client.update_workflow_attributes(
            answer.work,
            {_answer_key(answer.ask): self._database.seal.closed("answer", answer)},
            merge=True,
        )

    def _work(self, row: Any) -> Work:
        worker = str(row.executor_id or "")
        attributes = cast("dict[str, Any]", row.attributes or {})
        beat = attributes.get("beat")
        count, asks = 0, ()
        if isinstance(beat, dict) and cast("dict[str, Any]", beat).get("worker") == worker:
            count = int(cast("dict[str, Any]", beat).get("count", 0))
            asks = self._asks(row.workflow_id, attributes.get("asks"))
        return Work(row.workflow_id, _STATES.get(row.status, "unknown"), worker, count, asks)

    def _asks(self, id: str, envelope: object) -> tuple[messages.Ask, ...]:
        try:
            posted = self._database.seal.opened("asks", envelope, messages.Asks)
        except messages.UntrustedMessage:
            return ()
        return posted.asks if posted.work == id else ()


class ResultsQueue:
    """The results of handed-out work. While no SQLite file changes, it is not read again."""

    def __init__(self, database: QueueDatabase) -> None:
        self._database = database
        idle = POLLING_SECONDS if database.engine is None else _IDLE_SECONDS["sqlite"]
        self._reads = QueueReads(database.changes.number, idle)
        self._ids: Sequence[str] = ()

    def take(self, ids: Sequence[str]) -> dict[str, messages.SubTaskResult]:
        """The results of finished work; a forged or broken one counts as failed and says so."""
        if ids != self._ids:
            self._reads.last.clear()
        self._ids = ids
        if not ids or not self._reads.due(""):
            return {}
        rows = self._database.client.list_workflows(workflow_ids=list(ids), load_input=False)
        return {row.workflow_id: self._result(row) for row in rows if row.status in _ENDED}

    def _result(self, row: Any) -> messages.SubTaskResult:
        parent, _, task = row.workflow_id.partition(".")
        try:
            result = self._database.seal.opened("result", row.output, messages.SubTaskResult)
            if (result.parent_task_id, result.sub_task_id) == (parent, task):
                return result
            why = "The result belongs to another sub-task."
        except messages.UntrustedMessage as error:
            why = str(error)
        if row.status != "SUCCESS":
            why = f"The queue ended it: {row.status.lower()}."
        return failure(parent, task, "", why)


_ENDED = ("SUCCESS", "ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


class QueueReads:
    """Which of dbos's reads of queues go to the database: it reads each every ``POLLING_SECONDS``.

    A read is due once ``changes`` returns another number. Else the time between two reads doubles from
    ``POLLING_SECONDS`` to ``idle`` seconds.
    """

    def __init__(
        self,
        changes: Callable[[], int],
        idle: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._changes, self._idle, self._monotonic = changes, idle, monotonic
        self.last: dict[str, tuple[int, float, float]] = {}
        """By queue: the number of the last change, the time of the last read, the seconds to the next.

        A queue that is not there is read at once.
        """

    def due(self, queue: str) -> bool:
        """Whether a queue is to be read now; if so, this counts as its last read."""
        now, change = self._monotonic(), self._changes()
        seen, since, pause = self.last.get(queue, (-1, now, 0.0))
        if change == seen and now - since < pause:
            return False
        pause = min(pause * 2, self._idle) if change == seen else POLLING_SECONDS
        self.last[queue] = (change, now, pause)
        return True

    def limit(self, system: Any) -> None:
        """Let dbos's system database answer a read that is not due: the same settings, nothing to do.

        Our work has neither a delay nor a deadline, whose ends dbos would look for every second.
        """
        settings, scopes = system.get_queue, system.dequeue_scopes
        rows: dict[str, Any] = {}

        def get_queue(name: str, **options: Any) -> Any:
            if rows.get(name) is None:
                rows[name] = settings(name, **options)
            return rows[name]

        def dequeue_scopes(name: str) -> Sequence[str | None]:
            if not self.due(name):
                return ()
            rows.pop(name, None)
            return scopes(name)

        def cancelled(most: int) -> Sequence[str]:
            return ()

        system.get_queue, system.dequeue_scopes = get_queue, dequeue_scopes
        system.transition_delayed_workflows = lambda: None
        system.cancel_timed_out_workflows = cancelled


class Takes:
    """A worker: takes sub-tasks of its roles, one at a time, until its process ends."""

    def __init__(
        self,
        database: QueueDatabase,
        roles: Sequence[str],
        name: str,
        perform: "Callable[[messages.SubTaskMessage, WorkHold], messages.SubTaskResult]",
    ) -> None:
        self._database, self._name, self._perform = database, name, perform
        dbos = load()
        self._dbos: type[DBOS] = dbos.DBOS
        config: Any = {
            "name": APPLICATION,
            "system_database_url": database.url,
            "system_database_engine": database.engine,
            "serializer": Json(),
            "application_version": _VERSION,
            "executor_id": name,
            "max_executor_threads": 8,
            "log_level": "CRITICAL",
            "enable_otlp": False,
            "notification_coalesce_sec": 1.0,  # we send none
        }
        instance: Any = dbos.DBOS(config=config)
        idle = _IDLE_SECONDS["sqlite" if database.engine is not None else "postgresql"]
        self._reads = QueueReads(database.changes.number, idle)

        def sub_task(envelope: object) -> dict[str, str]:
            return self._run(envelope)

        dbos.DBOS.workflow(name=_WORKFLOW)(sub_task)
        dbos.DBOS.listen_queues([queue_name(role) for role in roles])
        with database.reported():
            dbos.DBOS.launch()
            self._reads.limit(instance._sys_db)
            for role in roles:
                dbos.DBOS.register_queue(
                    queue_name(role),
                    worker_concurrency=1,
                    polling_interval_sec=POLLING_SECONDS,
                    on_conflict="always_update",
                )

    def _run(self, envelope: object) -> dict[str, str]:
        id = str(self._dbos.workflow_id)
        parent, _, sub_task = id.partition(".")
        try:
            task = self._database.seal.opened("sub-task", envelope, messages.SubTaskMessage)
            if task.id != id:
                raise messages.UntrustedMessage("The sub-task was sent under another id.")
            result = self._perform(task, WorkHold(self._database, id, self._name))
        except SamError as error:
            result = failure(parent[:80], sub_task[:80], "", error.explain())
        self._reads.last.clear()  # there is room for work again
        return self._database.seal.closed("result", result)


class WorkHold:
    """A worker's claim on one sub-task: reports progress and questions, receives answers."""

    def __init__(self, database: QueueDatabase, id: str, worker: str) -> None:
        self.database, self.id, self._worker, self._count = database, id, worker, 0

    def beat(self, asks: Sequence[messages.Ask]) -> "dict[str, messages.AnswerMessage] | None":
        """Send a heartbeat with the waiting questions; returns the new answers, by question.

        None says that the work is no longer this worker's.
        """
        self._count += 1
        client = self.database.client
        posted = self.database.seal.closed("asks", messages.Asks(work=self.id, asks=tuple(asks)))
        row = self._held()
        if row is None:
            return None
        beat = {"worker": self._worker, "count": self._count}
        client.update_workflow_attributes(self.id, {"beat": beat, "asks": posted}, merge=True)
        attributes = cast("dict[str, object]", row.attributes or {})
        answers: dict[str, messages.AnswerMessage] = {}
        for ask in asks:
            with contextlib.suppress(messages.UntrustedMessage):
                answer = self.database.seal.opened(
                    "answer", attributes.get(_answer_key(ask.id)), messages.AnswerMessage
                )
                if (answer.work, answer.ask) == (self.id, ask.id):
                    answers[ask.id] = answer
        return answers

    def give_back(self, role: str) -> None:
        """Leave the work to another worker, if it is still this one's: cancelled work stays cancelled."""
        if self._held() is not None:
            SubTaskQueue(self.database).give_back(self.id, role)

    def _held(self) -> Any:
        """The row of the work, while it is this worker's."""
        client = self.database.client
        rows = client.list_workflows(workflow_ids=[self.id], load_input=False, load_output=False)
        mine = rows and rows[0].status == "PENDING" and rows[0].executor_id == self._worker
        return rows[0] if mine else None


def queue_name(role: str) -> str:
    """The queue of a role."""
    return f"subtasks-{role}"


def failure(parent: str, task: str, role: str, why: str) -> messages.SubTaskResult:
    """Return the result of work that failed."""
    return messages.SubTaskResult(
        sub_task_id=task,
        parent_task_id=parent,
        worker_agent_role=role or "none",
        status="FAILED",
        error_details=messages.ErrorDetails(message=why[:20_000]),
    )


def _answer_key(ask: str) -> str:
    return f"answer-{ask}"
