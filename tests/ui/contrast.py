"""How well text can be read, as WCAG measures it."""

from textual.app import App
from textual.color import Color
from textual.containers import Vertical

LEAST = 4.5
"""What WCAG AA asks for."""


def contrast(one: str, other: str) -> float:
    """Of two colours, 1 to 21."""

    def luminance(colour: str) -> float:
        parts = Color.parse(colour).normalized
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def unreadable(app: App[None]) -> list[tuple[str, float]]:
    """The words of the dialog in front that have too little contrast, as they are drawn."""
    region = app.screen.query(Vertical).first().region
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    faint: list[tuple[str, float]] = []
    for strip in strips[region.y + 1 : region.bottom - 1]:
        for text, style, _ in strip.crop(region.x + 1, region.right - 1):
            ink, ground = (style.color, style.bgcolor) if style else (None, None)
            if ink is None or ground is None or not any(map(str.isalnum, text)):
                continue
            measured = contrast(ink.get_truecolor().hex, ground.get_truecolor().hex)
            if measured < LEAST:
                faint.append((text, round(measured, 2)))
    return faint
