"""A list to choose from, and the keys that move through it while a field beside it has them."""

from collections.abc import Callable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widgets import OptionList


class ChoiceList(OptionList):
    """Shows plain text. The marked row has one colour: those of its parts suit another ground."""

    def __init__(self, *, id: str) -> None:
        super().__init__(markup=False, id=id)

    def render_line(self, y: int) -> Strip:
        """A row as Textual draws it; the marked one in a single colour, so that it can be read."""
        strip = super().render_line(y)
        segments = list(strip)
        style = segments[0].style if segments else None
        option = style.meta.get("option") if style is not None else None
        if option is None or option != self.highlighted:
            return strip
        colour = self.get_visual_style(
            "option-list--option", "option-list--option-highlighted"
        ).rich_style.color
        plain = Segment.apply_style(segments, post_style=Style(color=colour))
        return Strip(plain, strip.cell_length)

    @property
    def moves(self) -> Mapping[str, Callable[[], None]]:
        """The movements of the list by key, for a field beside it that has the focus."""
        return {
            "up": self.action_cursor_up,
            "down": self.action_cursor_down,
            "pageup": self.action_page_up,
            "pagedown": self.action_page_down,
        }


def take_key(event: events.Key, moves: Mapping[str, Callable[[], None]]) -> None:
    """Do the movement of a key and stop its event; other keys are left alone."""
    if event.key in moves:
        event.stop()
        event.prevent_default()
        moves[event.key]()
