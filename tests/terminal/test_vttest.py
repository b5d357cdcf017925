"""vttest, driven through the menus whose screens can be told by their cells.

``vttest.txt`` holds each screen of cursor movements, screen features and VT102 features, runs of a
character written as ``{80*A}``. tmux draws them alike, but for wrapping and the origin mode, where it is
not what vttest says it should be. ``vttest_others.txt`` holds those of double-sized characters (drawn at
their usual size), keys, known bugs, ISO 6429 colours and test parameters: where cells have a colour or an
attribute, how many of each look there are; of a menu only that it waits. Both cost 1.3 s.
"""

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ports.processes.screens import KeyPress, Screen
from sam_tui.core.ports.processes.terminals import SessionSpec
from tests.fakes.programs import needs
from tests.terminal.session_kit import DEADLINE

FOLDER = Path(__file__).parent
WAITS = re.compile(r"Push <RETURN>|Enter choice number|Finish with TAB|key\)")
MENU, LOOKS = "menu\n", "]*"
WALKS = {
    "vttest.txt": ["1", *[""] * 6, "2", *[""] * 15, "8", *[""] * 12],
    "vttest_others.txt": [
        *("4", *[""] * 6),
        *(
            "5",
            "4",
            "<up>",
            "<down>",
            "<right>",
            "<left>",
            "<tab>",
            "<up>",
            "<left>",
            "<tab>",
            "<tab>",
        ),
        *("", "0"),
        *("9", "2", "", "", "7", "", "9", "", "", "0"),
        *("11", "6", "2", "", "3", "", "4", "", "", "5", "", "", "9", "", "", "", "0", "0"),
        *("12", "0"),
    ],
}
"""What is typed at each screen before Enter: a choice of a menu, or nothing; in angles a key alone."""


def packed(row: str) -> str:
    """A row with long runs counted."""
    return re.sub(r"(.)\1{5,}", lambda run: f"{{{len(run[0])}*{run[1]}}}", row.rstrip())


def picture(screen: Screen, text: str) -> str:
    """What is on the screen, as the files write it."""
    rows = "\n".join(map(packed, screen.text().split("\n"))).rstrip("\n") + "\n"
    if text == MENU and "Enter choice number" in rows:
        return MENU
    looks = Counter[str]()
    for run in (run for row in screen.all_rows() for run in row):
        attributes = " ".join(sorted(run.attributes))
        looks[f"{run.foreground}/{run.background} {attributes}".rstrip()] += len(run.text)
    told = " ".join(f"[{look}]*{count}" for look, count in sorted(looks.items()))
    return f"{rows}{told}\n" if LOOKS in text else rows


@needs("vttest")
@pytest.mark.requirement("terminal:vttest")
@pytest.mark.usefixtures("plain_shell")
@pytest.mark.parametrize("name", WALKS)
async def test_the_screens_of_vttest_are_drawn_as_it_says_they_should_be(
    terminals: PtyTerminals, workspace: Path, name: str
) -> None:
    session, _ = await terminals.open(SessionSpec(None, str(workspace), 80, 24))
    assert session.screen.rows == 24
    changed = asyncio.Event()
    stop = session.watch(changed.set)
    session.write(b"exec vttest 24x80.80\r")
    expected = (FOLDER / name).read_text("utf-8").split("\f\n")
    step, screen, shown = 0, "", ""
    try:
        for step, (key, screen) in enumerate(zip(WALKS[name], expected, strict=True)):
            async with asyncio.timeout(DEADLINE):
                while True:
                    shown = picture(session.screen, screen)
                    # Each screen waits once: what is drawn before it does is not whole.
                    waits = len(WAITS.findall(session.output(0).text))
                    if waits > step and shown == screen:
                        break
                    changed.clear()
                    await changed.wait()
            if key.startswith("<"):
                session.write(session.screen.input.key(KeyPress(key.strip("<>"), None)))
            else:
                session.write(key.encode() + b"\r")
    except TimeoutError:
        assert shown == screen, f"screen {step}"
        raise
    finally:
        stop()
