"""Who has the mouse, the workbench or the terminal around, and which presses are clicks."""

from textual import events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


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


class LeftClicked(App[None], inherit_bindings=False):
    """An application in which the left button alone clicks.

    Textual makes a click of every button, and of a release alone on the widget of the last press.
    """

    async def on_event(self, event: events.Event) -> None:
        """Pass on an event, and forget the press behind it where no click may follow."""
        if not isinstance(event, events.MouseEvent):
            await super().on_event(event)
            return
        if self._over_removed(event):
            return
        button = isinstance(event, events.MouseDown | events.MouseUp) and not event.is_forwarded
        other = button and event.button != 1
        if other:
            self._mouse_down_widget = None
        await super().on_event(event)
        if other or (button and isinstance(event, events.MouseUp)):
            self._mouse_down_widget = None

    def _over_removed(self, event: events.MouseEvent) -> bool:
        """Whether the mouse is over a widget that is still drawn, but was removed.

        Textual looks for the widget around it to mark text in, and finds none: that ends the program.
        """
        if event.is_forwarded:
            return False
        widget, _ = self.screen.get_widget_and_offset_at(event.x, event.y)
        return widget is not None and widget.parent is None
