"""One shell on one pseudo-terminal: started, read, written to and ended on the event loop."""

import asyncio
import ctypes
import os
import signal
import sys
import termios
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import ptyprocess  # pyright: ignore[reportMissingTypeStubs]

from sam_tui.adapters.terminal.person_input.session_holder import Hold
from sam_tui.adapters.terminal.processes.ends import ProcessEnd, end_session
from sam_tui.adapters.terminal.processes.groups import members
from sam_tui.adapters.terminal.pty.input_wait import Modes, blocked, modes, pending, unread
from sam_tui.adapters.terminal.pty.reader import Flood, Gathering
from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.adapters.terminal.sandbox.kernel.entry import restrict
from sam_tui.core.errors import ToolError

_PtyProcess: Any = ptyprocess.PtyProcess

_READ = 16 * 1024
_UNREAD_LIMIT = 1024 * 1024
_LAST_READS = 256
_STAGES = ((signal.SIGHUP, 0.5), (signal.SIGTERM, 0.5), (signal.SIGKILL, 1.0))
_NOTICE, _NOTICED = 0.02, 2.0
"""Seconds between two checks whether a program has handled its new size, and of all checks together."""
_REDRAWS = 5
"""How often a program that prints nothing is made to redraw."""
_POLLS_TERMINALS = sys.platform == "linux"
"""Whether the system can poll terminals; on macOS the event loop reads them instead."""


@dataclass(frozen=True, slots=True)
class PtyLaunch:
    """A program to start on a new pseudo-terminal. ``ruleset`` confines it, unless None; ``locks`` are
    descriptors that a holder keeps open for as long as it runs. A control group, if one can be made,
    limits it to that many ``processes``, 0 for no limit."""

    argv: tuple[str, ...]
    cwd: str
    environment: dict[str, str]
    columns: int
    rows: int
    ruleset: int | None
    locks: tuple[int, ...] = ()
    processes: int = 0


class Process(Protocol):
    """The program that a ``Pty`` runs, however it was started."""

    @property
    def pid(self) -> int: ...
    @property
    def fd(self) -> int:
        """The master side of its terminal."""
        ...

    def on_output(self, data: bytes) -> None:
        """Take output of the session that may be stored."""
        ...

    def hold(self, hold: Hold) -> None:
        """Take a change of the session's holder or of the person's typed text."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal."""
        ...

    def reap(self) -> int | None:
        """Release the program and return its exit code (128 plus the signal), or None if it is unknown."""
        ...


