"""Characters of disputed width, and kinds of underlines: both are written behind the library's own codes.

Characters that terminals draw in different widths are kept from moving what stands beside them. Each is
drawn over blanks of the cells that it has, from where they begin, and the terminal's cursor is put back
behind them: drawn wider it is cut by what follows, drawn narrower it leaves a blank. Where it might reach
beyond the row, its first character alone is drawn.

Kinds and colours of underlines are carried as codes in the meta information of a style, which whatever is
laid over it leaves as it is.
"""

from functools import lru_cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sam_tui.core.text.widths import DISPUTED

_META = "underline_codes"
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "conceal", "strike")
"""All that cells have here."""


class _Underlined(Style):
    """A style that is written with further codes behind its own."""

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


def rendered(style: Style, colours: ColorSystem) -> str:
    """The parameters of SGR of a style, with those of its underline."""
    ansi = Strip.render_ansi(style, colours)
    codes = style.meta.get(_META, "")
    return f"{ansi};{codes}" if codes and style.underline else ansi


@lru_cache(maxsize=1024)
def _final(style: Style, colours: ColorSystem) -> Style:
    return _Underlined(style, rendered(style, colours))


class _Afterwards(Style):
    """What a segment without text sends: a strip measures the text of segments, and these have none."""

    def __init__(self, character: str, cells: int, style: Style, colours: ColorSystem) -> None:
        super().__init__()
        ansi = rendered(style, colours)
        # A strip puts what follows between CSI and m, and a reset behind it.
        self._ansi = f"m\x1b7\x1b[{cells}D\x1b[{ansi}m{character}\x1b8\x1b["


def fitted(text: str, cells: int) -> str:
    """A character, or as much of it as is measured to fit, in exactly so many cells."""
    while (width := cell_len(text)) > cells:
        text = text[:-1]
    return text + " " * (cells - width)


def settled(strip: Strip, colours: ColorSystem) -> Strip:
    """A row in which no such character moves what stands beside it, with its kinds of underlines."""
    if not DISPUTED.search(strip.text):
        return underlined(strip, colours)
    width = strip.cell_length
    segments: list[Segment] = []
    column = 0
    for segment in strip:
        text, style, _ = segment
        cells = cell_len(text)
        if DISPUTED.search(text):
            style = style or Style()
            character = text.rstrip(" ")
            if column + max(cells, _widest(character)) < width:
                segments.append(Segment(" " * cells, style))
                segments.append(Segment("", _Afterwards(character, cells, style, colours)))
            else:
                first = "" if DISPUTED.match(character) else character[:1]
                segments.append(Segment(fitted(first, cells), style))
        else:
            segments.append(segment)
        column += cells
    return underlined(Strip(segments, width), colours)


def _widest(text: str) -> int:
    """The most cells in which any terminal draws it: two for each part, or one for what is a letter."""
    return sum(
        2 if ord(part) >= 0x1F000 or part in "\ufe0f\u200d" else max(1, cell_len(part))
        for part in text
    )
