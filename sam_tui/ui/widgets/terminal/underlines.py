"""Kinds and colours of underlines, for which Rich has no style: their codes follow Rich's own.

A style has these codes in its meta information, which other styles laid over it do not change.
"""

from functools import lru_cache

from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

_META = "underline_codes"
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "conceal", "strike")
"""The attributes of Rich's styles that cells have."""


class _Underlined(Style):
    """A style whose codes are followed by further ones."""

    def __init__(self, style: Style, ansi: str) -> None:
        attributes = {name: getattr(style, name) for name in _ATTRIBUTES}
        super().__init__(color=style.color, bgcolor=style.bgcolor, meta=style.meta, **attributes)
        self._ansi = ansi


def with_codes(style: Style, codes: tuple[str, ...]) -> Style:
    """The style with codes of SGR that ``underlined`` writes."""
    return style + Style(meta={_META: ";".join(codes)})


def underlined(strip: Strip, colours: ColorSystem) -> Strip:
    """A row whose underlines are written with their codes."""
    if not any(style is not None and _META in style.meta for _, style, _ in strip):
        return strip
    return Strip(
        [
            segment
            if style is None or _META not in style.meta
            else Segment(segment.text, _final(style, colours))
            for segment in strip
            for style in (segment.style,)
        ],
        strip.cell_length,
    )


@lru_cache(maxsize=1024)
def _final(style: Style, colours: ColorSystem) -> Style:
    ansi, further = Strip.render_ansi(style, colours), style.meta[_META]
    return _Underlined(style, f"{ansi};{further}" if further and style.underline else ansi)
