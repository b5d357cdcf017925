"""The contrast of text with its ground, as WCAG measures it."""

from textual.color import Color

READABLE = 4.5
"""The least contrast of text and background (WCAG 2.2, 1.4.3); faint text needs ``FAINT``."""
FAINT = 3.0


def contrast(first: Color, other: Color) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((_luminance(first), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = color.rgb
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
