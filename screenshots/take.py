"""Draws the pictures of the README: real sessions of the demo, with the scripted model, as SVG."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
SCRATCH = Path("/tmp/tally-demo")
"""Always the same folder, so that the pictures show the same paths."""

os.environ.update(SHELL="/bin/bash", HOME=str(SCRATCH), TEXTUAL_ANIMATIONS="none")
os.environ.pop("PROMPT_COMMAND", None)

from textual.pilot import Pilot  # noqa: E402

from sam_tui import __version__  # noqa: E402 - the environment above is read at import
from sam_tui.assembly import Options, build  # noqa: E402
from sam_tui.core.runtime import Runtime  # noqa: E402
from sam_tui.demo.material import TASK, Material, unpack  # noqa: E402
from sam_tui.ui.app import SamApp  # noqa: E402

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

    def take(self, name: str) -> None:
        """Write the screen as a picture."""
        svg = self.app.export_screenshot(title="sam-tui")
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


async def session(size: tuple[int, int], prefix: str) -> None:
    """Play the demo at one size: the approval, and the end after it was given."""
    material = fresh_material()

    async def start(_: Callable[[str], None]) -> Runtime:
        return build(options(material), os.environ)

    app = SamApp(start, workspace=str(material.workspace), prompt=TASK, version=__version__)
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot)
        await stage.until(stage.asks)
        stage.take(f"{prefix}approval")
        await pilot.pause(0.6)
        await pilot.press("1")
        await stage.until(stage.rests)
        stage.take(f"{prefix}done")
        await pilot.press("f1")
        await pilot.pause(0.3)
        stage.take(f"{prefix}help")


async def main() -> None:
    """All pictures."""
    await session((120, 40), "")
    await session((80, 24), "small-")
    shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main())
