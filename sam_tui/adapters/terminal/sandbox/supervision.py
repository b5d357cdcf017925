"""The program's side of the supervisor: starts it, enrols runs, and puts its questions to people."""

import asyncio
import json
import logging
import math
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Literal, cast

from sam_tui.adapters.terminal.sandbox.detached import start_beside, start_detached
from sam_tui.adapters.terminal.sandbox.kernel.entry import enrolment
from sam_tui.adapters.terminal.sandbox.kernel.landlock import Bounds
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.sandbox import (
    AskOutside,
    HostTerms,
    OutsideAccess,
    OutsideAnswer,
    PlantedChange,
)

logger = logging.getLogger(__name__)

Host = Literal["process", "thread", "kept"]

_MODULE = "sam_tui.adapters.terminal.sandbox.supervisor"


class Held:
    """One confined run: the descriptor for entering it, its denied accesses and its open questions."""

    def __init__(
        self, entry: int, ask: AskOutside | None = None, sync: Callable[[], None] = lambda: None
    ) -> None:
        self.descriptor = entry
        self.receive = sync
        """Handles all messages that the supervisor has sent."""
        self.refused: list[OutsideAccess] = []
        self.lives = True
        """True until the end of the supervisor is known."""
        self.sessions: dict[int, int] = {}
        """Sessions that processes of the run began, with the start time of each leader."""
        self.exceeded: set[str] = set()
        """The limits that the run exceeded, for which it was ended."""
        self.drafting = False
        """Whether it wrote to a protected place, so that the supervisor continues after the run's end."""
        self.finished = asyncio.Event()
        self.abandoned = False
        """Whether its supervisor ended first, so that most of its calls fail."""
        self.when_abandoned: Callable[[], None] | None = None
        """Ends a run whose supervisor ended first."""
        self._ask = ask
        self._questions: set[asyncio.Task[None]] = set()
        self.idle = asyncio.Event()
        """Set while no question is open."""
        self.idle.set()
        self._asked = 0.0
        self._asked_since = 0.0

    @property
    def asking(self) -> bool:
        """Whether a question is open, so that the command may be waiting for a person."""
        return bool(self._questions)

    @property
    def asked_seconds(self) -> float:
        """The seconds for which questions were open, in all."""
        if not self._questions:
            return self._asked
        return self._asked + asyncio.get_running_loop().time() - self._asked_since

    @property
    def attended(self) -> bool:
        """Whether anybody answers the run's questions."""
        return self._ask is not None

    def attend(self, ask: AskOutside | None) -> None:
        """Put the run's questions to ``ask`` from now on; None denies them."""
        self._ask = ask

    def question(self, access: OutsideAccess, answer: "SupervisorAnswer") -> None:
        """Ask the person; denied if the question ends in any other way."""
        if self._ask is None:
            answer(allowed=False)
            return
        loop = asyncio.get_running_loop()
        if not self._questions:
            self._asked_since = loop.time()
            self.idle.clear()
        task = loop.create_task(_put(self._ask, access, answer))
        self._questions.add(task)
        task.add_done_callback(self._settled)

    def abandon(self) -> None:
        """The supervisor is gone: no more questions come, and waiting system calls fail."""
        self.abandoned = True
        self.end()
        self.shut()
        if self.when_abandoned is not None:
            self.when_abandoned()

    def end(self) -> None:
        """Withdraw the open questions; no more are asked."""
        self.lives = False
        self.finished.set()
        self._ask = None
        for task in tuple(self._questions):
            task.cancel()

    def shut(self) -> None:
        """Close the entry descriptor, after the command has entered or failed to."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _settled(self, task: asyncio.Task[None]) -> None:
        if len(self._questions) == 1:
            self._asked = self.asked_seconds
        self._questions.discard(task)
        if not self._questions:
            self.idle.set()
        if not task.cancelled() and (fault := task.exception()) is not None:
            logger.error("A question of the sandbox failed, and so it was refused: %r", fault)


class SupervisorAnswer:
    """Sends one answer to the supervisor."""

    def __init__(self, supervision: "Supervision", run: int, serial: int) -> None:
        self._supervision = supervision
        self._run = run
        self._serial = serial

    def __call__(self, *, allowed: bool, seconds: float | None = None) -> None:
        """Say yes or no. It holds for so many seconds of the run, or to its end."""
        self._supervision.send({
            "tell": "answer",
            "run": self._run,
            "serial": self._serial,
            "allowed": allowed,
            "seconds": seconds,
        })


async def _put(ask: AskOutside, access: OutsideAccess, answer: SupervisorAnswer) -> None:
    allowed, seconds = False, None
    try:
        reply = await ask(access)
        if isinstance(reply, OutsideAnswer):
            allowed = reply.allowed
            seconds = reply.seconds if math.isfinite(reply.seconds) else None
        else:
            allowed = reply
    finally:
        answer(allowed=allowed, seconds=seconds)


class Supervision:
    """One supervisor for all runs of a sandbox, started with the first of them."""

    def __init__(self, host: Host, landlock: int) -> None:
        self._host: Host = host
        self._landlock = landlock
        self._control: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held: dict[int, Held] = {}
        self._last = 0

    @classmethod
    def apart(cls, landlock: int) -> "tuple[Supervision, socket.socket]":
        """A supervision whose supervisor runs in another process, and the socket for that supervisor."""
        supervision = cls("kept", landlock)
        supervision._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return supervision, theirs

    @classmethod
    def adopted(cls, control: socket.socket) -> "Supervision":
        """Take over the supervision of an ended process, with its one run, which asks nobody yet."""
        supervision = cls("kept", 0)
        supervision._control = control
        supervision.attend(None)
        return supervision

    @property
    def attended(self) -> bool:
        """Whether anybody answers the questions of the first run."""
        handle = self._held.get(1)
        return handle is not None and handle.attended

    def attend(self, ask: AskOutside | None) -> None:
        """Put the questions of its first run to ``ask`` from now on."""
        self._held[1] = Held(-1, ask)
        self._listen()

    def fileno(self) -> int:
        """The control socket."""
        assert self._control is not None
        return self._control.fileno()

    def hold(
        self,
        bounds: Bounds,
        ruleset: int,
        program: bytes,
        ask: AskOutside | None,
        *,
        hosts: HostTerms | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> tuple[int, Held]:
        """Enrol a run: (its number, the run). Raises ``ToolError`` if there is no supervisor.

        ``hosts`` are the terms of a network limited to a list, ``limits`` the most that its
        processes may have together, by the names in the policy file.
        """
        try:
            theirs, ours = enrolment(ruleset, program, live=True)
        except OSError as error:
            raise ToolError(f"The sandbox could not be set up: {error.strerror}.") from error
        self._last += 1
        message = {
            "tell": "run",
            "run": self._last,
            "roots": bounds.writable,
            "kept": bounds.unwritable,
            "watched": bounds.watched,
            "devices": bounds.devices,
            "reads": asdict(bounds.reads) | bounds.hidden,
            "asking": ask is not None,
            "landlock": self._landlock,
            "limits": limits or {},
            "hosts": None if hosts is None else asdict(hosts),
        }
        with ours:
            if not self._send(message, ours.fileno()):
                theirs.close()
                raise ToolError("The supervisor of the sandbox does not answer.")
        handle = Held(theirs.detach(), ask, self.receive)
        self._held[self._last] = handle
        self._listen()
        return self._last, handle

    def begin(self, number: int, session: int) -> None:
        """Report the session of a run's command."""
        self.send({"tell": "began", "run": number, "session": session})

    async def finish(self, number: int) -> None:
        """Wait until the writes of an ended run to places that later run are judged and answered."""
        self.receive()
        handle = self._held.get(number)
        if handle is not None and handle.drafting and handle.lives:
            self.send({"tell": "finish", "run": number})
            await handle.finished.wait()

    def release(self, number: int) -> None:
        """End a run: receive its denied accesses, and close its questions."""
        self.receive()
        handle = self._held.get(number)
        if handle is not None:
            handle.end()
            handle.shut()
            self.send({"tell": "stop", "run": number})

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message to the supervisor, if it is still there."""
        if self._control is not None:
            with suppress(OSError):
                self._control.send(json.dumps(message).encode())

    def receive(self) -> None:
        """Handle all messages that the supervisor has sent."""
        while self._control is not None:
            try:
                data = self._control.recv(MESSAGE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lost()
                return
            self._heard(cast("dict[str, object]", json.loads(data)))

    def warm(self) -> None:
        """Start the supervisor ahead of the first run. Takes two milliseconds, never raises."""
        if self._control is None:
            with suppress(OSError):
                self._start()

    def close(self) -> None:
        """End the supervisor; calls that still wait for it fail."""
        for handle in self._held.values():
            handle.end()
            handle.shut()
        self._held.clear()
        self._lost()

    def _send(self, message: Mapping[str, object], handed: int) -> bool:
        for _ in range(2):
            try:
                if self._control is None:
                    self._start()
                assert self._control is not None
                socket.send_fds(self._control, [json.dumps(message).encode()], [handed])
            except OSError:
                self._lost()  # it died, and another one is started
            else:
                return True
        return False

    def _start(self) -> None:
        if self._host == "kept":
            raise OSError("its supervisor is gone")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        if self._host == "thread":
            from sam_tui.adapters.terminal.sandbox.supervisor import serve

            start_beside(lambda: serve(theirs))
            return
        with theirs:
            start_detached(_MODULE, theirs)

    def _lost(self) -> None:
        """The connection to the supervisor is broken: drop it."""
        control, self._control = self._control, None
        if control is None:
            return
        if self._loop is not None:
            self._loop.remove_reader(control.fileno())
        self._loop = None
        control.close()
        runs, self._held = self._held, {}
        for handle in runs.values():
            handle.abandon()

    def _listen(self) -> None:
        """Receive the supervisor's messages on the running loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if loop is self._loop or self._control is None:
            return
        if self._loop is not None:
            self._loop.remove_reader(self._control.fileno())
        self._loop = loop
        loop.add_reader(self._control.fileno(), self.receive)

    def _heard(self, message: dict[str, Any]) -> None:
        number = int(message["run"])
        handle = self._held.get(number)
        if handle is None:
            if message["tell"] == "ask":
                SupervisorAnswer(self, number, int(message["serial"]))(allowed=False)
            return
        match message["tell"]:
            case "ask":
                handle.question(
                    _access(message), SupervisorAnswer(self, number, int(message["serial"]))
                )
            case "refused":
                handle.refused.append(_access(message))
            case "session":
                handle.sessions[int(message["session"])] = int(message["since"])
            case "limit":
                handle.exceeded.add(message["limit"])
            case "enrolled":
                handle.shut()
            case "drafting":
                handle.drafting = True
            case "finished":
                handle.finished.set()
            case _:
                del self._held[number]
                handle.end()
                handle.shut()


def _access(message: dict[str, Any]) -> OutsideAccess:
    return OutsideAccess(
        message["kind"],
        message["path"],
        message["process"],
        message["pid"],
        message["syscall"],
        message["to"],
        planted=message["place"],
        change=PlantedChange(**message["change"]) if "change" in message else None,
    )
