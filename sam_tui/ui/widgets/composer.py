"""A text area for writing to somebody: Enter sends, other keys make new lines.

A large paste can stand in it as one chip, such as ``[pasted 500 lines]``, and is sent whole.
"""

import os
import re
from collections.abc import Callable, Iterator

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location

from sam_tui.ui.mentions import dropped_image

MOST_LINES, MOST_CHARACTERS = 10, 1_000
"""A paste with more lines or characters becomes a chip."""
_CHIP = re.compile(r"\[(?:[a-z]+ \d+ (?:lines?|characters)(?: #\d+)?|image [^\]\n]+)\]")
_BRACKETS = str.maketrans("[]", "()")
_LINE_ENDS = re.compile(r"\r\n?")
_NEWLINE_KEYS = frozenset({"shift+enter", "alt+enter", "ctrl+j"})

_WORD_KEYS: dict[str, Callable[[TextArea], None]] = {
    "alt+b": TextArea.action_cursor_word_left,
    "alt+f": TextArea.action_cursor_word_right,
    "alt+backspace": TextArea.action_delete_word_left,
}


class Sent(Message):
    """Enter was pressed in a composer."""


class Composer(TextArea):
    """A text area that grows with its text; subclasses handle sending."""

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
        """Replace the text, and move the cursor to its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def send(self) -> None:
        """Handle Enter."""
        self.post_message(Sent())

    def on_key(self, event: events.Key) -> None:
        """Handle Enter and its variants, then the keys of the subclass."""
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


class PasteArea(Composer):
    """A composer in which a large paste is a chip: edited as one character, opened by Enter within it."""

    def __init__(self, placeholder: str, *, id: str) -> None:
        super().__init__(placeholder, id=id)
        self._styled: tuple[object, Style] | None = None
        """The theme and the style that the rows were last drawn with; None once a rule has changed."""
        self._chips: dict[str, str] = {}
        """The text behind each chip, stored until the prompt is sent, because undo can restore one."""

    @property
    def whole(self) -> str:
        """Return the text with the pasted parts in place of the chips."""
        return _CHIP.sub(lambda match: self._chips.get(match[0], match[0]), self.text)

    def empty(self) -> None:
        """Empty it after the prompt was sent, so that undo brings nothing back."""
        self.text = ""
        self._chips.clear()

    def paste(self, text: str, what: str = "pasted") -> None:
        """Insert a text at the cursor; a large one as a chip that ``what`` names."""
        text = _LINE_ENDS.sub("\n", text)
        if picture := dropped_image(text):
            chip = f"[image {os.path.basename(picture).translate(_BRACKETS)}]"
            while self._chips.setdefault(chip, f'@"{picture}"') != f'@"{picture}"':
                chip = f"{chip[:-1]}'{chip[-1]}"
            self._type(chip)
            return
        large = text.count("\n") >= MOST_LINES or len(text) > MOST_CHARACTERS
        self._type(self.chip(text, what) if large else text)

    def chip(self, text: str, what: str, *, counted: str = "") -> str:
        """A chip for this text, to insert into the prompt; its label has the size of ``counted``."""
        sized = (counted or text).rstrip("\n")
        lines = sized.count("\n") + 1
        size = f"{lines} lines" if lines > 1 else f"{len(sized)} characters"
        label = f"{what} {size}"
        number, chip = 1, f"[{label}]"
        while self._chips.setdefault(chip, text) != text:
            number += 1
            chip = f"[{label} #{number}]"
        return chip

    def _type(self, text: str) -> None:
        start, end = self.selection
        result = self.replace(text, start, end, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def open_chip(self) -> bool:
        """Replace the chip at the cursor by its text; False if there is none."""
        row, column = self.cursor_location
        for start, end in self._places(row):
            if start < column < end:
                text = self._chips[self.get_text_range((row, start), (row, end))]
                self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
                self.move_cursor((row, start))
                return True
        return False

    def edit(self, edit: Edit) -> EditResult:
        """Edit as the text area does, but a chip as a whole: a part of one would have no text."""
        top, bottom = edit.top, edit.bottom
        if top == bottom:
            edit.from_location = edit.to_location = self._beside(top, after=True)
        else:
            edit.from_location = self._beside(top, after=False)
            edit.to_location = self._beside(bottom, after=True)
        return super().edit(edit)

    def _beside(self, location: Location, *, after: bool) -> Location:
        row, column = location
        for start, end in self._places(row):
            if start < column < end:
                return row, end if after else start
        return location

    def _places(self, row: int) -> Iterator[tuple[int, int]]:
        """The ranges of columns that the chips of a line occupy."""
        if self._chips:
            for match in _CHIP.finditer(self.document.get_line(row)):
                if match[0] in self._chips:
                    yield match.span()

    def notify_style_update(self) -> None:
        """A rule of style changed."""
        super().notify_style_update()
        self._styled = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of ``crop``. Textual works out every style of a text area again for each key."""
        styled = (self._theme, self.rich_style)
        if styled != self._styled:
            self._styled = styled
            return super().render_lines(crop)
        return super(TextArea, self).render_lines(crop)

    def get_line(self, line_index: int) -> Text:
        """A line with its chips marked."""
        line = super().get_line(line_index)
        for start, end in self._places(line_index):
            line.stylize("reverse", start, end)
        return line

    def on_paste(self, event: events.Paste) -> None:
        """The terminal's paste."""
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def action_paste(self) -> None:
        """Our own clipboard."""
        self.paste(self.app.clipboard)  # pyright: ignore[reportUnknownMemberType]
