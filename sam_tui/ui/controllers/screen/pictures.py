"""Draws images with the terminal around where it can, and as half blocks where it cannot."""

import asyncio
import fcntl
import struct
import termios
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from sam_tui.settings.user import UserSettings
from sam_tui.ui.driver.cells import DrawnCells, cells_of
from sam_tui.ui.driver.images.detection import (
    ASK_TERMINAL,
    BEHIND_TMUX,
    answers_safely,
    protocol_behind_tmux,
    protocol_of,
)
from sam_tui.ui.driver.images.marks import Protocol
from sam_tui.ui.driver.images.overlays import Overlays
from sam_tui.ui.driver.images.placements import Graphic, Placements
from sam_tui.ui.driver.keys import TerminalTold
from sam_tui.ui.driver.sequences import tmux_question
from sam_tui.ui.messages import PictureWanted
from sam_tui.ui.programs import ANSWERED, printed
from sam_tui.ui.timers import after

if TYPE_CHECKING:
    from sam_tui.core.ports.documents import Pictures, Raster

_USUAL_CELL = (10, 20)
_SIZES = struct.Struct("HHHH")


class TerminalPictures:
    """The images of one app. It asks the terminal for its abilities when the first image is visible."""

    def __init__(self, app: App[Any], settings: UserSettings, decoded: "Pictures") -> None:
        self._app = app
        self._settings = settings
        self._decoded = decoded
        self._asking = asyncio.Lock()
        self._asked = False
        self._placements: Placements | None = None
        self._answer: asyncio.Future[TerminalTold] | None = None
        self._waits = False

    async def show(self, event: PictureWanted) -> None:
        """Have an image drawn: at once as half blocks, then by the terminal."""
        if self._settings.settings.text("screen.images") == "off":
            event.show(None, None)
            return
        raster = await self._decoded.raster(event.image)
        event.show(raster, None)
        async with self._asking:
            if not self._asked:
                await self._ask()
                self._asked = True
        if raster is None or self._placements is None:
            return
        size = _pixel_size(raster)
        pixels = await self._decoded.pixels(event.image, size, event.ground)
        if pixels is not None:
            event.show(raster, partial(self._placements.add, Graphic.of(pixels)))

    def receive(self, answer: TerminalTold) -> None:
        """Take the terminal's answer about itself."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    async def _ask(self) -> None:
        """Find out which image protocol the terminal has, and draw the cells by it."""
        driver: Any = self._app._driver  # pyright: ignore[reportPrivateUsage]
        cells = cells_of(driver)
        if cells is None or self._app.is_inline or hasattr(driver, "region"):
            return
        protocol = await self._protocol(driver)
        if protocol == "kitty" and self._app.console.color_system != "truecolor":
            return  # an image is named by a colour
        if protocol is not None:
            self._use(cells, driver, protocol)

    def _use(self, cells: DrawnCells, driver: Any, protocol: Protocol) -> None:
        tmux = bool(self._settings.environ.get("TMUX"))
        cells.pictures = self._placements = Placements(protocol, tmux)
        if protocol != "kitty":
            size = partial(_cell_size, driver.fileno)
            cells.overlays = Overlays(self._placements, size, self._draw_later, self._draw_after)

    async def _protocol(self, driver: Any) -> Protocol | None:
        """The protocol for images: the person's choice, or what the terminal reports; None for none."""
        choice = self._settings.settings.text("screen.images")
        if choice in ("kitty", "iterm", "sixel"):
            return choice
        if choice != "auto":
            return None
        environment = self._settings.environ
        if environment.get("TMUX"):
            return protocol_behind_tmux(await printed(*tmux_question(environment, BEHIND_TMUX)))
        if not answers_safely(environment):
            return None
        self._answer = asyncio.get_running_loop().create_future()
        driver.answers.expected = True
        driver.write(ASK_TERMINAL)
        try:
            answer = await asyncio.wait_for(self._answer, ANSWERED)
        except TimeoutError:
            return None
        return protocol_of(answer.name, answer.attributes)

    def _draw_later(self, seconds: float) -> None:
        if not self._waits:
            self._waits = True
            after(self._app, seconds, self._draw_again)

    def _draw_after(self, make: Callable[[], object]) -> None:
        self._app.run_worker(self._made(make), group="pictures")

    async def _made(self, make: Callable[[], object]) -> None:
        await asyncio.to_thread(make)
        self._app.refresh()

    def _draw_again(self) -> None:
        self._waits = False
        self._app.refresh()


def _pixel_size(raster: "Raster") -> tuple[int, int]:
    """The largest useful number of pixels for an image of so many cells."""
    width, height = _USUAL_CELL
    return raster.width * width, raster.height * height // 2


def _cell_size(descriptor: int) -> tuple[int, int]:
    """Pixels of a cell, as the terminal reports them; zeros where it does not."""
    try:
        answer = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(_SIZES.size))
    except OSError:
        return 0, 0
    rows, columns, width, height = _SIZES.unpack(answer)
    return (width // columns, height // rows) if rows and columns else (0, 0)
