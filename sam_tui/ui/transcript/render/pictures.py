"""Images as half blocks: a cell is two pixels, one above the other."""

from collections.abc import Sequence
from functools import lru_cache

from rich.color import Color
from rich.style import Style

from sam_tui.core.ports.documents import Colour, Raster
from sam_tui.core.prompt.reminders import described
from sam_tui.ui.driver.images.marks import HALF, Cells, cell_text
from sam_tui.ui.transcript.blocks import Picture
from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.rows import Canvas, Lead, Span
from sam_tui.ui.transcript.render.safe_text import one_line

_DARK: Colour = (0, 0, 0)


def draw_picture(canvas: Canvas, content: Picture) -> None:
    """Draw the label of an image, and below it the raster if there is one."""
    palette = canvas.palette
    canvas.push(Lead(("▣ ", palette.faint), ("  ", palette.faint)))
    canvas.line([(one_line(described(content.image)), palette.dim)])
    if content.raster is not None:
        rows = _cells(content.raster, canvas.room, ground_of(palette))
        number = content.register(rows) if content.register is not None else None
        for y, cells in enumerate(rows):
            canvas.ornament(*_spans(cells, y, number))
    canvas.pop()


def ground_of(palette: Palette) -> Colour:
    """The colour behind images that can be seen through."""
    ground = palette.text.bgcolor
    if ground is None or ground.is_default:
        return _DARK
    red, green, blue = ground.get_truecolor()
    return red, green, blue


def _cells(raster: Raster, room: int, ground: Colour) -> Cells:
    """Return the cells; in a pane that is too narrow each stands for several."""
    columns = min(raster.width, room)
    step = raster.width / columns
    rows = max(1, round(raster.height / step))
    xs = [int(x * step) for x in range(columns)]
    lines = [
        [_pixel(raster, x, min(raster.height - 1, int(y * step)), ground) for x in xs]
        for y in range(rows)
    ]
    if rows % 2:
        lines.append([ground] * columns)
    return tuple(
        tuple(zip(upper, lower, strict=True))
        for upper, lower in zip(lines[::2], lines[1::2], strict=True)
    )


def _spans(cells: Sequence[tuple[Colour, Colour]], y: int, number: int | None) -> list[Span]:
    """Spans of cells with one pair of colours; cells of a numbered picture carry marks that name them."""
    spans: list[Span] = []
    for x, pair in enumerate(cells):
        style = _style(*pair)
        text = HALF if number is None else cell_text(number, y, x)
        if spans and spans[-1][1] is style:
            spans[-1] = (spans[-1][0] + text, style)
        else:
            spans.append((text, style))
    return spans


def _pixel(raster: Raster, x: int, y: int, ground: Colour) -> Colour:
    """The colour of a pixel, blended with the ground behind it."""
    at = 4 * (y * raster.width + x)
    opacity = raster.pixels[at + 3]
    red, green, blue = (
        (part * opacity + under * (255 - opacity)) // 255
        for part, under in zip(raster.pixels[at : at + 3], ground, strict=True)
    )
    return red, green, blue


@lru_cache(maxsize=4096)
def _style(upper: Colour, lower: Colour) -> Style:
    return Style.from_color(Color.from_rgb(*upper), Color.from_rgb(*lower))
