"""A line to write in, for keys that are typed right behind each other."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

if TYPE_CHECKING:
    from textual.app import App


class _Line(Input):
    """A line that has its place whatever is typed: Textual lays the screen out for each character."""

    virtual_size = Reactive(Size(0, 0))

    def watch_virtual_size(self) -> None:
        """Scroll within the new text."""
        self._scroll_update(self.virtual_size)


class LineInput(_Line):
    """Calls ``done`` with its text on Enter, before it handles the next key.

    Textual's own line posts its text as a message, and text typed after Enter is in the line by then. Keys
    that arrive after the focus has moved are passed to the new focus.
    """

    def __init__(
        self, done: Callable[[str], None], *, value: str = "", placeholder: str = "", id: str = ""
    ) -> None:
        super().__init__(value, placeholder, id=id or None)
        self._done = done

    def on_key(self, event: events.Key) -> None:
        """Handle Enter, and pass a key on that arrives after the focus has moved."""
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType]
        if app.focused is not self:
            app.post_message(events.Key(event.key, event.character))
        elif event.key == "enter":
            self._done(self.value)
        else:
            return
        event.stop()
        event.prevent_default()


class FilterLine(_Line):
    """A line that narrows a list. ``take`` gets each key and the words typed before it, before the next key
    is handled, and returns whether the key was for the list."""

    def __init__(self, take: Callable[[str, str], bool], *, placeholder: str) -> None:
        super().__init__(placeholder=placeholder, id="filter", select_on_focus=False)
        self._take = take

    def on_key(self, event: events.Key) -> None:
        """Stop a key that the list takes, so that the line does not get it."""
        if self._take(event.key, self.value):
            event.stop()
            event.prevent_default()
