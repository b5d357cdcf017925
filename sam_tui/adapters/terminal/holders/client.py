"""The client side of holders: start one, list them, attach to one, end one."""

import asyncio
import fcntl
import json
import os
import shutil
import socket
import stat
import struct
import termios
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, cast

from sam_tui.adapters.terminal.holders.ring import Ring
from sam_tui.adapters.terminal.person_input.session_holder import Hold
from sam_tui.adapters.terminal.pty.pty import PtyLaunch
from sam_tui.adapters.terminal.sandbox.detached import start_detached
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.adapters.terminal.sandbox.supervision import Supervision
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import SessionSpec

_MODULE = "sam_tui.adapters.terminal.holders.process"
_PATIENCE = 20.0
_LAST_WORD = 2.0
_ENDING = 10.0
_IDLE = 12 * 3600.0
_CREDENTIALS = struct.Struct("=iII")


@dataclass(frozen=True, slots=True)
class SessionOrigin:
    """The origin of a session. ``nonce`` is the secret of its marks, ``snippet`` the folder of its
    shell's start files; ``began`` in epoch seconds."""

    id: str
    conversation: str | None
    cwd: str
    confined: bool
    writable: tuple[str, ...]
    network: str
    shell: str
    nonce: str
    began: float
    snippet: str = ""

    def serves(self, spec: SessionSpec) -> bool:
        """Whether the session is confined if a spec asks for that."""
        return self.confined or not spec.confined

    def looser(self, spec: SessionSpec, network: str) -> bool:
        """Whether the session may do more than a spec, and ``network`` (in words), would allow now."""
        if not self.confined:
            return False
        more = not set(self.writable) <= set(spec.writable)
        return more or (self.network != network and network != "on")


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A holder that answered. ``idle`` is the time in seconds since somebody was attached."""

    origin: SessionOrigin
    pid: int
    attached: bool
    idle: float
    folder: str


class HeldProcess:
    """A shell in a holder process, while this program is attached to it."""

    def __init__(
        self, control: socket.socket, pid: int, fd: int, ring: Ring, supervision: Supervision | None
    ) -> None:
        self.pid = pid
        self.fd = fd
        self.ring = ring
        self.supervision = supervision
        self.earlier_hold = Hold()
        """The hold at the end of an earlier program, and the typed text that is still to be redacted."""
        self._control = control

    def on_output(self, data: bytes) -> None:
        """Store the output for the program that attaches next."""
        self.ring.add(data)

    def hold(self, hold: Hold) -> None:
        """Tell the holder who types: while the person does, it must not store the output either."""
        # The holder reads at once or never; without a limit this program would wait forever.
        self._control.settimeout(_LAST_WORD)
        with suppress(OSError):
            self._control.send(json.dumps({"hold": asdict(hold)}).encode())

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def size(self) -> tuple[int, int]:
        """Columns and rows of its terminal."""
        packed = fcntl.ioctl(self.fd, termios.TIOCGWINSZ, bytes(8))
        rows, columns, _, _ = struct.unpack("HHHH", packed)
        return columns, rows

    def reap(self) -> int | None:
        """The exit code that the holder reports; then detach."""
        code = None
        self._control.settimeout(_LAST_WORD)
        with suppress(OSError, ValueError):
            code = cast("int | None", json.loads(self._control.recv(MESSAGE)).get("code"))
        self.leave()
        return code

    def leave(self) -> None:
        """Detach; the holder goes on as long as its shell does."""
        self._control.close()
        if self.supervision is not None:
            self.supervision.close()
        self.ring.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Holders:
    """The holders below one folder, each in a folder of its own with its socket.

    A holder that is started here ends after ``idle`` seconds in which nobody attached.
    """

    def __init__(self, folder: str, *, idle: float = _IDLE) -> None:
        self._folder = os.path.realpath(folder)
        self._idle = idle

    def make_folder(self, session: str) -> str:
        """Make the folder of one session; returns its real path."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        os.chmod(self._folder, 0o700)
        folder = os.path.join(self._folder, session)
        os.mkdir(folder, mode=0o700)
        return folder

    async def start(
        self,
        origin: SessionOrigin,
        launch: PtyLaunch,
        watched: "tuple[Supervision, socket.socket] | None",
        scratch: str,
    ) -> HeldProcess:
        """Start a shell below a holder. Raises ``ToolError`` when that fails.

        The holder removes ``scratch``, the session's temporary folder, in the end.
        """
        ring = Ring.make()
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        handed = [ring.descriptor, *launch.locks]
        if launch.ruleset is not None:
            handed.append(launch.ruleset)
        if watched is not None:
            handed += [watched[1].fileno(), watched[0].fileno()]
        message: dict[str, Any] = {
            "about": asdict(origin),
            "folder": os.path.join(self._folder, origin.id),
            "scratch": scratch,
            "argv": launch.argv,
            "cwd": launch.cwd,
            "environment": launch.environment,
            "columns": launch.columns,
            "rows": launch.rows,
            "locks": len(launch.locks),
            "confined": launch.ruleset is not None,
            "idle": self._idle,
            "processes": launch.processes,
        }
        try:
            with theirs:
                start_detached(_MODULE, theirs)
            control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE)
            socket.send_fds(control, [json.dumps(message).encode()], handed)
            reply, terminal = await _receive(control)
            pid, fd = reply["pid"], terminal[0]
        except (OSError, ValueError, KeyError, IndexError, TimeoutError) as error:
            control.close()
            ring.close()
            raise ToolError(f"The shell could not be started: {error or 'no answer'}") from error
        if watched is not None:
            watched[0].begin(1, pid)
        return HeldProcess(control, pid, fd, ring, watched[0] if watched else None)

    async def sessions(self) -> Sequence[KeptSession]:
        """The sessions whose holders answer, oldest first. The folders of dead ones are removed."""
        terminals: list[KeptSession] = []
        try:
            names = os.listdir(self._folder)
        except OSError:
            return terminals
        for name in names:
            folder = os.path.join(self._folder, name)
            try:
                reply, _, control = await _say(folder, "tell")
            except FileNotFoundError:
                continue  # this holder is still starting
            except ConnectionRefusedError:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            except (OSError, ValueError, TimeoutError):
                continue
            control.close()
            terminals.append(_kept(reply, folder))
        return sorted(terminals, key=lambda terminal: terminal.origin.began)

    async def attach(self, terminal: KeptSession) -> HeldProcess:
        """Attach to a session. Raises ``ToolError`` if another program has it, or it is gone."""
        try:
            reply, handed, control = await _say(terminal.folder, "attach")
        except (OSError, ValueError, TimeoutError) as error:
            raise ToolError("The terminal session is gone.") from error
        if len(handed) < 2:
            control.close()
            raise ToolError("Another program is attached to this terminal session.")
        supervision = None
        if len(handed) > 2:
            supervision = Supervision.adopted(socket.socket(fileno=handed[2]))
        process = HeldProcess(control, reply["pid"], handed[1], Ring(handed[0]), supervision)
        process.earlier_hold = Hold.from_data(reply.get("hold", {}))
        return process

    async def end(self, terminal: KeptSession) -> None:
        """End a session with everything that runs in it; does nothing if it is gone."""
        with suppress(OSError, ValueError, TimeoutError):
            _, _, control = await _say(terminal.folder, "end")
            with control:
                await _receive(control, _ENDING)


