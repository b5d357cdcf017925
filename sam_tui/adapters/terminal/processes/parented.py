"""A command whose parent is a small process of ours that takes in every process the command orphans."""

import asyncio
import errno
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, cast

from sam_tui.adapters.terminal.processes.launch import Gated
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.adapters.terminal.sandbox.supervised.caller import stat_fields
from sam_tui.adapters.terminal.sandbox.supervised.processes import STARTED

_MOST_FREE = 1
PATIENCE = 5.0
"""Seconds in which a parent must answer."""
_MOMENT = 0.1
"""Seconds in which a living parent reports how its command ended."""
_KILLED = -signal.SIGKILL
_SAY = b"{}"


class ParentPool:
    """The parents of a program's commands: one for each running command, and a free one."""

    def __init__(self) -> None:
        self._parents: list[Parent] = []

    def free(self) -> "Parent | None":
        """Return a parent that can take a command, or None."""
        self._parents = [parent for parent in self._parents if not parent.closed]
        return next((parent for parent in self._parents if parent.free), None)

    def fork(self, server: socket.socket) -> "Parent":
        """A new one, forked from the process behind ``server``. Raises OSError."""
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                socket.send_fds(server, [_SAY], [theirs.fileno()])
            parent = Parent(self, control, _answer(control)["parent"])
        except BaseException:
            control.close()
            raise
        self._parents.append(parent)
        return parent

    @property
    def abounds(self) -> bool:
        """Whether more have nothing to do than have to wait for commands."""
        return sum(parent.released for parent in self._parents) > _MOST_FREE

    def close(self) -> None:
        """Have them end, after all that is below them."""
        for parent in self._parents:
            parent.control.close()


class Parent:
    """A process that is the parent of one command after another (``sandbox/command_parent.py``)."""

    def __init__(self, pool: ParentPool, control: socket.socket, pid: int) -> None:
        self.pool = pool
        self.control = control
        self.process: ParentedProcess | None = None
        """The last process that it started."""
        fields = stat_fields(pid)
        self.identity = (pid, 0 if fields is None else int(fields[STARTED]))
        """Its process id and its start time."""

    @property
    def free(self) -> bool:
        """Whether it can take a command."""
        return not self.closed and (self.process is None or self.process.idle)

    @property
    def released(self) -> bool:
        """Whether it runs and the run of its command is over."""
        return self.control.fileno() >= 0 and (self.process is None or self.process.released)

    @property
    def closed(self) -> bool:
        """Whether it has ended, or is to end with all that is below it."""
        waits = self.control.fileno() >= 0 and (self.process is None or self.process.idle)
        if waits and _readable(self.control):
            self.control.close()  # it says nothing while it waits
        return self.control.fileno() < 0

    def start(self, entry: int | None, gated: Gated, gate: int, control: int) -> "ParentedProcess":
        """Start a command behind its gate, of which ``control`` is the other end.

        ``entry`` is the way into its sandbox. Raises OSError; it is of no use after that.
        """
        launch = gated.launch
        errors = launch.output if launch.errors is None else launch.errors
        numbers = launch.passed if launch.stdin is None else (*launch.passed, launch.stdin)
        program = ParentedProgram(
            tuple(gated.words),
            gated.executable,
            launch.cwd,
            dict(launch.environment),
            numbers=numbers,
        )
        process = self.become(program, (gate, launch.output, errors), entry)
        os.write(control, gated.before)
        return process

    def become(
        self, program: "ParentedProgram", streams: tuple[int, int, int], entry: int | None
    ) -> "ParentedProcess":
        """Start a program as the leader of a session. Raises OSError; it is of no use after that."""
        described = {**asdict(program), "confined": entry is not None}
        # In a file: a command line may be longer than a message.
        with open(os.memfd_create("command", os.MFD_CLOEXEC), "wb") as file:
            file.write(json.dumps(described).encode())
            file.flush()
            file.seek(0)
            entries = () if entry is None else (entry,)
            handed = [file.fileno(), *streams, *entries, *program.numbers]
            socket.send_fds(self.control, [_SAY], handed)
        self.process = ParentedProcess(self, _answer(self.control)["pid"])
        return self.process


