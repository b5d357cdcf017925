"""A fleet's folder: its settings and tasks, and for each task one small file with its state.

``fleet.json`` and ``tasks.jsonl`` are written once; ``tasks/ID.json`` as a whole at every change;
``patches/ID.patch`` and ``logs/ID.txt`` when a result arrives; ``inbox.json`` holds the open questions;
``answers/QUESTION.json`` and ``cancel`` are messages of other processes to the driving one, which holds
``lock``.
"""

import contextlib
import fcntl
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sam_tui.adapters.fleet.crew import start_detached
from sam_tui.adapters.fleet.messages import AnswerMessage, Ask
from sam_tui.adapters.fleet.tasks import FleetLimits, FleetTask
from sam_tui.core.errors import SamError, StorageError, UsageError
from sam_tui.core.local_files.private_files import replace_file
from sam_tui.core.ports.fleets import OPEN, FleetInquiry, FleetStatus, FleetTaskLine
from sam_tui.core.text.field_faults import faults_of

State = Literal["waiting", "queued", "applying", "done", "conflict", "failed", "cancelled"]


class FleetBusy(SamError):
    """Another process is driving this fleet."""

    title = "The fleet is running"


class TaskRecord(BaseModel):
    """The stored state of one task."""

    model_config = ConfigDict(extra="ignore")
    id: str
    state: State = "waiting"
    attempt: int = 0
    returns: int = 0
    """How many workers were lost over the present attempt."""
    failures: int = 0
    answer: str = ""
    error: str = ""
    cost: float | None = None
    tokens: int = 0
    seconds: float = 0
    worker: str = ""
    patch: bool = False


class FleetSettings(BaseModel):
    """``fleet.json``."""

    id: str
    workspace: str
    commit: str = ""
    limits: FleetLimits
    options: tuple[str, ...] = ()
    """Options for the workers that the driver starts."""
    workers: int = 0


class FleetQuestion(BaseModel):
    """One entry of the inbox."""

    task: str
    work: str
    ask: Ask


