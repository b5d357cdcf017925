"""The workbench on a real terminal, as far as the command line is concerned."""

import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import SAFE_MODULE, SECONDS

LEAVE_ALTERNATE_SCREEN = b"\x1b[?1049l"


def read_until(descriptor: int, text: bytes) -> bytes:
    """What the terminal showed up to and with the text, or until it was closed."""
    shown = b""
    while text not in shown:
        assert select.select([descriptor], [], [], SECONDS)[0], shown[-2000:]
        try:
            piece = os.read(descriptor, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    return shown


@pytest.mark.requirement("headless:workbench-signals")
def test_a_terminated_workbench_puts_the_terminal_back(tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    arguments = ["-C", str(tmp_path), "--data-dir", str(tmp_path / "data"), "--model", "scripted:"]
    with subprocess.Popen(
        [*SAFE_MODULE, *arguments], stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        shown = read_until(controller, b"sandbox")
        process.send_signal(signal.SIGTERM)
        shown += read_until(controller, LEAVE_ALTERNATE_SCREEN)
        code = process.wait(SECONDS)
    os.close(controller)
    assert code == 143, shown[-2000:]
    assert LEAVE_ALTERNATE_SCREEN in shown
    assert b"Traceback" not in shown


@pytest.mark.requirement("headless:early-failure")
@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["-C", "/nowhere"], 52, b"/nowhere does not exist"),
        (["--resume", "no-such"], 2, b"no conversation no-such"),
    ],
)
def test_what_cannot_be_opened_is_said_without_a_screen(
    tmp_path: Path, arguments: list[str], code: int, text: bytes
) -> None:
    controller, terminal = os.openpty()
    command = [*SAFE_MODULE, "--data-dir", str(tmp_path / "data"), *arguments]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        shown = read_until(controller, b"never shown")
        assert process.wait(SECONDS) == code
    os.close(controller)
    assert text in shown
    assert b"\x1b[?1049h" not in shown


@pytest.mark.requirement("headless:dumb-terminal")
def test_a_terminal_that_cannot_be_drawn_on_is_refused_in_words(tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    command = [*SAFE_MODULE, "--data-dir", str(tmp_path / "data")]
    environment = {**os.environ, "TERM": "dumb"}
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        shown = read_until(controller, b"never shown")
        assert process.wait(SECONDS) == 2
    os.close(controller)
    assert b"TERM=dumb" in shown
    assert b"\x1b[?1049h" not in shown
