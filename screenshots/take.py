"""Draws the pictures of the README: real sessions of the demo, with the scripted model, as SVG."""

import asyncio
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

HERE = Path(__file__).parent
SCRATCH = Path("/tmp/tally-demo")
"""Always the same folder, so that the pictures show the same paths."""

os.environ.update(SHELL="/bin/bash", HOME=str(SCRATCH), TEXTUAL_ANIMATIONS="none")
os.environ.pop("PROMPT_COMMAND", None)

from textual.pilot import Pilot  # noqa: E402

from sam_tui.assembly import Options, build  # noqa: E402 - the environment above is read at import
from sam_tui.core.runtime import Runtime  # noqa: E402
from sam_tui.demo.material import TASK, Material, unpack  # noqa: E402
from sam_tui.ui import theme  # noqa: E402
from sam_tui.ui.app import SamApp  # noqa: E402

_REMOTE = re.compile(r"@font-face \{.*?\}\s*|<!-- [^>]* -->\s*", re.S)
"""What a picture would load from elsewhere, and who made it."""
_FONT = re.compile(r"font-family: Fira Code, monospace;")
LONGEST = 60.0
"""Seconds a session may take to come to what is to be seen."""


class Stage:
    """One run of the demo under a pilot."""

    def __init__(self, app: SamApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def until(self, seen: Callable[[], bool]) -> None:
        """Let it run until something is so."""
        async with asyncio.timeout(LONGEST):
            while not seen():
                await self.pilot.pause(0.05)
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

    def take(self, name: str) -> None:
        """Write the screen as a picture."""
        svg = self.app.export_screenshot(title="sam-tui")
        svg = _FONT.sub("font-family: monospace;", _REMOTE.sub("", svg))
        (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")


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
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    (SCRATCH / ".bashrc").write_text("PS1='$ '\n", encoding="utf-8")
    return unpack(SCRATCH)


Step = Callable[[Stage], Awaitable[object]]


def keys(*names: str, shows: str = "") -> Step:
    """Press keys, and wait for a text where one is to be seen."""

    async def press(stage: Stage) -> None:
        await stage.pilot.press(*names)
        await stage.until(lambda: shows in stage.text())

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
    await stage.pilot.pause(0.6)
    await stage.pilot.press("1")
    await stage.until(stage.rests)


async def _use_terminal(stage: Stage) -> None:
    """Work in the shell of the side column."""
    await stage.pilot.press("ctrl+right_square_bracket")
    await stage.until(lambda: "$" in stage.text())
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
    ("search", (keys("ctrl+f", *"case"),), (keys("escape"),)),
    ("review", (action("review", "tally.py"),), (keys("escape"),)),
    ("models", (action("model", "odel"),), (keys("escape"),)),
    ("themes", (action("theme", "light"),), (keys("escape"),)),
    ("settings", (action("settings", "ettings"),), (keys("escape"),)),
    ("terminal", (_use_terminal,), (_leave_terminal,)),
)
"""What each picture is called, what leads to it, and what leads away."""
SMALL = ("approval", "done", "help", "review", "terminal")
LIGHT = ("done", "review", "terminal")


async def session(size: tuple[int, int], look: str, prefix: str, names: Collection[str]) -> None:
    """Play the demo at one size and in one look, and draw the scenes of these names."""
    material = fresh_material()

    async def start(_: Callable[[str], None]) -> Runtime:
        return build(options(material), os.environ)

    app = SamApp(start, workspace=str(material.workspace), prompt=TASK)
    async with app.run_test(size=size) as pilot:
        app.theme = look
        stage = Stage(app, pilot)
        for name, before, after in SCENES:
            if name not in names and name not in ("approval", "done"):
                continue
            for step in before:
                await step(stage)
            if name in names:
                stage.take(f"{prefix}{name}")
            for step in after:
                await step(stage)


async def main() -> None:
    """All pictures."""
    everything = [name for name, _, _ in SCENES]
    await session((120, 40), theme.DARK.name, "", everything)
    await session((120, 40), theme.LIGHT.name, "light-", LIGHT)
    await session((80, 24), theme.DARK.name, "small-", SMALL)
    shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main())