def _kept(reply: dict[str, Any], folder: str) -> KeptSession:
    about: dict[str, Any] = dict(reply["about"])
    about["writable"] = tuple(about["writable"])
    return KeptSession(
        SessionOrigin(**about), reply["pid"], reply["attached"], reply["idle"], folder
    )


async def _say(folder: str, request: str) -> tuple[dict[str, Any], list[int], socket.socket]:
    """Send a message to a holder and return the answer; both ends must belong to this user."""
    path = os.path.join(folder, "socket")
    status = os.lstat(path)
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError(path)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        _connect(control, folder)
        peer = control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(peer)[1] != os.geteuid():
            raise PermissionError(path)
        control.send(json.dumps({"do": request}).encode())
        reply, handed = await _receive(control)
    except BaseException:
        control.close()
        raise
    return reply, handed, control


def _connect(control: socket.socket, folder: str) -> None:
    """Connect through a descriptor of the folder, as a socket's path is limited to 107 bytes."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        control.connect(f"/proc/self/fd/{handle}/socket")
    finally:
        os.close(handle)


async def _receive(control: socket.socket, within: float = _PATIENCE) -> tuple[Any, list[int]]:
    """Receive one message of a holder, with its descriptors. Raises ``ConnectionResetError``."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(control.fileno(), lambda: ready.done() or ready.set_result(None))
    try:
        async with asyncio.timeout(within):
            await ready
    finally:
        loop.remove_reader(control.fileno())
    data, handed, _, _ = socket.recv_fds(control, MESSAGE, 4, socket.MSG_CMSG_CLOEXEC)
    if not data:
        raise ConnectionResetError("the holder ended")
    return json.loads(data), list(handed)
