"""The small process that keeps one agent session when the program crashes or is started again.

It starts the shell, holds its terminal, and answers on a socket that only its owner can reach. While a
program is attached, that reads the terminal; else the holder stores the output in a ring. Output that
follows input of the person is not stored. The supervisor of the session's sandbox runs here on a
thread; while no program is attached, its questions are denied. Imports only what it needs, to start
quickly.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import termios
import threading
import time
from contextlib import suppress
from typing import Any, cast

from sam_tui import signals
from sam_tui.adapters.terminal.holders.ring import Ring
from sam_tui.adapters.terminal.processes.groups import members, strike
from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.adapters.terminal.sandbox.kernel.entry import restrict
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.adapters.terminal.sandbox.kernel.subreaper import Subreaper
from sam_tui.adapters.terminal.sandbox.supervised.processes import GRACE

_CREDENTIALS = struct.Struct("=iII")
_STAGES = ((signal.SIGHUP, 0.5), (signal.SIGTERM, 0.5), (signal.SIGKILL, 1.0))
_CLIENT = 2.0
"""Seconds in which a client must send its request."""
_LAST_SECONDS = 5.0
"""The most seconds to end processes that have left the session."""
_MOMENT = 0.02
_OUTPUT = 64 * 1024
_LAST_READS = 256


class Holder:
    """A process that keeps one session. ``first`` is the connection of the process that started it."""

    def __init__(self, first: socket.socket) -> None:
        message, handed = _hear(first, 5)
        self._about: dict[str, Any] = message["about"]
        self._folder: str = message["folder"]
        self._scratch: str = message["scratch"]
        self._idle: float = message["idle"]
        self._hold: dict[str, Any] = {}
        self._ring = Ring(handed[0])
        # Open until this process ends: the shell's start files stay even if the program ends.
        self._locks, descriptors = handed[1 : 1 + message["locks"]], handed[1 + message["locks"] :]
        entry = descriptors.pop(0) if message["confined"] else None
        supervisor = socket.socket(fileno=descriptors.pop(0)) if descriptors else None
        self._supervision = socket.socket(fileno=descriptors.pop(0)) if descriptors else None
        most: int = message["processes"]
        self._group = ControlGroup.create(most) if most else None
        self._subreaper = Subreaper() if supervisor is None else None
        self._pid, self._master = _start(message, entry, self._group)
        if entry is not None:
            os.close(entry)
        self._supervisor: threading.Thread | None = None
        if supervisor is not None:
            self._supervisor = threading.Thread(target=_supervise, args=(supervisor,), daemon=True)
            self._supervisor.start()
        self._end = os.pidfd_open(self._pid)
        self._attached: socket.socket | None = first
        self._since = time.monotonic()
        self._listener = _listen(os.path.join(self._folder, "socket"))
        socket.send_fds(first, [json.dumps({"pid": self._pid}).encode()], [self._master])

    def serve(self) -> None:
        """Serve until the shell has ended and the attached client knows, or the session is of no use."""
        try:
            while self._wait():
                pass
        finally:
            with suppress(ChildProcessError):
                os.waitpid(self._pid, os.WNOHANG)
            self._end_detached()
            shutil.rmtree(self._scratch, ignore_errors=True)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _end_detached(self) -> None:
        """End processes that left the shell's session, and the supervisor."""
        if self._subreaper is not None:
            self._subreaper.end(grace=GRACE)
        if self._group is not None:
            self._group.end()
            self._group.remove()
        if self._supervisor is None or self._supervision is None:
            return
        with suppress(OSError):
            # Also for a program that holds the same end.
            self._supervision.shutdown(socket.SHUT_RDWR)
        self._supervisor.join(_LAST_SECONDS)

    def _wait(self) -> bool:
        ready = self._ready()
        if not ready:
            self._finish()
            return False
        if self._subreaper is not None and self._subreaper.fileno() in ready:
            self._subreaper.reap((self._pid,))
        if self._attached is None:
            self._take(ready)
        elif self._attached.fileno() in ready and not self._attached_lives():
            self._detached()
        if self._listener.fileno() in ready and not self._answer():
            return False
        return self._end not in ready or self._ended()

    def _ready(self) -> set[int]:
        """The descriptors that have something to read; none if no program was attached for too long."""
        sources: list[Any] = [self._listener, self._subreaper]
        limit: float | None = None
        if self._attached is not None:
            sources.append(self._attached)
        else:
            sources += [self._master, self._supervision]
            limit = max(0.0, self._since + self._idle - time.monotonic()) * 1000
        poll = select.poll()
        for source in sources:
            if source is not None:
                poll.register(source, select.POLLIN)
        if self._end >= 0:
            poll.register(self._end, select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll(limit)}

    def _attached_lives(self) -> bool:
        """Read every message of the attached program. False if it is gone."""
        assert self._attached is not None
        try:
            while message := self._attached.recv(MESSAGE, socket.MSG_DONTWAIT):
                with suppress(ValueError):
                    self._hold = json.loads(message).get("hold", self._hold)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def _detached(self) -> None:
        assert self._attached is not None
        self._attached.close()
        self._attached, self._since = None, time.monotonic()
        os.set_blocking(self._master, False)

    def _ended(self) -> bool:
        """Tell the attached client that the shell ended, and wait until the client knows."""
        if self._attached is None:
            return False
        status = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        os.close(self._end)
        self._end = -1
        code = None
        if status is not None:
            killed = status.si_code != os.CLD_EXITED
            code = 128 + status.si_status if killed else status.si_status
        with suppress(OSError):
            self._attached.send(json.dumps({"code": code}).encode())
            while self._attached.recv(MESSAGE):
                pass
        return False

    def _take(self, ready: set[int]) -> None:
        """Without a client: store the shell's output, and deny its processes' requests."""
        if self._master in ready:
            with suppress(BlockingIOError, OSError):
                self._keep(os.read(self._master, _OUTPUT))
                return
            if self._end < 0 or select.select([self._end], [], [], 0)[0]:
                return
            # Nobody has the terminal open now, yet the shell lives: let it be looked at again later.
            select.select([], [], [], _MOMENT)
        control = self._supervision
        if control is not None and control.fileno() in ready:
            try:
                message = json.loads(control.recv(MESSAGE) or b"null")
            except (OSError, ValueError):
                message = None
            if message is None:
                self._supervision = None
            elif message["tell"] == "ask":
                _deny(control, message)

    def _answer(self) -> bool:
        """Serve one connection: attach, describe or end. False if nothing is left to keep."""
        client, _ = self._listener.accept()
        client.settimeout(_CLIENT)
        try:
            if not _ours(client):
                client.close()
                return True
            request = json.loads(client.recv(MESSAGE) or b"{}").get("do")
            busy = self._attached is not None
            reply = {
                "about": self._about,
                "pid": self._pid,
                "attached": busy,
                "idle": 0.0 if busy else time.monotonic() - self._since,
            }
            if request == "attach" and not busy:
                handed = [self._ring.descriptor, self._master]
                if self._supervision is not None:
                    handed.append(self._supervision.fileno())
                # Sent on attaching alone, as it contains text that the person typed.
                reply["hold"] = self._hold
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE)
                socket.send_fds(client, [json.dumps(reply).encode()], handed)
                client.settimeout(None)
                self._attached = client
                return True
            client.send(json.dumps(reply).encode())
            if request == "end":
                self._finish()
                client.send(b'{"ended": true}')
                return False
        except (OSError, ValueError):
            pass
        client.close()
        return True

    def _finish(self) -> None:
        """End every process of the session."""
        for sent, seconds in _STAGES:
            strike(self._pid, sent)
            deadline = time.monotonic() + seconds
            while members(self._pid) and time.monotonic() < deadline:
                self._drain()
                select.select([], [], [], _MOMENT)
            if not members(self._pid):
                return

    def _drain(self) -> None:
        """Read remaining output, so that the shell does not wait for a reader while it ends."""
        if self._attached is not None:
            return
        with suppress(BlockingIOError, OSError):
            for _ in range(_LAST_READS):
                self._keep(os.read(self._master, _OUTPUT))

    def _keep(self, data: bytes) -> None:
        if self._hold.get("holder") != "person":
            self._ring.add(data)


