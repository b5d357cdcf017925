"""Draws the pictures of the README: real sessions of the demo, with the scripted model, as SVG.

With ``--check`` it compares what it draws with the pictures that there are, and writes none; with names
behind it, only those.
"""

import asyncio
import itertools
import os
import re
import shutil
import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SHOWN = "/tmp/tally-demo"
"""The folder that the pictures show."""


def _scratch() -> Path:
    """A new folder with a name as long as the one shown, so that lines break where they do there."""
    for number in itertools.count(os.getpid()):
        folder = Path(f"/tmp/tally-{number % 0x10000:04x}")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            return folder
    raise AssertionError


SCRATCH = _scratch()
os.environ.update(
    SHELL="/bin/bash",
    HOME=str(SCRATCH),
    TEXTUAL_ANIMATIONS="none",
    PYTHONDONTWRITEBYTECODE="1",
    TERM="xterm-256color",
    COLORTERM="truecolor",
    OPENAI_API_KEY="for-the-list-of-models",
    GEMINI_API_KEY="for-the-list-of-models",
)
os.environ.pop("NO_COLOR", None)
os.environ.pop("PROMPT_COMMAND", None)

from textual.pilot import Pilot  # noqa: E402

from sam_tui.assembly import Options, build  # noqa: E402 - the environment above is read at import
from sam_tui.core.runtime import Runtime  # noqa: E402
from sam_tui.demo.material import TASK, Material, unpack  # noqa: E402
from sam_tui.ui import theme  # noqa: E402
from sam_tui.ui.app import SamApp  # noqa: E402
from sam_tui.ui.controllers.terminals import commands  # noqa: E402
from sam_tui.ui.key_guard import Patience  # noqa: E402
from screenshots.comparison import differences  # noqa: E402

_REMOTE = re.compile(r"@font-face \{.*?\}\s*|<!-- [^>]* -->\s*", re.S)
"""What a picture would load from elsewhere, and who made it."""
_FONT = re.compile(r"font-family: Fira Code, monospace;")
LONGEST = 60.0
"""Seconds a session may take to come to what is to be seen."""
_LOOKS = 20
"""How often a screen is looked at that differs: what is drawn late may make it the same."""

commands.SOON = LONGEST  # how long the tests of the demo take is no part of a picture


class Unhurried(SamApp):
    """The workbench, where a question hears at once: the pilot's keys are meant."""

    PATIENCE = Patience(quiet=0.0, grace=0.0)


class Stage:
    """One run of the demo under a pilot."""

    def __init__(self, app: SamApp, pilot: Pilot[None], faults: list[str] | None) -> None:
        self.app = app
        self.pilot = pilot
        self._faults = faults

    async def until(self, seen: Callable[[], bool]) -> None:
        """Let it run until something is so."""
        try:
            async with asyncio.timeout(LONGEST):
                while not seen():
                    await self.pilot.pause(0.05)
        except TimeoutError:
            raise TimeoutError(f"What is to be seen did not come:\n{self.text()}") from None
        await self.pilot.pause(0.3)

    def asks(self) -> bool:
        """Whether an approval is on the screen and hears."""
        return bool(self.app.chat.query("InquiryPanel"))

    def rests(self) -> bool:
        """Whether the turn is over and everything drawn."""
        activity = self.app.chat.status.activity
        return activity.phase == "ready" and self.app.chat.transcript.at_rest

    def text(self) -> str:
        """What the screen shows, as text."""
        strips = self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(strip.text for strip in strips)

    def draw(self) -> str:
        """The screen as a picture."""
        svg = self.app.export_screenshot(title="sam-tui").replace(str(SCRATCH), SHOWN)
        return _FONT.sub("font-family: monospace;", _REMOTE.sub("", svg))

    async def take(self, name: str) -> None:
        """Write the screen as a picture, or note how it comes to differ from the one that there is."""
        path = HERE / f"{name}.svg"
        if self._faults is None:
            path.write_text(self.draw(), encoding="utf-8")
            return
        committed = path.read_text(encoding="utf-8")
        rows: list[str] = []
        for _ in range(_LOOKS):
            rows = differences(committed, self.draw())
            if not rows:
                return
            await self.pilot.pause(0.25)
        self._faults += [f"{name}.svg, {row}" for row in rows]


def options(material: Material) -> Options:
    """The demo's own, with a person at the desk."""
    return Options(
        workspace=str(material.workspace),
        data_dir=str(material.data),
        model=f"scripted:{material.script}",
        attended=True,
    )


def fresh_material() -> Material:
    """The demo, unpacked anew; the shell there has a short prompt that names no machine."""
    for entry in SCRATCH.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    (SCRATCH / ".bashrc").write_text("PS1='$ '\n", encoding="utf-8")
    return unpack(SCRATCH)