@dataclass(slots=True)
class FleetFolder:
    """The folder of one fleet: settings, tasks, their states, patches, logs and questions."""

    path: Path
    settings: FleetSettings
    tasks: dict[str, FleetTask]
    records: dict[str, TaskRecord] = field(default_factory=dict[str, TaskRecord])

    def save(self, record: TaskRecord) -> None:
        """Write one task's state, whole."""
        replace_file(str(self.path / "tasks" / f"{record.id}.json"), record.model_dump_json())

    def keep(self, kind: Literal["patches", "logs"], name: str, text: str) -> Path:
        """Write a patch or a log that a worker returned."""
        path = self.path / kind / name
        replace_file(str(path), text, errors="surrogateescape")
        return path

    def post(self, questions: Sequence[FleetQuestion]) -> None:
        """Write the open questions."""
        text = json.dumps([question.model_dump() for question in questions], indent=1)
        replace_file(str(self.path / "inbox.json"), text)

    def inbox(self) -> list[FleetQuestion]:
        """The open questions."""
        try:
            values = json.loads((self.path / "inbox.json").read_text("utf-8"))
        except FileNotFoundError:
            return []
        return [FleetQuestion.model_validate(value) for value in values]

    def answer(self, question: FleetQuestion, reply: str) -> None:
        """Write an answer for the driving process."""
        answer = AnswerMessage(work=question.work, ask=question.ask.id, reply=reply)
        replace_file(
            str(self.path / "answers" / f"{question.ask.id}.json"), answer.model_dump_json()
        )

    def answers(self) -> list[AnswerMessage]:
        """Read and delete the answers for the driving process."""
        answers: list[AnswerMessage] = []
        for path in sorted((self.path / "answers").glob("*.json")):
            with contextlib.suppress(ValidationError):
                answers.append(AnswerMessage.model_validate_json(path.read_text("utf-8")))
            path.unlink()
        return answers

    def cancel(self) -> None:
        """Ask the driving process to end."""
        replace_file(str(self.path / "cancel"), "")

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked the driving process to end."""
        return (self.path / "cancel").exists()

    def reopen(self) -> int:
        """Mark tasks that failed, stopped or conflicted to be done again; returns their number."""
        (self.path / "cancel").unlink(missing_ok=True)
        again = [r for r in self.records.values() if r.state in ("failed", "cancelled", "conflict")]
        for record in again:
            record.state, record.failures, record.returns, record.error = "waiting", 0, 0, ""
            self.save(record)
        return len(again)

    @contextmanager
    def driving(self) -> Generator[None]:
        """Hold the lock of the driving process. Raises ``FleetBusy`` if another process holds it."""
        with _locked(self.path / "lock") as mine:
            if not mine:
                raise FleetBusy(f"Another process runs the fleet {self.settings.id}.")
            yield

    def status(self) -> FleetStatus:
        """The fleet in figures."""
        counts: dict[str, int] = {}
        for record in self.records.values():
            counts[record.state] = counts.get(record.state, 0) + 1
        ended = [r.seconds for r in self.records.values() if r.state not in OPEN and r.seconds]
        left = sum(counts.get(state, 0) for state in OPEN)
        at_once = min(self.settings.limits.at_once, max(1, left))
        with _locked(self.path / "lock") as free:
            driven = not free
        return FleetStatus(
            self.settings.id,
            self.settings.workspace,
            counts,
            _cost(self.records.values()),
            sum(record.tokens for record in self.records.values()),
            len(self.inbox()),
            sum(ended) / len(ended) * left / at_once if ended and left else None,
            driven,
        )


def _cost(records: Iterable[TaskRecord]) -> float | None:
    """US dollars of all tasks; None while no price is known."""
    costs = [record.cost for record in records if record.cost is not None]
    return sum(costs) if costs else None


class Fleets:
    """All fleets of a data folder: a ``FleetControl``. ``launch`` starts the program that continues one."""

    def __init__(
        self, data_dir: str, launch: Callable[[Sequence[str]], None] = start_detached
    ) -> None:
        self._data_dir, self._launch = data_dir, launch
        self._root = Path(data_dir) / "fleets"

    def statuses(self, limit: int) -> Sequence[FleetStatus]:
        """The newest fleets, the newest first. Raises ``StorageError``."""
        return [self.open(name).status() for name in self.names()[:limit]]

    def tasks(self, id: str) -> Sequence[FleetTaskLine]:
        """The tasks of a fleet. Raises ``UsageError``, ``StorageError``."""
        return [
            FleetTaskLine(r.id, r.state, (r.error or r.answer).strip())
            for r in self.open(id).records.values()
        ]

    def inquiries(self, id: str) -> Sequence[FleetInquiry]:
        """The open questions of a fleet's tasks. Raises as ``tasks``."""
        return [
            FleetInquiry(
                q.ask.id,
                q.task,
                q.ask.title,
                tuple(
                    text
                    for text in (q.ask.summary, *q.ask.targets, q.ask.why, q.ask.change)
                    if text
                ),
                q.ask.choices,
            )
            for q in self.open(id).inbox()
        ]

    def answer(self, id: str, inquiry: str, reply: str) -> None:
        """Answer a question: ``approve``, ``deny`` or a text. Raises ``UsageError`` where it is gone."""
        fleet = self.open(id)
        waiting = {question.ask.id: question for question in fleet.inbox()}
        if inquiry not in waiting:
            raise UsageError(
                f"No question {inquiry} waits.", hint="“sam-tui fleet inbox” lists them."
            )
        fleet.answer(waiting[inquiry], reply)

    def cancel(self, id: str) -> None:
        """End a fleet: no task begins any more, and the driving process ends running ones."""
        fleet = self.open(id)
        fleet.cancel()
        if not fleet.status().driven:
            with fleet.driving():
                for record in fleet.records.values():
                    if record.state in ("waiting", "queued"):
                        record.state = "cancelled"
                        fleet.save(record)

    def retry(self, id: str) -> None:
        """Continue a fleet in another program, and repeat failed tasks."""
        words = ["fleet", "retry", self.open(id).settings.id, "--data-dir", self._data_dir]
        self._launch([sys.executable, "-P", "-m", "sam_tui", *words])

    def create(self, settings: FleetSettings, tasks: Sequence[FleetTask]) -> FleetFolder:
        """A new fleet, all of its tasks waiting."""
        path = self._root / settings.id
        for folder in (self._root, path, *(path / name for name in _FOLDERS)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=folder == self._root)
        replace_file(
            str(path / "tasks.jsonl"), "".join(f"{task.model_dump_json()}\n" for task in tasks)
        )
        fleet = FleetFolder(path, settings, {task.id: task for task in tasks})
        fleet.records = {task.id: TaskRecord(id=task.id) for task in tasks}
        replace_file(str(path / "fleet.json"), settings.model_dump_json())
        return fleet

    def open(self, id: str = "") -> FleetFolder:
        """A fleet by its id; the newest where none is named. Raises ``UsageError``, ``StorageError``."""
        names = self.names()
        if not names or (id and id not in names):
            raise UsageError(
                f"There is no fleet {id}." if id else "There is no fleet.",
                hint="“sam-tui fleet status” lists them.",
            )
        path = self._root / (id or names[0])
        try:
            settings = FleetSettings.model_validate_json((path / "fleet.json").read_text("utf-8"))
            lines = (path / "tasks.jsonl").read_text("utf-8").splitlines()
            tasks = [FleetTask.model_validate_json(line) for line in lines]
            fleet = FleetFolder(path, settings, {task.id: task for task in tasks})
            for task in tasks:
                fleet.records[task.id] = _record(path / "tasks" / f"{task.id}.json", task.id)
        except (OSError, ValidationError) as error:
            raise StorageError(f"The fleet in {path} cannot be read: {_why(error)}.") from error
        return fleet

    def names(self) -> list[str]:
        """The ids of all fleets, the newest first."""
        paths = [path.parent.name for path in self._root.glob("*/fleet.json")]
        return sorted(paths, reverse=True)


_FOLDERS = ("tasks", "patches", "logs", "answers")


def _why(error: OSError | ValidationError) -> str:
    """Return the fault of a fleet's files, in words."""
    return faults_of(error)[0] if isinstance(error, ValidationError) else str(error)


def _record(path: Path, id: str) -> TaskRecord:
    try:
        return TaskRecord.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return TaskRecord(id=id)


@contextmanager
def _locked(path: Path) -> Generator[bool]:
    """Try to lock a file for the block; whether that worked."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was just forked has it open, too
    finally:
        os.close(descriptor)
