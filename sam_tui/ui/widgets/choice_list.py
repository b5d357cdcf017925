"""A list to choose from, and the keys that move through it while another field has the focus."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.visual import visualize
from textual.widget import Widget
from textual.widgets import OptionList

if TYPE_CHECKING:
    from textual.app import App


def say_marked(widget: Widget, at: int, count: int, words: str, before: str = "") -> str:
    """Announce the marked entry to screen readers: its number and its words.

    Returns the announcement, also without a screen reader; one equal to ``before`` is not repeated."""
    app = cast("App[object]", widget.app)  # pyright: ignore[reportUnknownMemberType]
    line = f"{at + 1} of {count}: {' '.join(words.split())}"
    if line != before and app.has_class("-reader"):
        app.notify(line, markup=False)
    return line


def say_marked_option(options: OptionList, before: str = "") -> str:
    """Announce the marked option of a list, as ``say_marked`` does."""
    at = options.highlighted
    if at is None:
        return before
    text = visualize(options, options.options[at].prompt, markup=False)
    return say_marked(options, at, options.option_count, str(text), before)


class ChoiceList(OptionList):
    """A list of plain texts.

    The selected row has one colour, because the colours of its parts suit another background.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(markup=False, id=id)
        self._said = ""

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Announce the marked entry to screen readers."""
        super().watch_highlighted(highlighted)
        self._said = say_marked_option(self, self._said)

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

    def action_page_up(self) -> None:
        """A page up; to the first entry while the list has no height yet, where Textual's fails."""
        (super().action_page_up if self._laid_out else self.action_first)()

    def action_page_down(self) -> None:
        """A page down; to the last entry while the list has no height yet."""
        (super().action_page_down if self._laid_out else self.action_last)()

    @property
    def _laid_out(self) -> bool:
        return bool(self.scrollable_content_region)

    @property
    def moves(self) -> Mapping[str, Callable[[], None]]:
        """Return the movements of the list by key, for another field that has the focus."""
        return {
            "up": self.action_cursor_up,
            "down": self.action_cursor_down,
            "pageup": self.action_page_up,
            "pagedown": self.action_page_down,
        }

    @property
    def ends(self) -> Mapping[str, Callable[[], None]]:
        """To the first and the last entry, by key: in a field that has text these keys move its cursor."""
        return {"home": self.action_first, "end": self.action_last}


def take_key(event: events.Key, moves: Mapping[str, Callable[[], None]]) -> None:
    """Do the movement of a key and stop its event; other keys are left alone."""
    if event.key in moves:
        event.stop()
        event.prevent_default()
        moves[event.key]()
