"""Starting a shell command in a session of its own, confined or not, without forking the program."""

import contextlib
import functools
import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Protocol, TypeVar

from sam_tui.adapters.terminal.sandbox.detached import answered_starts
from sam_tui.adapters.terminal.sandbox.kernel.calls import unshare_descriptors
from sam_tui.adapters.terminal.sandbox.kernel.entry import restrict
from sam_tui.core.errors import ToolError

Started = TypeVar("Started")


class StartedCommand(Protocol):
    """A command that was started."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None:
        """Its return code once it has ended; None while it runs. From then on its number is free."""
        ...


class HeldStart:
    """Starts one command in the sandbox.

    Landlock holds a thread and what it starts, so nothing has to run between fork and exec: the
    start stays a vfork, whose price does not grow with the program's memory, and it is safe beside
    other threads. While that thread lives, though, the command shares its domain and could trace
    it. So the command first waits for the end of a pipe whose other end only this thread holds, in
    a descriptor table of its own: the kernel closes it when the thread is gone, and opens the gate.
    It closes it as well when the program is killed, so the gate opens only for a word that is sent
    once the command is watched.
    """

    def __init__(self, descriptor: int) -> None:
        self._way = descriptor
        self._given: SimpleQueue[Callable[[int, int], None] | None] = SimpleQueue()
        self._news = SimpleQueue[bool]()
        """True when the command was started; False follows in any case when the thread ends."""
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._enter, name="confined-start", daemon=True)
        self._thread.start()

    @property
    def waits(self) -> bool:
        """Whether the thread is still there: it ends by itself when it cannot enter."""
        return self._thread.is_alive()

    def start(
        self, spawn: Callable[[int, int], Started], ready: Callable[[Started], None], word: bytes
    ) -> Started:
        """Start a command, once. Raises OSError when the sandbox cannot be entered.

        ``spawn`` makes the first descriptor its input, and has it wait until ``word`` came from the
        second and that is closed. ``ready`` is called, out here, while it waits; if that raises, the
        command ends without the word.
        """
        started: list[Started] = []
        opened = SimpleQueue[bytes]()

        def enter(gate: int, control: int) -> None:
            started.append(spawn(gate, control))
            self._news.put(True)
            os.write(control, opened.get())

        self._given.put(enter)
        answer = b""
        try:
            if self._news.get():
                ready(started[0])
                answer = word
        finally:
            opened.put(answer)
            self._thread.join()
        if started:
            return started[0]
        raise self._failed or OSError("the thread that starts it died")

    def close(self) -> None:
        """End the thread: nothing will be started by it."""
        self._given.put(None)
        self._thread.join()

    def _enter(self) -> None:
        try:
            restrict(self._way)
            spawn = self._given.get()
            if spawn is None:
                return
            # Only now: until then the copy would keep descriptors open that the program closes.
            unshare_descriptors()
            with answered_starts():
                spawn(*os.pipe())
        except OSError as error:
            self._failed = error
        finally:
            self._news.put(False)


_GATE = 'read -r _ || exit; read -r _; exec <{input}; eval "shift;$1"'
"""Waits for a line and the end of the input, then runs the command; without a line it ends."""
_OUTER_GATE = 'read -r _ || exit; read -r _; exec <{input}; exec "$@"'
"""The same in front of a confining program, and with its arguments as the command."""
_WORD = b"\n"
_BASH_GATE = b"exit"
"""The same for bash: the beginning of a start-up file that it reads from its input. If nothing follows,
bash exits.

The command stays the last one of bash, which becomes its program instead of forking it."""
_BASH_WORD = "= exec <{input}; unset BASH_ENV"
"""Follows ``exit`` in that file, which it turns into the assignment of a variable."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to start. Output goes to the descriptor ``output``, errors to ``errors`` if that is
    set; ``stdin`` is read. All three stay the caller's.

    ``prefix`` are words before the shell's own, such as those of a program that confines it; that
    program inherits the descriptors ``passed``.
    """

    command: str
    cwd: str
    environment: Mapping[str, str]
    output: int
    prefix: tuple[str, ...] = ()
    passed: tuple[int, ...] = ()
    errors: int | None = None
    stdin: int | None = None


@functools.cache
def shell() -> str:
    """The shell that runs commands: bash, or sh if there is no bash."""
    for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
        if os.access(path, os.X_OK):
            return path
    return "/bin/sh"


def start(
    launch: Launch, held_start: HeldStart | None, ready: Callable[[int], None]
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own session, in the sandbox unless ``held_start`` is None.

    ``ready`` is called with its process id while it waits and has started nothing. Returns once the
    shell runs (a millisecond or two). Raises ``ToolError`` when it cannot.
    """
    if held_start is None:
        return start_by(spawn, launch, lambda process: ready(process.pid))
    gated = _gated(launch)
    with _failing():
        enter = functools.partial(spawn, gated)
        return held_start.start(enter, lambda process: ready(process.pid), gated.word)


