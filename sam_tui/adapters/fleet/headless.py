"""HeadlessRun: one prompt in a process of its own, in a copy of the workspace, within a worker's limits."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from sam_tui.adapters.fleet.messages import (
    FLEET_ROLE,
    MODES,
    MOST_ANSWER,
    MOST_ASKS,
    MOST_LOG,
    Ask,
    ErrorDetails,
    HeadlessInput,
    HeadlessResult,
    Mode,
    SubTaskMessage,
    SubTaskResult,
    UntrustedMessage,
)
from sam_tui.adapters.fleet.queues import WorkHold
from sam_tui.adapters.fleet.workspaces import TaskFolder, clone, open_bundle
from sam_tui.core.text.field_faults import faults_of

BEAT_SECONDS = 1.0
GRACE_SECONDS = 5.0
_MOST_LINE = 1_000_000
_SECRETS = ("SAM_TUI_DATABASE_URL", "SAM_TUI_FLEET_KEY")
"""Variables that tasks do not get, because with them a task could add work to the queue."""


@dataclass(frozen=True, slots=True)
class WorkerAllowance:
    """The rights of tasks on a worker's machine, whatever a task requests."""

    name: str
    options: tuple[str, ...] = ()
    """Options for ``sam-tui run``: the model, its address and others that the worker was started with."""
    mode: Mode = "ask"
    models: tuple[str, ...] = ()
    """Models that a task may choose; if empty, every task uses the worker's own model."""
    clone_from: tuple[str, ...] = ()