Step = Callable[[Stage], Awaitable[object]]


def keys(*names: str, shows: str = "") -> Step:
    """Press keys, and wait for a text where one is to be seen."""

    async def press(stage: Stage) -> None:
        await stage.pilot.press(*names)
        leaves = names == ("escape",)
        at_work = stage.app.chat
        await stage.until(
            lambda: shows in stage.text() and (not leaves or stage.app.screen is at_work)
        )

    return press


def action(name: str, shows: str) -> Step:
    """Have an action done, and wait for a text."""

    async def perform(stage: Stage) -> None:
        stage.app.action_perform(name)
        await stage.until(lambda: shows in stage.text())

    return perform


async def _work(stage: Stage) -> None:
    """Let the agent come to its question."""
    await stage.until(stage.asks)


async def _allow(stage: Stage) -> None:
    """Say yes, and let it come to its end."""
    await stage.pilot.press("1")
    await stage.until(stage.rests)


async def _use_terminal(stage: Stage) -> None:
    """Work in the shell of the side column."""
    await stage.pilot.press("ctrl+right_square_bracket")
    await stage.until(lambda: "│$ " in stage.text())
    typed = "ls; python3 -m unittest -q; tail -5 tally.py"
    await stage.pilot.press(*("space" if c == " " else c for c in typed), "enter")
    await stage.until(lambda: "OK" in stage.text())


async def _leave_terminal(stage: Stage) -> None:
    await stage.pilot.press(*["ctrl+right_square_bracket"] * 2)


SCENES: tuple[tuple[str, tuple[Step, ...], tuple[Step, ...]], ...] = (
    ("approval", (_work,), ()),
    ("done", (_allow,), ()),
    ("help", (keys("f1", shows="Ctrl"),), (keys("escape"),)),
    ("palette", (keys("ctrl+p", shows="Search"),), (keys("escape"),)),
    ("commands", (keys("slash", shows="/help"),), (keys("backspace"),)),
    ("files", (keys("at", "t", shows="tally"),), (keys("backspace", "backspace"),)),
    ("search", (keys("ctrl+f", *"case"),), (keys("escape", "escape"),)),
    ("review", (action("review", "tally.py"),), (keys("escape"),)),
    ("models", (action("model", "odel"),), (keys("escape"),)),
    ("themes", (action("theme", "light"),), (keys("escape"),)),
    ("settings", (action("settings", "ettings"),), (keys("escape"),)),
    ("terminal", (_use_terminal,), (_leave_terminal,)),
)
"""What each picture is called, what leads to it, and what leads away."""
SMALL = ("approval", "done", "help", "review", "terminal")
LIGHT = ("done", "review", "terminal")


@dataclass(frozen=True, slots=True)
class Session:
    """A run of the demo at one size and in one look; its scenes, by the names of their pictures."""

    size: tuple[int, int]
    look: str
    prefix: str
    scenes: Collection[str]

    def pictures(self) -> dict[str, str]:
        """Scenes by pictures."""
        return {f"{self.prefix}{scene}": scene for scene in self.scenes}


SESSIONS = (
    Session((120, 40), theme.DARK.name, "", [name for name, _, _ in SCENES]),
    Session((120, 40), theme.LIGHT.name, "light-", LIGHT),
    Session((80, 24), theme.DARK.name, "small-", SMALL),
)


async def play(session: Session, pictures: Collection[str], faults: list[str] | None) -> None:
    """Play the demo, and draw or compare those of its pictures."""
    scenes = [scene for name, scene in session.pictures().items() if name in pictures]
    if not scenes:
        return
    material = fresh_material()

    async def start(_: Callable[[str], None]) -> Runtime:
        return build(options(material), os.environ)

    app = Unhurried(start, workspace=str(material.workspace), prompt=TASK)
    async with app.run_test(size=session.size) as pilot:
        app.theme = session.look
        stage = Stage(app, pilot, faults)
        for name, before, after in SCENES:
            if name not in scenes and name not in ("approval", "done"):
                continue
            for step in before:
                await step(stage)
            if name in scenes:
                await stage.take(f"{session.prefix}{name}")
            for step in after:
                await step(stage)


async def main(arguments: list[str]) -> int:
    """Draw or check all pictures, or those of the names; 1 where one differs, 2 where a name is none."""
    checks = "--check" in arguments
    pictures = {name for session in SESSIONS for name in session.pictures()}
    names = {argument for argument in arguments if argument != "--check"} or pictures
    if names - pictures:
        print("There is no picture", ", ".join(sorted(names - pictures)), file=sys.stderr)
        return 2
    faults: list[str] = []
    try:
        for session in SESSIONS:
            await play(session, names, faults if checks else None)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
