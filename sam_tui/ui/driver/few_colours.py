"""Replaces colours by the sixteen standard ones, or by attributes for people who want no colours."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, Monochrome

from sam_tui.ui.driver.contrast import FAINT, contrast

if TYPE_CHECKING:
    from textual.app import App

Change = Callable[[Style, "Surface"], Style]
Surface = tuple[str, str]
"""The colours of plain text and of the background, in the present look."""

_MARKED = 1.5
"""The least contrast with the plain background of one with a meaning: a selection, button or scroll bar."""
_HUED = 44
"""The least difference between a colour's red, green and blue (0 to 255) at which its hue has a meaning."""
_LEAST_CONTRAST = 1.2
"""Text with less contrast is unreadable and is concealed."""
_STRONG = 0.7
"""Grey text with at least this share of plain text's contrast becomes plain; other grey text, dim."""
_HUES = ((20, "red"), (70, "yellow"), (165, "green"), (262, "blue"), (340, "magenta"), (360, "red"))
"""The names of colours, each with the hue in degrees up to which it applies."""
_LOUD = frozenset({"red", "yellow"})
"""The colours of errors, refusals and warnings."""

DARK_INKS = {
    "red": 9,
    "yellow": 11,
    "green": 10,
    "blue": 14,
    "magenta": 13,
    "plain": 15,
    "quiet": 7,
}
"""Numbers of the sixteen colours for text on black. Blue is unreadable there, so cyan replaces it."""
LIGHT_INKS = {"red": 1, "yellow": 5, "green": 4, "blue": 4, "magenta": 5, "plain": 0, "quiet": 0}
"""Numbers of the colours for text on white, where green, yellow and cyan are unreadable."""
GROUNDS = {"red": (1, 15), "yellow": (6, 0), "green": (2, 0), "blue": (6, 0), "magenta": (5, 15)}
"""Backgrounds with a meaning, each with the number of a readable text colour."""


class FewColours(LineFilter):
    """Changes the styles of everything that is drawn; ``surface`` returns each row's background."""

    def __init__(self, change: Change, surface: Callable[[], Surface]) -> None:
        super().__init__()
        self._change = change
        self._surface = surface

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in the form that is drawn."""
        surface = self._surface()
        return [
            Segment(text, self._change(style, surface) if style is not None else None, control)
            for text, style, control in segments
        ]


def wants_no_colour(environ: Mapping[str, str]) -> bool:
    """Whether the person wants none (no-color.org): set, and not empty."""
    return bool(environ.get("NO_COLOR"))


def use_few_colours(app: "App[Any]", environ: Mapping[str, str]) -> None:
    """Draw with the colours that the terminal has, or with none if the person wants none."""

    def surface() -> Surface:
        look = app.current_theme
        return look.foreground or "#ffffff", look.background or "#000000"

    app.no_color = wants_no_colour(environ)
    filters: list[LineFilter] = app._filters  # pyright: ignore[reportPrivateUsage]
    filters[:] = [f for f in filters if not isinstance(f, Monochrome)]
    if app.no_color:
        filters.append(FewColours(without_colour, surface))
    elif app.console.color_system == "standard":
        filters.append(FewColours(in_sixteen, surface))


@lru_cache(maxsize=4096)
def without_colour(style: Style, surface: Surface) -> Style:
    """Return the style in attributes: reverse for a distinct ground, dim for quiet, bold for loud text."""
    ink, under = _colours(style, surface)
    plain, ground = map(Color.parse, surface)
    marked = contrast(under, ground) >= _MARKED
    role = "plain" if marked else _role(ink, under, contrast(plain, ground))
    return _stripped(style) + Style(
        reverse=marked,
        bold=bool(style.bold) or role in _LOUD,
        dim=role == "quiet",
        conceal=bool(style.conceal) or contrast(ink, under) < _LEAST_CONTRAST,
    )


@lru_cache(maxsize=4096)
def in_sixteen(style: Style, surface: Surface) -> Style:
    """The style in the sixteen colours, readable with any palette."""
    ink, under = _colours(style, surface)
    plain, ground = map(Color.parse, surface)
    dark = contrast(ground, Color(0, 0, 0)) < contrast(ground, Color(255, 255, 255))
    inks, number = (DARK_INKS, 0) if dark else (LIGHT_INKS, 15)
    ink_number = inks[_role(ink, under, contrast(plain, ground))]
    if contrast(under, ground) >= _MARKED:
        grey = (7, 0) if dark else (0, 15)
        number, ink_number = GROUNDS.get(_hue(under), grey)
    if contrast(ink, under) < _LEAST_CONTRAST:
        ink_number = number
    colours = RichColor.from_ansi(ink_number), RichColor.from_ansi(number)
    return _stripped(style) + Style.from_color(*colours) + Style(reverse=False, dim=False)


def _role(ink: Color, under: Color, plain: float) -> str:
    """A text colour's role: its hue, else ``plain`` or ``quiet``. ``plain`` is normal contrast."""
    measured = contrast(ink, under)
    if hue := _hue(ink) if measured >= FAINT else "":
        return hue
    return "plain" if measured >= _STRONG * plain else "quiet"


def _hue(colour: Color) -> str:
    """The name of a colour; none for a grey."""
    if max(colour.rgb) - min(colour.rgb) < _HUED:
        return ""
    degrees = colour.hsl.h * 360
    return next(name for end, name in _HUES if degrees <= end)


def _colours(style: Style, surface: Surface) -> tuple[Color, Color]:
    """Return text colour and ground as they are displayed."""
    plain, ground = map(Color.parse, surface)
    pair = (_seen(style.color, plain), _seen(style.bgcolor, ground))
    return (pair[1], pair[0]) if style.reverse else pair


def _seen(colour: RichColor | None, usual: Color) -> Color:
    return usual if colour is None or colour.is_default else Color.from_rich_color(colour)


def _stripped(style: Style) -> Style:
    """Return a style without its colours."""
    return style.without_color + Style(meta=style.meta) if style.meta else style.without_color
