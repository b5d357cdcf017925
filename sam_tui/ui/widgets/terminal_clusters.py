"""Characters that terminals draw in different widths, kept from moving what stands beside them.

Each is drawn over blanks of the cells that it has, from where they begin, and the terminal's cursor is put
back behind them: drawn wider it is cut by what follows, drawn narrower it leaves a blank. Where it might
reach beyond the row, its first character alone is drawn.
"""

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sam_tui.core.text.widths import DISPUTED
from sam_tui.ui.widgets.terminal_underlines import rendered, underlined


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
