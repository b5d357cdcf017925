"""The mouse is given to the terminal around. Costs next to nothing: no app is run."""

from io import StringIO
from typing import Any, cast

import pytest
from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.events import MouseDown
from textual.widgets import Button

from sam_tui.core.inquiry import Approval
from sam_tui.ui.driver.keys import KeyParser
from sam_tui.ui.driver.mouse import capture_mouse
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_inquiries import REQUEST, ask, panel, shown


class Silent(LinuxDriver):
    """A driver that keeps what it would send, on no terminal."""

    def __init__(self) -> None:
        self._mouse = True
        self._mouse_pixels = False
        self.sent = StringIO()

    def write(self, data: str) -> None:
        """Keep it."""
        self.sent.write(data)

    def flush(self) -> None:
        """Nothing waits."""


class Around:
    """As much of an app as there is to ask."""

    def __init__(self) -> None:
        self._driver = Silent()


@pytest.mark.requirement("ui:mouse")
def test_the_mouse_is_given_away_and_taken_back_and_a_resumption_does_not_take_it() -> None:
    app = Around()
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    capture_mouse(cast("Any", app), on=False)
    assert "\x1b[?1000l" in driver.sent.getvalue() and "\x1b[?1003l" in driver.sent.getvalue()
    driver._enable_mouse_support()  # pyright: ignore[reportPrivateUsage] # as a resumption does
    assert "\x1b[?1000h" not in driver.sent.getvalue()
    capture_mouse(cast("Any", app), on=True)
    assert "\x1b[?1000h" in driver.sent.getvalue()


@pytest.mark.requirement("ui:mouse")
@pytest.mark.parametrize("button", [128, 129, 130, 131, 160])
def test_a_side_button_is_no_other_button(button: int) -> None:
    parser = KeyParser()
    came = f"\x1b[<{button};3;4M\x1b[<{button};3;4m\x1b[<0;5;6M"
    assert [(type(event), event.x, event.y) for event in cast("Any", list(parser.feed(came)))] == [
        (MouseDown, 4, 5)
    ]


@pytest.mark.requirement("ui:stray-keys")
async def test_the_left_button_alone_answers_a_question(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        asking = ask(me, REQUEST)
        found = await shown(me)
        once = found.query_one("#once", Button)
        for button in (2, 3):  # these paste, or open a menu
            await me.click(once, (2, 0), button)
        await me.button(events.MouseDown, once, (2, 0))
        await me.button(events.MouseUp, found, (3, 1))
        await me.button(events.MouseUp, once, (2, 0))  # what was pressed was let go elsewhere
        assert not asking.done() and panel(me) is found
        await me.click(found.query_one("#deny", Button), (2, 0))
        assert (await asking).answer == Approval("deny")


@pytest.mark.requirement("ui:stray-keys", "ui:too-small")
async def test_a_question_that_the_window_is_too_small_for_hears_nothing(stage: Stage) -> None:
    async with driven(app_over(stage), (39, 30)) as me:
        await me.ready()
        asking = ask(me, REQUEST)
        await me.until(lambda: panel(me))
        await me.pilot.press("1", "escape", "3", "enter", "2")
        await me.pilot.pause()
        assert not asking.done()
        await me.pilot.resize_terminal(80, 24)
        found = await shown(me)
        await me.until(lambda: found.region.area)
        await me.pilot.press("1")
        assert (await asking).answer == Approval("once")
