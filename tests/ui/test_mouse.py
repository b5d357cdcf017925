"""The mouse is given to the terminal around. Costs next to nothing: no app is run."""

from io import StringIO
from typing import Any, cast

import pytest
from textual.drivers.linux_driver import LinuxDriver
from textual.events import MouseDown

from sam_tui.ui.driver.keys import KeyParser
from sam_tui.ui.driver.mouse import capture_mouse


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
