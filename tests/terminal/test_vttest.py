"""vttest, driven through its menus of cursor movements, screen features and VT102 features.

``vttest.txt`` holds each of its screens, runs of a character written as ``{80*A}``. tmux draws them alike,
but for wrapping and the origin mode, where it is not what vttest says it should be. Costs 0.6 s.
"""

import asyncio
import re
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ports.processes.terminals import SessionSpec
from tests.fakes.programs import needs
from tests.terminal.session_kit import DEADLINE

SCREENS = Path(__file__).with_name("vttest.txt")
WAITS = re.compile(r"Push <RETURN>|Enter choice number")
KEYS = ["1", *[""] * 6, "2", *[""] * 15, "8", *[""] * 12]
"""What is typed at each screen before Enter: a choice of a menu, or nothing."""


def packed(row: str) -> str:
    """A row with long runs counted."""
    return re.sub(r"(.)\1{5,}", lambda run: f"{{{len(run[0])}*{run[1]}}}", row.rstrip())


@needs("vttest")
@pytest.mark.requirement("terminal:vttest")
@pytest.mark.usefixtures("plain_shell")
async def test_the_screens_of_vttest_are_drawn_as_it_says_they_should_be(
    terminals: PtyTerminals, workspace: Path
) -> None:
    session, _ = await terminals.open(SessionSpec(None, str(workspace), 80, 24))
    assert session.screen.rows == 24
    changed = asyncio.Event()
    stop = session.watch(changed.set)
    session.write(b"exec vttest 24x80.80\r")
    expected = SCREENS.read_text("utf-8").split("\f\n")
    step, screen, shown = 0, "", ""
    try:
        for step, (key, screen) in enumerate(zip(KEYS, expected, strict=True)):
            async with asyncio.timeout(DEADLINE):
                while True:
                    rows = session.screen.text().split("\n")
                    shown = "\n".join(map(packed, rows)).rstrip("\n") + "\n"
                    # Each screen waits once: what is drawn before it does is not whole.
                    waits = len(WAITS.findall(session.output(0).text))
                    if waits > step and shown == screen:
                        break
                    changed.clear()
                    await changed.wait()
            session.write(key.encode() + b"\r")
    except TimeoutError:
        assert shown == screen, f"screen {step}"
        raise
    finally:
        stop()
