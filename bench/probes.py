"""Runs programs and measures them: to their end, or in a pty until they answer a key."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS, ROWS = 120, 40
KEYS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ"
"""Typed one after the other until one is drawn: none of them stands on a first screen."""

KEY_PAUSE = 0.005
PATIENCE = 30.0
QUIET = 4
"""Seconds one after the other without CPU, after which a start is over."""
STILL = 0.02
"""CPU seconds of such a second at most: two ticks of the system's clock."""


class Unmeasurable(Exception):
    """A program did not do what was to be measured; the text says what it did."""


@dataclass(frozen=True, slots=True)
class Run:
    """One program run to its end. Seconds and MB; CPU and memory include ended children."""

    wall: float
    cpu: float
    peak: float
    output: str


@dataclass(frozen=True, slots=True)
class Interactive:
    """One program in a pty. ``usable`` is seconds from exec until a typed key was drawn.

    ``memory`` (MB), ``idle`` (CPU percent) and ``wakeups`` (a second, of all threads) are None where the
    system has no /proc.
    """

    usable: float
    memory: float | None
    idle: float | None
    wakeups: float | None


def run(command: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> Run:
    """Run to the end; raises Unmeasurable where it fails."""
    with (cwd / ".output").open("w+b") as output, (cwd / ".errors").open("w+b") as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text, complaint = output.read().decode(), errors.read().decode()
    if process.returncode:
        raise Unmeasurable(
            f"{' '.join(command)} ended with {process.returncode}: {complaint[-400:]}"
        )
    return Run(wall, usage.ru_utime + usage.ru_stime, _megabytes(usage.ru_maxrss), text)


def interactive(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    watch: float = 0.0,
) -> Interactive:
    """Start in a pty and type until a key is drawn; then let the start end and watch it idle."""
    begun = time.perf_counter()
    process, master = os.forkpty()
    if process == 0:
        try:
            os.chdir(cwd)
            os.execvpe(command[0], list(command), dict(environment))
        finally:
            os._exit(127)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    try:
        usable = _until_usable(process, master) - begun
        if not watch:
            return Interactive(usable, None, None, None)
        _settle(process, master)
        memory, before, slept = _memory(process), _cpu(process), _wakeups(process)
        _drain(master, watch)
        after, awake = _cpu(process), _wakeups(process)
        idle = None if before is None or after is None else 100 * (after - before) / watch
        wakeups = None if slept is None or awake is None else (awake - slept) / watch
        return Interactive(usable, memory, idle, wakeups)
    finally:
        os.kill(process, signal.SIGKILL)
        os.close(master)
        os.waitpid(process, 0)


def _until_usable(process: int, master: int) -> float:
    """When the first of the typed keys was read back."""
    seen, typed = b"", 0
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        # Before the program turns echo off, the terminal itself would echo what is typed.
        if typed < len(KEYS) * 20 and not termios.tcgetattr(master)[3] & termios.ECHO:
            os.write(master, KEYS[typed % len(KEYS)].encode())
            typed += 1
        while select.select([master], [], [], KEY_PAUSE)[0]:
            try:
                seen += os.read(master, 65_536)
            except OSError:
                raise Unmeasurable(f"it ended before it was usable: {seen[-400:]!r}") from None
            if any(key.encode() in seen for key in KEYS):
                return time.perf_counter()
    raise Unmeasurable(f"process {process} drew no typed key in {PATIENCE:.0f} s: {seen[-400:]!r}")


def _drain(master: int, seconds: float) -> None:
    """Read what the program draws, as a terminal would."""
    deadline = time.perf_counter() + seconds
    while (left := deadline - time.perf_counter()) > 0:
        if select.select([master], [], [], left)[0]:
            try:
                os.read(master, 65_536)
            except OSError:
                raise Unmeasurable("it ended while it should have been idle") from None


def _settle(process: int, master: int) -> None:
    """Wait until the start is over: it used next to no CPU for a while, however busy the machine is."""
    deadline = time.perf_counter() + PATIENCE
    quiet, before = 0, _cpu(process)
    while quiet < QUIET and time.perf_counter() < deadline:
        _drain(master, 1.0)
        now = _cpu(process)
        calm = now is None or before is None or now - before <= STILL
        quiet, before = quiet + 1 if calm else 0, now


def _memory(process: int) -> float | None:
    """Resident MB of one process now."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), None)


def _cpu(process: int) -> float | None:
    """User and system seconds of one process so far."""
    try:
        fields = (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wakeups(process: int) -> int | None:
    """How often the threads of one process went to sleep by themselves so far."""
    try:
        texts = [file.read_text() for file in Path(f"/proc/{process}/task").glob("*/status")]
    except OSError:
        return None
    lines = [line for text in texts for line in text.splitlines()]
    counts = [int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt")]
    return sum(counts) if counts else None


def _megabytes(peak: int) -> float:
    """``ru_maxrss`` is in kB on Linux and in bytes on macOS."""
    return peak / (1024 * 1024 if os.uname().sysname == "Darwin" else 1024)
