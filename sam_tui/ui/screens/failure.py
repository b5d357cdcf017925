"""The screen for a program that cannot start."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from sam_tui.core.errors import SamError
from sam_tui.ui.plain import visible
from sam_tui.ui.screens import STYLES


class FailureScreen(Screen[None]):
    """Shows an error and its hint; any key ends the program with the error's exit code."""

    CSS_PATH = STYLES

    def __init__(self, error: SamError) -> None:
        super().__init__()
        self._error = error

    def compose(self) -> ComposeResult:
        """Title, message, hint, way out."""
        parts = [
            Content(self._error.title).stylize("bold $error"),
            Content(visible(str(self._error))),
            *([Content(visible(self._error.hint)).stylize("$accent")] if self._error.hint else []),
            Content("Any key ends the program.").stylize("$text-muted"),
        ]
        with Vertical():
            yield Static(Content("\n\n").join(parts), markup=False)

    def on_key(self, event: events.Key) -> None:
        """End the program."""
        event.stop()
        self.app.exit(return_code=self._error.exit_code)  # pyright: ignore[reportUnknownMemberType]
