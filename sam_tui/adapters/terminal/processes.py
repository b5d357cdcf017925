"""Starting a shell command in a session of its own, confined or not, without forking the program."""

import functools
import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sam_tui.adapters.terminal.entrance import Entrance
from sam_tui.core.errors import ToolError

_GATE = 'read -r _; exec <{input}; eval "shift;$1"'
"""Waits for the end of its input, then is the command. See ``Entrance``."""
_BASH_GATE = "exec <{input}; unset BASH_ENV"
"""The same for bash, which reads it to its end from its input before it looks at the command.

So the command stays bash's own last word, and bash becomes a single program instead of forking it.
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start. Output goes to the descriptor ``output``, errors to ``errors`` where that is given;
    ``stdin`` is read. All three stay the caller's.

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
    """The shell that runs commands: bash, or sh where there is none."""
    for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
        if os.access(path, os.X_OK):
            return path
    return "/bin/sh"


def start(launch: Launch, entrance: Entrance | None) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own session, in the sandbox unless ``entrance`` is None.

    Returns once the shell runs (a millisecond or two). Raises ``ToolError`` when it cannot.
    """
    if not os.path.isdir(launch.cwd):
        raise ToolError(f"The working directory does not exist: {launch.cwd}")
    if "\0" in launch.command:
        raise ToolError("The command holds a NUL character, which no shell can take.")
    try:
        if entrance is None:
            stdin = subprocess.DEVNULL if launch.stdin is None else launch.stdin
            return _spawn(launch, ["-c", launch.command], stdin)
        return entrance.start(functools.partial(_spawn_gated, launch))
    except OSError as error:
        raise ToolError(f"The command could not be started: {error.strerror or error}.") from error


def _spawn_gated(launch: Launch, gate: int, kept: int) -> subprocess.Popen[bytes]:
    """Start the command behind the gate: it goes on once ``kept`` is closed."""
    read = "/dev/null" if launch.stdin is None else f"/dev/fd/{launch.stdin}"
    if _name() != "bash":
        script = _GATE.format(input=read)
        return _spawn(launch, ["-c", script, _name(), launch.command], gate)
    before = launch.environment.get("BASH_ENV")
    words = _BASH_GATE.format(input=read)
    words = words if before is None else f"{words}; {_restored(before)}"
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
        stderr=launch.output if launch.errors is None else launch.errors,
        start_new_session=True,
        pass_fds=launch.passed if launch.stdin is None else (*launch.passed, launch.stdin),
    )
