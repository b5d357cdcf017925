"""Starting a shell command in a session of its own, confined or not, without forking the program."""

import os
import shlex
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from sam_tui.adapters.terminal.confinement import restrict, unshare_descriptors
from sam_tui.core.errors import ToolError

_GATE = 'read -r _; exec </dev/null; eval "shift;$1"'
"""Waits for the end of its input, then is the command. See ``_start_confined``."""
_BASH_GATE = "exec </dev/null; unset BASH_ENV"
"""The same for bash, which reads it to its end from its input before it looks at the command.

So the command stays bash's own last word, and bash becomes a single program instead of forking it.
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start. Both streams go to the descriptor ``output``, which stays the caller's.

    ``prefix`` are words before the shell's own, such as those of a program that confines it; that
    program inherits the descriptors ``passed``.
    """

    command: str
    cwd: str
    environment: Mapping[str, str]
    output: int
    prefix: tuple[str, ...] = ()
    passed: tuple[int, ...] = ()


@cache
def shell() -> str:
    """The shell that runs commands: bash, or sh where there is none."""
    for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
        if os.access(path, os.X_OK):
            return path
    return "/bin/sh"


def start(launch: Launch, ruleset: int | None) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own session, held to ``ruleset`` unless that is None.

    Returns once the shell runs (a millisecond or two). Raises ``ToolError`` when it cannot.
    """
    if not os.path.isdir(launch.cwd):
        raise ToolError(f"The working directory does not exist: {launch.cwd}")
    if "\0" in launch.command:
        raise ToolError("The command holds a NUL character, which no shell can take.")
    try:
        if ruleset is None:
            return _spawn(launch, ["-c", launch.command], subprocess.DEVNULL)
        return _start_confined(launch, ruleset)
    except OSError as error:
        raise ToolError(f"The command could not be started: {error.strerror or error}.") from error


def _start_confined(launch: Launch, ruleset: int) -> subprocess.Popen[bytes]:
    """Let a short-lived thread enter the sandbox and start the command from in there.

    Landlock holds a thread and what it starts, so nothing has to run between fork and exec: the
    start stays a vfork, whose price does not grow with the program's memory, and it is safe beside
    other threads. While that thread lives, though, the command shares its domain and could trace
    it. So the shell first waits for the end of a pipe whose other end only this thread holds, in a
    descriptor table of its own: the kernel closes it when the thread is gone, and opens the gate.
    """
    started: list[subprocess.Popen[bytes]] = []
    failed: list[OSError] = []

    def enter() -> None:
        try:
            unshare_descriptors()
            restrict(ruleset)
            gate, kept = os.pipe()
            started.append(_spawn_gated(launch, gate, kept))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter, name="confined-start", daemon=True)
    thread.start()
    thread.join()
    if started:
        return started[0]
    raise failed[0] if failed else OSError("the thread that starts it died")


def _spawn_gated(launch: Launch, gate: int, kept: int) -> subprocess.Popen[bytes]:
    """Start the command behind the gate: it goes on once ``kept`` is closed."""
    if _name() != "bash":
        return _spawn(launch, ["-c", _GATE, _name(), launch.command], gate)
    before = launch.environment.get("BASH_ENV")
    words = _BASH_GATE if before is None else f"{_BASH_GATE}; {_restored(before)}"
    os.write(kept, f"{words}\n".encode("utf-8", "surrogateescape"))
    environment = {**launch.environment, "BASH_ENV": "/dev/fd/0"}
    return _spawn(replace(launch, environment=environment), ["-c", launch.command], gate)


def _restored(file: str) -> str:
    """What makes bash read a file of the person's own before the command, as it would have."""
    return f'export BASH_ENV={shlex.quote(file)}; [ ! -r "$BASH_ENV" ] || . "$BASH_ENV"'


def _name() -> str:
    """What the shell calls itself in its messages."""
    return os.path.basename(shell())


def _spawn(launch: Launch, arguments: list[str], stdin: int) -> subprocess.Popen[bytes]:
    if launch.prefix:
        words, executable = [*launch.prefix, shell(), *arguments], None
    else:
        words, executable = [_name(), *arguments], shell()
    return subprocess.Popen(
        words,
        executable=executable,
        cwd=launch.cwd,
        env=launch.environment,
        stdin=stdin,
        stdout=launch.output,
        stderr=launch.output,
        start_new_session=True,
        pass_fds=launch.passed,
    )
