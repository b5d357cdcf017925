"""The styles of the transcript, made once per theme from the widget's own colours."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.style import Style
from textual.color import Color, ColorParseError


@dataclass(frozen=True, slots=True)
class Palette:
    """Every style is whole: colour and background, so that nothing has to be combined later."""

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
    """A code block's ground."""
    keyword: Style
    string: Style
    comment: Style
    number: Style
    name: Style
    added: Style
    removed: Style
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

    def on(color: Color, under: Color | None = None) -> Style:
        return Style.from_color(color.rich_color, under.rich_color if under else ground)

    primary = colour("primary", "#0178d4")
    accent = colour("accent", "#ffa62b")
    good = colour("success", "#4ebf71")
    bad = colour("error", "#ba3c5b")
    warning = colour("warning", "#ffa62b")
    towards = 0.35 if dark else 0.3
    if not dark:
        good, bad, warning, accent = (c.darken(0.15) for c in (good, bad, warning, accent))
    else:
        primary, bad = primary.lighten(0.12), bad.lighten(0.12)
    bold = Style(bold=True)
    dim = foreground.blend(background, towards)
    faint = foreground.blend(background, 0.6)
    return Palette(
        text=on(foreground),
        dim=on(dim),
        faint=on(faint),
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
        hint=on(background, accent) + bold,
        block=on(foreground, raised),
        keyword=on(primary, raised) + bold,
        string=on(good, raised),
        comment=on(dim, raised) + Style(italic=True),
        number=on(accent, raised),
        name=on(primary, raised),
        added=on(good, background.blend(good, 0.12)),
        removed=on(bad, background.blend(bad, 0.12)),
        gutter=on(faint),
    )