@dataclass(slots=True)
class HeadlessRuns:
    """Performs sub-tasks of the role ``FleetAgent``."""

    allowance: WorkerAllowance
    _bundles: dict[str, str] = field(default_factory=dict[str, str])
    _child: "_Child | None" = None

    def stop(self) -> None:
        """End running tasks and return them to the queue at once, because the process ends."""
        if (child := self._child) is not None:
            child.kill()
            shutil.rmtree(child.folder, ignore_errors=True)
            child.hold.give_back(FLEET_ROLE)

    def perform(self, task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        """Run one prompt. Raises ``SamError`` if the run cannot start."""
        try:
            wish = HeadlessInput.model_validate(task.sub_task_input)
        except ValidationError as error:
            why = "; ".join(faults_of(error))
            raise UntrustedMessage(f"The input of a task has the wrong form: {why}.") from None
        if wish.model and wish.model not in self.allowance.models:
            raise UntrustedMessage(
                f"This worker does not let tasks use {wish.model}.",
                hint="Start it with --allow-model.",
            )
        folder = Path(tempfile.mkdtemp(prefix="sam-tui-task-"))
        try:
            return self._run(task, wish, hold, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(
        self, task: SubTaskMessage, wish: HeadlessInput, hold: WorkHold, folder: Path
    ) -> SubTaskResult:
        copy = self._opened(wish, hold, folder)
        path = copy.path if copy is not None else folder / "workspace"
        path.mkdir(exist_ok=True)
        start = time.monotonic()
        child = self._child = _Child(self._command(wish, path, folder), wish, hold, folder)
        try:
            why = child.run()
        finally:
            self._child = None
        patch, fault = "", ""
        if copy is not None and why != "lost":
            try:
                patch = copy.patch()
            except Exception as error:  # noqa: BLE001 - the answer returns, whatever files the task left
                fault = str(error)
        outcome = _result_of(folder / "out")
        good = outcome.get("subtype") == "success" and not fault
        result = _headless_result(outcome, why).model_copy(
            update={
                "seconds": time.monotonic() - start,
                "patch": patch,
                "log": _tail(folder / "err"),
                "worker": self.allowance.name,
            }
        )
        message = fault or child.why or _fault_of(outcome, why)
        return SubTaskResult(
            sub_task_id=task.sub_task_id,
            parent_task_id=task.parent_task_id,
            worker_agent_role=task.assigned_agent_role,
            status="COMPLETED" if good else "FAILED",
            result_data=result.model_dump(),
            error_details=None if good else ErrorDetails(message=message[:20_000]),
        )

    def _opened(self, wish: HeadlessInput, hold: WorkHold, folder: Path) -> TaskFolder | None:
        if wish.clone:
            return clone(wish.clone, wish.commit, folder, self.allowance.clone_from)
        if not wish.workspace:
            return None
        if wish.workspace not in self._bundles:
            self._bundles = {wish.workspace: hold.database.bundle(wish.workspace)}
        return open_bundle(self._bundles[wish.workspace], wish.commit, folder)

    def _command(self, wish: HeadlessInput, workspace: Path, folder: Path) -> list[str]:
        mode = min(wish.mode, self.allowance.mode, key=MODES.index)
        limits = (
            ("--max-turns", wish.max_turns),
            ("--max-tokens", wish.max_tokens),
            ("--max-cost", wish.max_cost),
            ("--model", wish.model or None),
        )
        return [
            *(
                sys.executable,
                "-P",
                "-m",
                "sam_tui",
                "run",
                "-",
                "--output-format",
                "json",
                "--verbose",
            ),
            *("-C", str(workspace), "--data-dir", str(folder / "data"), "--permission-mode", mode),
            *self.allowance.options,
            *(word for name, value in limits if value is not None for word in (name, str(value))),
        ]


@dataclass(slots=True)
class _Child:
    """The process of one task: gets its input, is read, and ends with its time or the worker's claim."""

    command: list[str]
    wish: HeadlessInput
    hold: WorkHold
    folder: Path
    why: str = ""
    """The reason for which the process was ended, in words; empty if it ended by itself."""
    _asks: dict[str, tuple[Ask, float]] = field(default_factory=dict[str, tuple[Ask, float]])
    _heard: bytes = b""
    _process: "subprocess.Popen[bytes] | None" = None

    def kill(self) -> None:
        """End the process and all it started, now."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def run(self) -> str:
        """Run the process to its end: ``exit N``, ``time`` or ``lost``."""
        (self.folder / "in").write_text(self.wish.prompt, encoding="utf-8", errors="replace")
        ours, theirs = socket.socketpair()
        environment = {k: v for k, v in os.environ.items() if k not in _SECRETS}
        with ours, contextlib.ExitStack() as files:
            streams = [files.enter_context((self.folder / n).open(m)) for n, m in _STREAMS]
            with theirs:
                process = self._process = subprocess.Popen(
                    [*self.command, "--inquiries-fd", str(theirs.fileno())],
                    stdin=streams[0],
                    stdout=streams[1],
                    stderr=streams[2],
                    env=environment,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            try:
                return self._attend(process, ours)
            finally:
                _end(process)

    def _attend(self, process: "subprocess.Popen[bytes]", line: socket.socket) -> str:
        ends = time.monotonic() + self.wish.seconds
        beat = time.monotonic() + BEAT_SECONDS
        while True:
            now = time.monotonic()
            if now >= ends:
                self.why = f"It took longer than {self.wish.seconds:g} seconds."
                return "time"
            if now >= beat:
                beat = now + BEAT_SECONDS
                if not self._beat(line):
                    self.why = "It was cancelled, or moved to another worker."
                    return "lost"
            line.settimeout(max(0.01, min(beat, ends) - time.monotonic()))
            try:
                piece = line.recv(65_536)
            except TimeoutError:
                continue
            except OSError:
                piece = b""
            if not piece:  # its end of the line closes when it ends
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(GRACE_SECONDS)
                return f"exit {process.returncode}"
            self._hear(piece, line)

    def _hear(self, piece: bytes, line: socket.socket) -> None:
        self._heard += piece
        *lines, self._heard = self._heard.split(b"\n")
        self._heard = self._heard[-_MOST_LINE:]
        for text in lines:
            with contextlib.suppress(ValidationError):
                ask = Ask.model_validate_json(text)
                if self.wish.answer_seconds and len(self._asks) < MOST_ASKS:
                    self._asks[ask.id] = (ask, time.monotonic() + self.wish.answer_seconds)
                else:
                    _reply(line, ask.id, "Nobody can be asked here.")

    def _beat(self, line: socket.socket) -> bool:
        """Whether the work is still ours; passes on answers, and denies questions that are too old."""
        answers = self.hold.beat([ask for ask, _ in self._asks.values()])
        if answers is None:
            return False
        replies = {id: answer.reply for id, answer in answers.items()}
        now = time.monotonic()
        late = {id: "Nobody answered in time." for id, (_, end) in self._asks.items() if now > end}
        for id, reply in {**late, **replies}.items():
            del self._asks[id]
            _reply(line, id, reply)
        return True


def _reply(line: socket.socket, id: str, reply: str) -> None:
    with contextlib.suppress(OSError):
        line.sendall(json.dumps({"id": id, "reply": reply}).encode() + b"\n")


_STREAMS = (("in", "rb"), ("out", "wb"), ("err", "wb"))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all it started, in order first."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, None)):
        if process.poll() is not None and number == signal.SIGTERM:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)


def _result_of(file: Path) -> dict[str, Any]:
    """Return the one JSON line of a run; empty if it printed none."""
    with file.open("rb") as stream:
        text = stream.read(MOST_ANSWER * 8)
    try:
        value = json.loads(text.splitlines()[-1])
    except (ValueError, IndexError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _headless_result(outcome: dict[str, Any], why: str) -> HeadlessResult:
    """The result line of a run in the form that travels."""
    usage: dict[str, Any] = outcome.get("usage") or {}
    return HeadlessResult(
        answer=str(outcome.get("result") or "")[:MOST_ANSWER],
        subtype=str(outcome.get("subtype") or why)[:40],
        cost=outcome.get("total_cost_usd"),
        tokens=int(usage.get("input", 0)) + int(usage.get("output", 0)),
        turns=int(outcome.get("num_turns") or 0),
    )


def _fault_of(outcome: dict[str, Any], why: str) -> str:
    error: dict[str, Any] = outcome.get("error") or {}
    return str(error.get("message") or f"It ended without a result: {why}.")


def _tail(file: Path) -> str:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - MOST_LOG))
        return stream.read(MOST_LOG).decode(errors="replace")[-MOST_LOG:]
