"""A line to write in, for keys that are typed right behind each other."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual import events
from textual.widgets import Input

if TYPE_CHECKING:
    from textual.app import App


class LineInput(Input):
    """Calls ``done`` with its text at Enter, before the key behind that one is looked at.

    Textual's own line is submitted when Enter has gone all the way up: what was typed behind it stands in
    the line by then. Keys that arrive after others were given the focus go round again, to those.
    """

    def __init__(
        self, done: Callable[[str], None], *, value: str = "", placeholder: str = "", id: str = ""
    ) -> None:
        super().__init__(value, placeholder, id=id or None)
        self._done = done

    def on_key(self, event: events.Key) -> None:
        """Enter, and what comes too late."""
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType]
        if app.focused is not self:
            app.post_message(events.Key(event.key, event.character))
        elif event.key == "enter":
            self._done(self.value)
        else:
            return
        event.stop()
        event.prevent_default()


class FilterLine(Input):
    """Narrows a list beside it. ``take`` hears each key with the words typed ahead of it, before the key
    behind it is looked at, and returns whether the key is the list's."""

    def __init__(self, take: Callable[[str, str], bool], *, placeholder: str) -> None:
        super().__init__(placeholder=placeholder, id="filter", select_on_focus=False)
        self._take = take

    def on_key(self, event: events.Key) -> None:
        """What the list takes, the line does not."""
        if self._take(event.key, self.value):
            event.stop()
            event.prevent_default()
