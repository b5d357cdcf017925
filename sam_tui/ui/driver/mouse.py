"""Who has the mouse: the workbench, or the terminal around, which selects and scrolls by itself then."""

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
