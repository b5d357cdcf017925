"""The mouse: whether the workbench or the terminal around has it, and which presses are clicks."""

from dataclasses import dataclass, replace

from textual import events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Offset
from textual.widget import Widget

_NEAR = 2.0
"""The most cells between the two presses of a double click."""


def capture_mouse(app: App[None], *, on: bool) -> None:
    """Take the mouse, or give it away; that stays so when the program comes back from a suspension."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    if not isinstance(driver, LinuxDriver):
        return
    # The driver sends nothing about a mouse that it does not have.
    if on:
        driver._mouse = True  # pyright: ignore[reportPrivateUsage]
        driver._enable_mouse_support()  # pyright: ignore[reportPrivateUsage]
    else:
        driver._disable_mouse_support()  # pyright: ignore[reportPrivateUsage]
        driver._mouse = False  # pyright: ignore[reportPrivateUsage]
    driver.flush()


@dataclass(frozen=True, slots=True)
class _Clicked:
    """The last click: its widget, its time in seconds, and its position on the screen."""

    widget: Widget
    time: float
    offset: Offset


class LeftClicked(App[None], inherit_bindings=False):
    """An application in which the left button alone clicks, and a double click clicks one widget.

    Textual makes a click of every button, of a release alone on the widget of the last press, and of
    the second half of a double click on a widget that the first half opened.
    """

    _clicked: _Clicked | None = None

    async def on_event(self, event: events.Event) -> None:
        """Pass on an event, and forget the press behind it where no click may follow."""
        if not isinstance(event, events.MouseEvent):
            await super().on_event(event)
        elif self._over_removed(event):
            return
        elif isinstance(event, events.MouseDown | events.MouseUp) and not event.is_forwarded:
            await self._use_button(event)
        else:
            await super().on_event(event)

    async def _use_button(self, event: events.MouseDown | events.MouseUp) -> None:
        left = event.button == 1
        if not left:
            self._mouse_down_widget = None
        pressed = self._mouse_down_widget
        await super().on_event(event)
        if isinstance(event, events.MouseDown):
            if left and not self._goes_on(event):
                return
        elif pressed is not None:
            self._clicked = _Clicked(pressed, event.time, event.screen_offset)
        self._mouse_down_widget = None

    def _goes_on(self, press: events.MouseEvent) -> bool:
        """Whether a press continues a double click that began on another widget at this place."""
        last, widget = self._clicked, self._mouse_down_widget
        if last is None or widget is None or widget is last.widget:
            return False
        near = last.offset.get_distance_to(press.screen_offset) < _NEAR
        if not near or press.time - last.time > self.CLICK_CHAIN_TIME_THRESHOLD:
            return False
        self._clicked = replace(last, time=press.time)
        return True

    def _over_removed(self, event: events.MouseEvent) -> bool:
        """Whether the mouse is over a widget that is still drawn, but was removed.

        Textual looks for the widget around it to mark text in, and finds none: that ends the program.
        """
        if event.is_forwarded:
            return False
        widget, _ = self.screen.get_widget_and_offset_at(event.x, event.y)
        return widget is not None and widget.parent is None