@dataclass(frozen=True, slots=True)
class ParentedProgram:
    """A program for a parent to start: see ``sandbox/command_parent.py``."""

    words: tuple[str, ...]
    executable: str
    cwd: str
    environment: dict[str, str]
    numbers: tuple[int, ...] = ()
    terminal: bool = False
    group: str = ""


class ParentedProcess:
    """A stand-in for ``subprocess.Popen`` of a child: number, end and return code."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self.pid = pid
        self.parent = parent
        self.returncode: int | None = None
        self.released = False
        """Whether its run is over."""
        self._code: int | None = None
        self._idle = False

    def poll(self, patience: float = _MOMENT) -> int | None:
        """The return code once it has ended. From then on it can be reaped: its number names it no more.

        A living parent has ``patience`` seconds to report the end.
        """
        if self.returncode is None and (code := self.code(patience)) is not None:
            self.returncode = code
            self._say({"reap": True})
            self._part()
        return self.returncode

    def code(self, patience: float = _MOMENT) -> int | None:
        """The return code once it has ended and its parent said so; it stays unreaped."""
        self._hear()
        if self._code is None and not self._lives():
            self._go_on()
            self._hear(patience)
            if self._code is None and not self._attached:
                self._code = _KILLED  # with its parent, which the command killed
        return self._code

    async def settle(self) -> None:
        """Once it has ended, wait until its parent has said so, though the command goes on stopping it."""
        deadline = time.monotonic() + PATIENCE
        while self.code() is None and not self._lives():
            if time.monotonic() > deadline:
                self._code = _KILLED
                return
            await asyncio.to_thread(_readable, self.parent.control, _MOMENT)

    def _go_on(self) -> None:
        """Have its parent go on, which the command may have stopped."""
        if self._attached:
            with suppress(OSError):
                os.kill(self.parent.identity[0], signal.SIGCONT)

    @property
    def idle(self) -> bool:
        """Whether nothing is left below its parent, which can take another command."""
        self._hear()
        return self._idle

    def release(self) -> None:
        """Have the parent end all that is left below it."""
        self.released = True
        self._say({"over": True})
        self._part()

    def _part(self) -> None:
        """Let its parent end if enough others wait: once the run is over and its return code known.

        A parent that has taken another command stays.
        """
        done = self.released and self.returncode is not None
        if done and self.parent.process is self and self.parent.pool.abounds:
            self.parent.control.close()

    @property
    def _attached(self) -> bool:
        """Whether its parent runs, and for no other command."""
        return not self._idle and self.parent.control.fileno() >= 0

    def _lives(self) -> bool:
        fields = stat_fields(self.pid)
        return fields is not None and fields[0] not in b"ZX"

    def _say(self, message: dict[str, bool]) -> None:
        if self._attached:
            with suppress(OSError):
                self.parent.control.send(json.dumps(message).encode())

    def _hear(self, patience: float = 0.0) -> None:
        """Read the parent's messages so far; waits for the first one."""
        while self._attached and _readable(self.parent.control, patience):
            patience = 0.0
            try:
                message = _message(self.parent.control.recv(MESSAGE))
            except OSError:
                self.parent.control.close()
                return
            self._code = message.get("code", self._code)
            self._idle = bool(message.get("idle"))


def _readable(control: socket.socket, seconds: float = 0.0) -> bool:
    """Whether something comes within that time; for descriptors of any number."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _answer(control: socket.socket) -> dict[str, Any]:
    """Return a parent's answer to a request. Raises OSError."""
    control.settimeout(PATIENCE)
    answer = _message(control.recv(MESSAGE))
    control.settimeout(None)
    if "errno" in answer:
        raise OSError(answer["errno"], os.strerror(answer["errno"]))
    return answer


def _message(data: bytes) -> dict[str, Any]:
    if not data:
        raise ConnectionResetError(errno.ECONNRESET, "the parent ended")
    return cast("dict[str, Any]", json.loads(data))
