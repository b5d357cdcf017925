"""An app over a real runtime with every real tool, a model that plays answers, and hands to drive it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.widget import Widget

from sam_tui.assembly import Options, build
from sam_tui.core.runtime import Runtime
from sam_tui.ui.app import SamApp
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.preferences import ScreenTerms
from sam_tui.ui.workbench import Workbench
from tests.fakes.engine_kit import RawModel
from tests.transcript.hosting import source_text

DEADLINE = 90.0


class Watch:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        """The time, in seconds."""
        return self.time


class QuickApp(SamApp):
    """The app with a person who waits for nothing: questions show at once and hear at once."""

    PATIENCE = Patience(quiet=0.0, grace=0.0)


class Heard(QuickApp):
    """The app, which keeps what is sent to the terminal around."""

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # pyright: ignore[reportArgumentType]
        self.sent: list[str] = []
        self.rung = 0

    def emit(self, sequence: str) -> None:
        """Keep it."""
        self.sent.append(sequence)

    def bell(self) -> None:
        """Count it."""
        self.rung += 1


class StillApp(SamApp):
    """The app under a clock of ours."""

    WATCH = Watch()
    PATIENCE = Patience(quiet=0.0, grace=0.4, clock=WATCH)


@dataclass
class Stage:
    """A runtime with every real tool, its model, its workspace folder, and the stored layout."""

    runtime: Runtime
    model: RawModel
    workspace: Path
    layout: Mapping[str, Any] = field(default_factory=dict[str, Any])

    async def start(self, progress: Callable[[str], None]) -> Runtime:
        """What the app is given to start."""
        progress("loading")
        return self.runtime


SIDE_SHOWN: Mapping[str, Any] = {"side": "show"}
"""The layout in which the side column stands from the start, with a shell in it."""


def build_stage(
    folder: Path, model: RawModel | None, layout: Mapping[str, Any] | None = None
) -> Stage:
    """A runtime over a fresh workspace; somebody is there to answer."""
    workspace = folder / "ws"
    workspace.mkdir(parents=True, exist_ok=True)
    options = Options(str(workspace), str(folder / "data"), attended=True)
    runtime = build(options, {"HOME": str(folder), "SAM_TUI_CONFIG_DIR": str(folder / "settings")})
    if model is not None:
        runtime.use_model(model)
    return Stage(runtime, model or RawModel(), workspace, layout or {})


Motion = type[events.MouseDown] | type[events.MouseUp]
"""Of a button."""


class Driver:
    """Presses keys, and waits for what should come of them."""

    def __init__(self, app: SamApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def bench(self) -> Workbench:
        """The program once it has started."""
        assert isinstance(self.app.phase, Workbench)
        return self.app.phase

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until it holds; the test fails when it does not within the deadline."""
        async with asyncio.timeout(DEADLINE):
            while not holds():
                await self.pilot.pause()

    async def ready(self) -> None:
        """Wait for the runtime."""
        await self.until(
            lambda: self.app.runtime and self.app.chat.status.activity.phase == "ready"
        )

    async def type(self, text: str) -> None:
        """Put text into the prompt, as a paste would."""
        self.app.chat.prompt.area.insert(text)
        await self.pilot.pause()

    async def send(self, text: str) -> None:
        """Type and press Enter."""
        await self.type(text)
        await self.pilot.press("enter")

    async def button(
        self, kind: Motion, widget: Widget, offset: tuple[int, int], number: int = 1
    ) -> None:
        """A button of the mouse as the terminal reports it; the pilot's own clicks are never presses."""
        x, y = widget.region.offset + offset
        await self.app.on_event(kind(None, x, y, 0, 0, number, False, False, False))
        await self.pilot.pause()

    async def click(self, widget: Widget, offset: tuple[int, int], number: int = 1) -> None:
        """Press and let go."""
        await self.button(events.MouseDown, widget, offset, number)
        await self.button(events.MouseUp, widget, offset, number)

    def drawn(self) -> str:
        """What the screen shows, as text."""
        strips = self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(strip.text for strip in strips)

    def transcript(self) -> str:
        """All that was said, as text."""
        return source_text(self.app.chat.transcript)


@asynccontextmanager
async def driven(app: SamApp, size: tuple[int, int] = (120, 40)) -> AsyncGenerator[Driver]:
    """Run the app without a terminal until the block ends."""
    async with app.run_test(size=size) as pilot:
        yield Driver(app, pilot)


class Remembered:
    """Preferences in memory."""

    def __init__(self, sections: dict[str, Mapping[str, Any]]) -> None:
        self.sections = sections

    def read(self, section: str) -> Mapping[str, Any]:
        """What was written there last."""
        return self.sections.get(section, {})

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Keep it."""
        self.sections[section] = values


def app_over(
    stage: Stage,
    kind: type[SamApp] = QuickApp,
    *,
    prompt: str = "",
    conversation: str | None = None,
) -> SamApp:
    """An app over the stage's runtime."""
    return kind(
        stage.start,
        workspace=str(stage.workspace),
        prompt=prompt,
        conversation=conversation,
        terms=ScreenTerms(Remembered({"layout": stage.layout})),
    )
