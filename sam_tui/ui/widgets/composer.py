"""A text area for writing to somebody: Enter sends, other keys make new lines."""

from collections.abc import Callable

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

_NEWLINE_KEYS = frozenset({"shift+enter", "alt+enter", "ctrl+j"})

_WORD_KEYS: dict[str, Callable[[TextArea], None]] = {
    "alt+b": TextArea.action_cursor_word_left,
    "alt+f": TextArea.action_cursor_word_right,
    "alt+backspace": TextArea.action_delete_word_left,
}


class Sent(Message):
    """Enter was pressed in a composer."""


class Composer(TextArea):
    """Grows with its text. What sending means is for the widget around it."""

    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+z", "app.perform('suspend')", show=False),
        Binding("ctrl+underscore", "undo", show=False),
    ]

    def __init__(self, placeholder: str, *, id: str) -> None:
        super().__init__(
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
            placeholder=Content(placeholder),
            id=id,
        )
        self.cursor_blink = False  # a blinking cursor is a timer that never rests

    def put(self, text: str) -> None:
        """Replace the text; the cursor stands at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def send(self) -> None:
        """Enter was pressed: tell whoever holds this."""
        self.post_message(Sent())

    def on_key(self, event: events.Key) -> None:
        """Enter and its relatives; then what the subclass adds."""
        if event.key == "enter":
            self.send()
        elif event.key == "alt+enter" and self.takes(event):
            pass
        elif event.key in _NEWLINE_KEYS:
            self.insert("\n")
        elif event.key in _WORD_KEYS:
            _WORD_KEYS[event.key](self)
        elif event.key.startswith("alt+"):
            event.prevent_default()  # the letter that comes along is not meant as text
            return
        elif not self.takes(event):
            return
        event.stop()
        event.prevent_default()

    def takes(self, event: events.Key) -> bool:
        """Whether the subclass handled the key."""
        return False
