"""The address of a web page: copied, or opened in a browser on this machine."""

from textual.widget import Widget

from sam_tui.ui import programs


def copy_address(widget: Widget, address: str) -> None:
    """Copy an address, and say so."""
    widget.app.copy_to_clipboard(address)  # pyright: ignore[reportUnknownMemberType]
    widget.notify("Copied.", markup=False)


async def open_address(widget: Widget, address: str) -> None:
    """Open an address in a browser; where there is none, say how to copy it."""
    if not await programs.browse(address):
        widget.notify("There is no browser here: c copies the address.", markup=False)