def start_by(
    spawn: "Callable[[Gated, int, int], Started]", launch: Launch, ready: Callable[[Started], None]
) -> Started:
    """Start a command by ``spawn``, which gets the launch, its input and the other end of that.

    ``ready`` is called while it waits. Raises ``ToolError`` if it cannot.
    """
    gated = _gated(launch)
    with _failing():
        return _open_gate(functools.partial(spawn, gated), ready, gated)


@contextlib.contextmanager
def _failing() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ToolError(f"The command could not be started: {error.strerror or error}.") from error


def _open_gate(
    spawn: Callable[[int, int], Started], ready: Callable[[Started], None], gated: "Gated"
) -> Started:
    """Start a process that waits for the closing of a pipe; ``ready`` runs before."""
    gate, control = os.pipe()
    try:
        process = spawn(gate, control)
        ready(process)
        os.write(control, gated.word)
    finally:
        os.close(gate)
        os.close(control)
    return process


@dataclass(frozen=True, slots=True)
class Gated:
    """A command line that waits at a gate, the beginning of its input, and the text that opens the gate."""

    launch: Launch
    words: Sequence[str]
    before: bytes = b""
    word: bytes = _WORD

    @property
    def executable(self) -> str:
        """The file of the program that waits."""
        return self.words[0] if self.launch.prefix else shell()


def _gated(launch: Launch) -> Gated:
    """The command line with its gate. Raises ``ToolError`` if the command cannot be started."""
    if not os.path.isdir(launch.cwd):
        raise ToolError(f"The working directory does not exist: {launch.cwd}")
    if "\0" in launch.command:
        raise ToolError("The command contains a NUL character, which shells cannot read.")
    read = "/dev/null" if launch.stdin is None else f"/dev/fd/{launch.stdin}"
    if launch.prefix:
        words = [*launch.prefix, shell(), "-c", launch.command]
        return Gated(launch, ("/bin/sh", "-c", _OUTER_GATE.format(input=read), "sh", *words))
    if _name() == "bash" and launch.stdin is not None:
        read = f"&{launch.stdin}"  # also where /proc is hidden
    if _name() != "bash" or not os.path.exists("/dev/fd/0"):
        script = _GATE.format(input=read)
        return Gated(launch, (_name(), "-c", script, _name(), launch.command))
    before = launch.environment.get("BASH_ENV")
    script = _BASH_WORD.format(input=read)
    script = script if before is None else f"{script}; {_restored(before)}"
    environment = {**launch.environment, "BASH_ENV": "/dev/fd/0"}
    return Gated(
        replace(launch, environment=environment),
        (_name(), "-c", launch.command),
        _BASH_GATE,
        f"{script}\n".encode("utf-8", "surrogateescape"),
    )


def _restored(file: str) -> str:
    """Return shell text that reads a file of the person's own before the command, as bash would have."""
    return f'export BASH_ENV={shlex.quote(file)}; [ ! -r "$BASH_ENV" ] || . "$BASH_ENV"'


def _name() -> str:
    """The name of the shell in its own messages."""
    return os.path.basename(shell())


def spawn(gated: Gated, gate: int, control: int) -> subprocess.Popen[bytes]:
    """Start the command behind the gate, which opens once ``control`` had the word and is closed."""
    launch = gated.launch
    os.write(control, gated.before)
    return subprocess.Popen(
        gated.words,
        executable=gated.executable,
        cwd=launch.cwd,
        env=launch.environment,
        stdin=gate,
        stdout=launch.output,
        stderr=launch.output if launch.errors is None else launch.errors,
        start_new_session=True,
        pass_fds=launch.passed if launch.stdin is None else (*launch.passed, launch.stdin),
    )