def _hear(connection: socket.socket, most: int) -> tuple[dict[str, Any], list[int]]:
    data, handed, _, _ = socket.recv_fds(connection, MESSAGE, most, socket.MSG_CMSG_CLOEXEC)
    return cast("dict[str, Any]", json.loads(data)), list(handed)


def _ours(client: socket.socket) -> bool:
    """Whether the other end has the same owner, and is confined no more than this process.

    A confined program must not reach the terminal of another session, nor its own from outside.
    """
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, owner, _ = _CREDENTIALS.unpack(credentials)
    return owner == os.geteuid() and pid > 0 and _bonds(pid) == _bonds(os.getpid())


def _bonds(pid: int) -> list[bytes]:
    """The kernel's restrictions on a process, from its status file. Raises OSError if it has ended."""
    with open(f"/proc/{pid}/status", "rb") as status:
        return [line for line in status if line.startswith((b"NoNewPrivs:", b"Seccomp"))]


def _deny(control: socket.socket, message: dict[str, Any]) -> None:
    answer = {"tell": "answer", "run": message["run"], "serial": message["serial"]}
    with suppress(OSError):
        control.send(json.dumps({**answer, "allowed": False, "seconds": None}).encode())


def _listen(path: str) -> socket.socket:
    """Return a socket that only its owner can connect to, with any permissions of the folder."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = os.umask(0o177)
    try:
        # From inside its folder: the path of a socket may have 107 bytes only.
        os.chdir(os.path.dirname(path))
        listener.bind(os.path.basename(path))
    finally:
        os.chdir("/")
        os.umask(before)
    listener.listen(4)
    return listener


def _supervise(control: socket.socket) -> None:
    from sam_tui.adapters.terminal.sandbox.supervisor import serve

    serve(control).end(grace=GRACE)


def _start(
    message: dict[str, Any], entry: int | None, group: ControlGroup | None
) -> tuple[int, int]:
    """Start the shell on a new terminal: (its process id, the master side). Raises OSError."""
    master, slave = os.openpty()
    size = struct.pack("HHHH", message["rows"], message["columns"], 0, 0)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
    pid = os.fork()
    if pid == 0:
        if group is not None:
            group.admit_self()
        _become(message, slave, entry)
    os.close(slave)
    return pid, master


def _become(message: dict[str, Any], slave: int, entry: int | None) -> None:
    """In the child: take the terminal, enter the sandbox, become the shell. Does not return."""
    try:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for descriptor in range(3):
            os.dup2(slave, descriptor)
        os.chdir(message["cwd"])
        if entry is not None:
            restrict(entry)
        os.execvpe(message["argv"][0], message["argv"], message["environment"])
    except OSError as error:
        os.write(2, f"sam-tui: the shell could not be started: {error}\r\n".encode())
    finally:
        os._exit(127)


def main() -> None:
    """Run the holder; the last argument is the number of its socket."""
    os.chdir("/")
    signals.keep_own()
    signals.ignore(signal.SIGHUP, signal.SIGINT)
    with socket.socket(fileno=int(sys.argv[-1])) as first:
        Holder(first).serve()
