"""The program at a terminal of its own, as a person starts it."""

import fcntl
import os
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.preloaded import COMMAND


def start_at(
    terminal: int, *words: str, folder: Path, environ: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start it in a folder, with more variables, at the child's end of a terminal, which is closed here.

    The terminal controls it.
    """
    try:
        return subprocess.Popen(
            [*COMMAND, *words],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env={**os.environ, **environ},
            start_new_session=True,
            preexec_fn=take_terminal,
        )
    finally:
        os.close(terminal)


def take_terminal() -> None:
    """In the child: its terminal tells it of new sizes and of its end."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
