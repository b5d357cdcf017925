"""The small process that is the parent of a command, and of every process that the command orphans.

It starts one command after another, reports how each ended, and ends every remaining descendant when the
run is over or the program is gone. A program that runs several commands at once has several such
processes. Uses only the standard library.
"""

import errno
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, cast

from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.adapters.terminal.sandbox.kernel.entry import restrict
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.adapters.terminal.sandbox.kernel.subreaper import Subreaper, children
from sam_tui.adapters.terminal.sandbox.supervised.processes import GRACE

IGNORED = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM),
)
"""Signals that the parent ignores, so that its command cannot end it."""
MOST_DESCRIPTORS = 64
"""The most descriptors of one message."""
_OWN = min(900, os.sysconf("SC_OPEN_MAX") - 16)
"""The least number of the parent's own descriptors; lower numbers are free for its command."""
_LAST_SECONDS = 10.0
"""Seconds in which parents must end by themselves."""


class Parents(Subreaper):
    """The first parent process, and the parents that it has forked.

    If a command kills its parent, the descendants become this process's, which ends them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pids = set[int]()

    def fork(self, control: socket.socket, program: socket.socket) -> None:
        """Fork a parent that is connected to ``program``; ``control`` stays with this process."""
        with program:
            try:
                pid = os.fork()
            except OSError as error:
                _tell(program, errno=error.errno)
                return
            if not pid:
                control.close()
                self.close()
                _become(program)
            self._pids.add(pid)

    def attend(self) -> None:
        """Reap ended parents, and end the descendants of a killed one."""
        self.reap()
        self._pids &= set(children(os.getpid()))
        self.end(self._pids)

    def finish(self) -> None:
        """Wait until the parents have ended their descendants; end the remaining ones."""
        deadline = time.monotonic() + _LAST_SECONDS
        while self._pids and (left := deadline - time.monotonic()) > 0:
            for pid in self._pids:
                with suppress(OSError):
                    os.kill(pid, signal.SIGCONT)  # a command may have stopped it
            select.select([self], [], [], min(left, 1.0))
            self.attend()
        self.end()


def _become(program: socket.socket) -> NoReturn:
    """Become a parent of commands, right after a fork. Does not return."""
    try:
        control = socket.socket(fileno=fcntl.fcntl(program.fileno(), fcntl.F_DUPFD_CLOEXEC, _OWN))
        program.close()
        subreaper = Subreaper(_OWN)
        _tell(control, parent=os.getpid())
        while _serve(control, subreaper):
            _tell(control, idle=True)
    finally:
        os._exit(0)


def _serve(control: socket.socket, subreaper: Subreaper) -> bool:
    """Start one command, and follow its run to the end. False if this parent can take no other."""
    data, descriptors = b"", list[int]()
    while not descriptors:
        with suppress(ConnectionResetError):
            data, descriptors, _, _ = socket.recv_fds(
                control, MESSAGE, MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
            )
        if not data:
            return False
    try:
        pid = _start(descriptors)
    except subprocess.SubprocessError:
        _tell(control, errno=errno.EPERM)
        return True
    except OSError as error:
        _tell(control, errno=error.errno or errno.EIO)
        return True
    _tell(control, pid=pid)
    alive = _watch(control, subreaper, pid)
    subreaper.end(grace=0.0 if alive else GRACE)
    # A process out of reach, as of another user, must not count to the next command.
    return alive and not children(os.getpid())


def _start(descriptors: Sequence[int]) -> int:
    """Start a command as the leader of a session. Raises OSError and SubprocessError.

    The descriptors are a file that describes it (JSON: words, executable, cwd, environment, numbers,
    confined, terminal, group), its input, output and errors, the way into its sandbox where it is confined,
    and those that it gets under the ``numbers``. All are closed here. With ``terminal`` its input becomes
    the terminal of its session; it enters the control group ``group``, unless that is empty.
    """
    with open(descriptors[0], "rb", closefd=False) as file:
        start = cast("dict[str, Any]", json.loads(file.read()))
    numbers = cast("list[int]", start["numbers"])
    lowest = max([2, *numbers]) + 1
    # First out of the way of the numbers that the command is to have.
    received = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, lowest) for number in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    try:
        if lowest > _OWN:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        entry = received[4] if start["confined"] else None
        for descriptor, number in zip(received[-len(numbers) :], numbers, strict=False):
            os.dup2(descriptor, number)
        process = subprocess.Popen(
            start["words"],
            executable=start["executable"],
            cwd=start["cwd"],
            env=start["environment"],
            stdin=received[1],
            stdout=received[2],
            stderr=received[3],
            start_new_session=True,
            pass_fds=numbers,
            preexec_fn=_first(entry, start["group"], terminal=start["terminal"]),
        )
        process.returncode = 0  # it is reaped here, not by the object
        return process.pid
    finally:
        for descriptor in {*received, *(numbers if lowest <= _OWN else ())}:
            with suppress(OSError):
                os.close(descriptor)


def _first(entry: int | None, group: str, *, terminal: bool) -> Callable[[], None] | None:
    """The function to call between ``setsid`` and exec; None if there is nothing to do."""
    if entry is None and not group and not terminal:
        return None

    def first() -> None:
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if group:
            ControlGroup(group).admit_self()
        if entry is not None:
            restrict(entry)

    return first


def _watch(control: socket.socket, subreaper: Subreaper, pid: int) -> bool:
    """Report how a command ended; returns when nothing is left or the run is over. False when the program
    is gone.

    The command stays unreaped until the program says that it signals its session no more.
    """
    unreaped = (pid,)
    reported = False
    while True:
        ready = select.select([control, subreaper], [], [])[0]
        if unreaped and not reported and (code := _code(pid)) is not None:
            reported = True
            _tell(control, code=code)
        if subreaper in ready:
            subreaper.reap(unreaped)
        if control in ready:
            try:
                message = json.loads(control.recv(MESSAGE) or b"null")
            except OSError:
                return False
            if message is None:
                return False
            if "over" in message:
                return True
            unreaped = ()
            subreaper.reap()
        if not unreaped and not children(os.getpid()):
            return True


def _code(pid: int) -> int | None:
    """The return code of a child that has ended, as ``subprocess`` gives it."""
    try:
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return None
    if status is None:
        return None
    return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status


def _tell(program: socket.socket, **message: int | None) -> None:
    with suppress(OSError):
        program.send(json.dumps(message).encode())
