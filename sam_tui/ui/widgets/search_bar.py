"""The line to search the transcript with, above the prompt."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from sam_tui.ui.messages import ActionAsked
from sam_tui.ui.transcript import Transcript
from sam_tui.ui.transcript.search import TranscriptSearch

_STEPS = {"enter": -1, "up": -1, "ctrl+f": -1, "down": 1, "shift+enter": 1}
"""The step of each key: -1 to the next older match, as the search starts at the newest one."""
_HINT = "↑ ↓ Esc"


class SearchBar(Horizontal):
    """Searches the transcript while a person types. The screen places and closes it."""

    def __init__(self, transcript: Transcript, words: str = "") -> None:
        super().__init__(id="search")
        self._transcript = transcript
        self._search = TranscriptSearch(transcript)
        self.line = Input(words, placeholder="find in the transcript", compact=True)
        self._count = Static(markup=False)

    def compose(self) -> ComposeResult:
        """The line, and how many there are."""
        yield self.line
        yield self._count

    def on_mount(self) -> None:
        """A timer of a blinking cursor would never rest."""
        self.line.cursor_blink = False
        self._tell(*self._search.look_for(self.line.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for the typed text."""
        event.stop()
        self._tell(*self._search.look_for(event.value))

    def on_key(self, event: events.Key) -> None:
        """Handle the keys that move between hits, scroll and close."""
        if event.key in _STEPS:
            self._tell(*self._search.step(_STEPS[event.key]))
        elif event.key in ("pageup", "pagedown"):
            self._transcript.move(
                self._transcript.size.height * (-1 if event.key == "pageup" else 1)
            )
        elif event.key in ("escape", "ctrl+c"):
            self.post_message(ActionAsked("leave_search"))
        else:
            return
        event.stop()
        event.prevent_default()

    def _tell(self, number: int, count: int) -> None:
        words = f"{number} of {count}" if count else "none" if self.line.value else ""
        self._count.update(Content.assemble(f" {words} ", (_HINT, "$text-muted")))