class Child:
    """A program started by this process."""

    def __init__(self, launch: PtyLaunch) -> None:
        self.group = ControlGroup.create(launch.processes) if launch.processes else None
        """The control group that counts its processes, and ends them with it."""
        self._process = _spawn(launch, self.group)
        self.fd: int = self._process.fd
        self.pid: int = self._process.pid

    def on_output(self, data: bytes) -> None:
        """Do nothing: no other process stores the output."""

    def hold(self, hold: Hold) -> None:
        """Do nothing: no other process is involved."""

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal."""
        self._process.setwinsize(rows, columns)

    def reap(self) -> int | None:
        """Release the program and return its exit code, or None if it is unknown."""
        code = None
        if not self._process.isalive():
            killed = self._process.signalstatus
            code = self._process.exitstatus if killed is None else 128 + killed
        # Not through PtyProcess.close, which would signal a process that no longer exists.
        self._process.fileobj.close()
        self._process.closed = True
        if self.group is not None:
            self.group.end()
            self.group.remove()
        return code


class Pty:
    """A running program and the master side of its terminal.

    ``on_output`` gets each piece of output; ``ended`` is called once, after the last of it.
    """

    def __init__(
        self, process: Process, on_output: Callable[[bytes], None], ended: Callable[[], None]
    ) -> None:
        self._heard = on_output
        self._gathering = Gathering(on_output, self._flooded)
        self._flood: Flood | None = None
        self._on_end = ended
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._fd = process.fd
        self._pid = process.pid
        self._unwritten = bytearray()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._exit_code: int | None = None
        self._closing: asyncio.Task[None] | None = None
        self._restoring: asyncio.TimerHandle | None = None
        self._size = (0, 0)
        self._silent = False
        self.tty_name = _terminal_name(self._fd)
        os.set_blocking(self._fd, False)
        self._reading = True
        self._loop.add_reader(self._fd, self._read)
        self._end = ProcessEnd(self._pid, self._exited)

    @property
    def running(self) -> bool:
        """Whether the program has not ended."""
        return not self._over.done()

    @property
    def exit_code(self) -> int | None:
        """The exit code, or 128 plus the number of the signal; None while the program runs."""
        return self._exit_code

    @property
    def pid(self) -> int:
        """The process id of the program, which leads the session of its terminal."""
        return self._pid

    @property
    def modes(self) -> Modes:
        """The present input modes of the terminal."""
        return modes(self._fd) if self.running else Modes(echo=True, lines=True)

    def control(self, which: int) -> bytes:
        """The control character that ``termios`` names so in this terminal; empty if it has none."""
        try:
            key = termios.tcgetattr(self._fd)[6][which]
        except (termios.error, OSError):
            return b""
        return b"" if not isinstance(key, bytes) or key in (b"\0", b"\xff") else key

    def start_output(self) -> None:
        """Let its terminal print again where its stop key (Ctrl+S) was pressed."""
        key = self.control(termios.VSTART)
        if key and termios.tcgetattr(self._fd)[0] & termios.IXON:
            self.write(key)

    @property
    def unread(self) -> bool:
        """Whether some typed input has not been read by any program."""
        return self.running and (bool(self._unwritten) or unread(self.tty_name))

    def foreground(self) -> int:
        """The process group in the foreground; 0 if there is none."""
        if not self.running:
            return 0
        try:
            return max(0, os.tcgetpgrp(self._fd))
        except OSError:
            return 0

    def catch_up(self) -> None:
        """Read all output that was printed until now."""
        self._calm()
        for _ in range(_LAST_READS):
            if not self._reading or not self._read():
                break
        self._gathering.finish()

    def write(self, data: bytes) -> None:
        """Send typed input of any size; the rest is sent once the program reads.

        Raises ``ToolError`` if the session has ended, or if input waits and would exceed a megabyte.
        """
        if not self.running:
            raise ToolError("The terminal session has ended.", hint="Create a new session.")
        if self._unwritten and len(self._unwritten) + len(data) > _UNREAD_LIMIT:
            raise ToolError("The program in the terminal is not reading its input.")
        idle = not self._unwritten
        self._unwritten += data
        if idle:
            self._write()

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program its new size; nothing after its end."""
        if self.running:
            self._restored()
            self._process.resize(columns, rows)

    def redraw(self, columns: int, rows: int) -> None:
        """Make the program redraw its screen: set one row more, then the size itself.

        If it noticed both changes at once, it would find its old size and draw nothing. That happens on a
        busy machine, so this is repeated while the program prints nothing.
        """
        self._size = (columns, rows)
        self._silent = True
        self._enlarge(_REDRAWS)

    def _enlarge(self, redraws: int) -> None:
        self._restoring = None
        if self.running and self._silent and redraws:
            columns, rows = self._size
            self._process.resize(columns, rows + 1)
            self._restore(self._loop.time() + _NOTICED, redraws - 1)

    def _restore(self, deadline: float, redraws: int) -> None:
        """Check repeatedly whether the program waits, and has handled its change of size."""
        self._restoring = None
        if not self.running:
            return
        group = self.foreground()
        pids = [pid for pid, its in members(self._pid).items() if its == group]
        # In this order: what handles a signal is not blocked.
        resized = not any(pending(pid, signal.SIGWINCH) for pid in pids)
        waiting = blocked(pids, self.tty_name)
        if (resized and (waiting.reading or waiting.polling)) or self._loop.time() >= deadline:
            self._process.resize(*self._size)
            self._restoring = self._loop.call_later(_NOTICED, self._enlarge, redraws)
        else:
            self._restoring = self._loop.call_later(_NOTICE, self._restore, deadline, redraws)

    def _restored(self) -> None:
        """Restore the program's size at once, if it was changed for a redraw."""
        if self._restoring is not None:
            self._restoring.cancel()
            self._restoring = None
            self._process.resize(*self._size)

    async def close(self) -> None:
        """End the whole session: HUP, TERM, KILL. Returns when it is over; safe to call again."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    def leave(self) -> None:
        """Detach from a program that a holder keeps; it goes on running."""
        if self.running:
            self._restored()
            self._end.close()
            self._stop_reading()
            self._gathering.finish()
            self._loop.remove_writer(self._fd)
            self._over.set_result(None)

    async def _close(self) -> None:
        if not self.running:
            return
        # The session's leader must not be reaped before the last signal: see endings.strike.
        self._end.close()
        await end_session(self._pid, _STAGES, self.foreground())
        self._exited()

    def _exited(self) -> None:
        """The shell has ended: read its last output, reap it, and close the terminal."""
        self.catch_up()
        self._end.close()
        self._stop_reading()
        self._loop.remove_writer(self._fd)
        self._exit_code = self._process.reap()
        self._over.set_result(None)
        self._on_end()

    def _read(self) -> bool:
        """Read one piece of output. False if there is none now.

        One only: the kernel hands out 4 KiB at most, and draining it in a loop is slower, because
        the writer sleeps meanwhile, and keeps everybody else waiting.
        """
        try:
            data = os.read(self._fd, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""  # Linux ends a terminal with EIO
        if not data:
            self._stop_reading()
            return False
        self._silent = False
        self._gathering.add(data)
        return True

    def _flooded(self) -> None:
        """Output comes so fast that a thread reads it from now on, until it slows down."""
        self._gathering.finish()
        if self._reading and _POLLS_TERMINALS:
            self._loop.remove_reader(self._fd)
            self._flood = Flood(self._fd, self._heard, self._calm)

    def _calm(self, over: bool = False) -> None:
        """Deliver the rest of a flood, and read on unless the output has ended."""
        flood, self._flood = self._flood, None
        if flood is not None:
            flood.finish()
            self._reading = not over
            if self._reading:
                self._loop.add_reader(self._fd, self._read)

    def _stop_reading(self) -> None:
        self._calm()
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def _write(self) -> None:
        try:
            written = os.write(self._fd, self._unwritten)
        except BlockingIOError:
            written = 0
        except OSError:
            self._unwritten.clear()  # it is ending, which is reported elsewhere
            written = 0
        del self._unwritten[:written]
        if self._unwritten:
            self._loop.add_writer(self._fd, self._write)
        else:
            self._loop.remove_writer(self._fd)


def require_folder(cwd: str) -> None:
    """Raise ``ToolError`` unless ``cwd`` is a folder."""
    if not os.path.isdir(cwd):
        raise ToolError(f"The working directory does not exist: {cwd}")


def _entry(ruleset: int | None, group: ControlGroup | None) -> Callable[[], object] | None:
    """The function that the shell's process calls before exec; it never both confines and groups."""
    if ruleset is not None:
        return partial(restrict, ruleset)
    return None if group is None else group.admit_self


def _spawn(launch: PtyLaunch, group: ControlGroup | None) -> Any:
    """Start the program; raises ``ToolError`` when the folder or the program is missing."""
    require_folder(launch.cwd)  # PtyProcess would fail in the child, and run on there
    ruleset = launch.ruleset
    try:
        with warnings.catch_warnings():
            # Python 3.12 warns of any fork beside threads; what runs here is two system calls.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = _PtyProcess.spawn(
                list(launch.argv),
                cwd=launch.cwd,
                env=launch.environment,
                dimensions=(launch.rows, launch.columns),
                preexec_fn=_entry(ruleset, group),
                pass_fds=() if ruleset is None else (ruleset,),
            )
    except (OSError, RuntimeError) as error:
        if group is not None:
            group.remove()
        raise ToolError(f"The shell could not be started: {error}") from error
    process.delayafterclose = process.delayafterterminate = 0
    return process


@cache
def _ptsname() -> Callable[[int], bytes | None]:
    call = ctypes.CDLL(None, use_errno=True).ptsname
    call.restype = ctypes.c_char_p
    return call


def _terminal_name(master: int) -> str:
    """The path of the terminal of this PTY master, such as ``/dev/pts/3``."""
    return os.fsdecode(_ptsname()(master) or b"")
