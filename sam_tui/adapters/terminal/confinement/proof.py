"""Finds out whether a command can be held: runs one that writes inside, and outside, and looks."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress

from sam_tui.adapters.terminal.confinement.run import ConfinedRun
from sam_tui.adapters.terminal.processes.launch import Launch, start
from sam_tui.core.errors import ToolError

_SECONDS = 20.0
"""Longer than any machine that works takes, however busy it is."""
_COMMAND = 'echo in > in && cat in && mkdir d && rmdir d && ! echo out > "$OUTSIDE/out"'


def fault(hold: Callable[[tuple[str, ...]], ConfinedRun | None]) -> str:
    """Why a command cannot run as ``hold`` holds it, given folders that it may write to; empty when
    it can, writes there and is refused outside. Takes some milliseconds; never raises."""
    try:
        folder = os.path.realpath(tempfile.mkdtemp(prefix="sam-tui-probe-"))
    except OSError as error:
        return f"no temporary folder can be made ({error.strerror})"
    try:
        inside, outside = (os.path.join(folder, name) for name in ("inside", "outside"))
        os.mkdir(inside)
        os.mkdir(outside)
        confined_run = hold((inside,))
        if confined_run is None:
            return ""
        try:
            return _tried(confined_run, inside, outside)
        finally:
            confined_run.close()
    except ToolError as error:
        return str(error).rstrip(".")
    except OSError as error:
        return str(error.strerror)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tried(confined_run: ConfinedRun, inside: str, outside: str) -> str:
    with tempfile.TemporaryFile() as output:
        launch = Launch(
            _COMMAND,
            inside,
            {"PATH": os.environ.get("PATH", os.defpath), "OUTSIDE": outside, "LC_ALL": "C"},
            output.fileno(),
            confined_run.prefix,
            confined_run.passed,
        )
        process = start(launch, confined_run.entrance(), confined_run.begin)
        try:
            code = process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"a command did not end within {_SECONDS:g} s"
        output.seek(0)
        lines = output.read(4096).decode(errors="replace").strip().splitlines()
    if os.path.exists(os.path.join(outside, "out")):
        return "a command wrote outside of its folders"
    if code != 0:
        return (
            f"a command failed inside its folders ({lines[-1] if lines else f'exit code {code}'})"
        )
    return ""
