"""The styles of the transcript, made once per theme from the widget's own colours."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rich.style import Style
from textual.color import Color, ColorParseError

from sam_tui.ui.driver.contrast import FAINT, READABLE, contrast


@dataclass(frozen=True, slots=True)
class Palette:
    """Every style has colour and background, so that drawing combines none."""

    text: Style
    dim: Style
    faint: Style
    accent: Style
    heading: Style
    code: Style
    link: Style
    quote: Style
    good: Style
    bad: Style
    warning: Style
    user: Style
    user_bar: Style
    cursor: Style
    hint: Style
    block: Style
    """The background of a code block."""
    keyword: Style
    string: Style
    comment: Style
    number: Style
    name: Style
    added: Style
    removed: Style
    added_word: Style
    """A word that was added in a changed line."""
    removed_word: Style
    gutter: Style


def make_palette(
    foreground: Color, background: Color, theme: Mapping[str, str], *, dark: bool
) -> Palette:
    """The palette for a ground. ``theme`` is Textual's variables by name (``primary`` and so on)."""
    ground = background.rich_color
    raised = background.blend(foreground, 0.06)

    def colour(name: str, fallback: str) -> Color:
        try:
            return Color.parse(theme.get(name, fallback))
        except ColorParseError:
            return Color.parse(fallback)

    def on(color: Color, under: Color = background, least: float = READABLE) -> Style:
        shade = _readable(color, under, foreground, least)
        return Style.from_color(shade.rich_color, under.rich_color)

    primary = colour("primary", "#0178d4")
    accent = colour("accent", "#ffa62b")
    good = colour("success", "#4ebf71")
    bad = colour("error", "#ba3c5b")
    warning = colour("warning", "#ffa62b")
    if dark:
        primary, bad = primary.lighten(0.12), bad.lighten(0.12)
    bold = Style(bold=True)
    dim = foreground.blend(background, 0.35 if dark else 0.3)
    faint = foreground.blend(background, 0.6)
    marker = _readable(accent, background, foreground, READABLE)
    return Palette(
        text=Style.from_color(foreground.rich_color, ground),
        dim=on(dim),
        faint=on(faint, least=FAINT),
        accent=on(accent),
        heading=on(primary) + bold,
        code=on(accent, raised),
        link=on(primary) + Style(underline=True),
        quote=on(dim) + Style(italic=True),
        good=on(good),
        bad=on(bad),
        warning=on(warning),
        user=on(foreground) + bold,
        user_bar=on(primary),
        cursor=on(accent) + bold,
        hint=Style.from_color(ground, marker.rich_color) + bold,
        block=on(foreground, raised),
        keyword=on(primary, raised) + bold,
        string=on(good, raised),
        comment=on(dim, raised) + Style(italic=True),
        number=on(accent, raised),
        name=on(primary, raised),
        added=on(good, background.blend(good, 0.12)),
        removed=on(bad, background.blend(bad, 0.12)),
        added_word=on(good, background.blend(good, 0.3)) + bold,
        removed_word=on(bad, background.blend(bad, 0.3)) + bold,
        gutter=on(faint, least=FAINT),
    )


def terminal_palette() -> Palette:
    """The palette in the terminal's own sixteen colours, on its own ground."""

    def style(definition: str = "default") -> Style:
        return Style.parse(f"{definition} on default")

    return Palette(
        text=style(),
        dim=style("dim default"),
        faint=style("dim default"),
        accent=style("magenta"),
        heading=style("bold blue"),
        code=style("magenta"),
        link=style("underline blue"),
        quote=style("italic default"),
        good=style("green"),
        bad=style("red"),
        warning=style("yellow"),
        user=style("bold default"),
        user_bar=style("blue"),
        cursor=style("bold magenta"),
        hint=style("bold reverse default"),
        block=style(),
        keyword=style("bold blue"),
        string=style("green"),
        comment=style("dim italic default"),
        number=style("magenta"),
        name=style("cyan"),
        added=style("green"),
        removed=style("red"),
        added_word=style("bold underline green"),
        removed_word=style("bold underline red"),
        gutter=style("dim default"),
    )


@lru_cache(maxsize=512)
def on_ground(style: Style, ground: Style, usual: Style) -> Style:
    """A style of code on another ground, readable there; the ``usual`` style becomes the ground's.

    So does every style on the terminal's own ground, where only the ground's colour marks a change.
    """
    colour, under = style.color, ground.bgcolor
    if style == usual or colour is None or under is None or colour.is_default or under.is_default:
        return ground
    extreme = Color.from_rich_color(ground.color)
    shade = _readable(
        Color.from_rich_color(colour), Color.from_rich_color(under), extreme, READABLE
    )
    return ground + Style(color=shade.rich_color, italic=style.italic)


def _readable(color: Color, under: Color, foreground: Color, least: float) -> Color:
    """The colour, moved towards the foreground, then to black or white, until it can be read."""
    extreme = max(Color(0, 0, 0), Color(255, 255, 255), key=lambda c: contrast(c, under))
    for target in (foreground, extreme):
        for step in range(11):
            shade = color.blend(target, step / 10)
            if contrast(shade, under) >= least:
                return shade
    return extreme
