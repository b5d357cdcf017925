"""Images as half blocks: a cell is two pixels, one above the other."""

from functools import lru_cache

from rich.color import Color
from rich.style import Style

from sam_tui.core.ports.documents import Raster
from sam_tui.core.prompt.reminders import described
from sam_tui.ui.transcript.blocks import Picture
from sam_tui.ui.transcript.render.rows import Canvas, Lead, Span
from sam_tui.ui.transcript.render.safe_text import one_line

Colour = tuple[int, int, int]
_HALF = "▀"
_DARK: Colour = (0, 0, 0)


def draw_picture(canvas: Canvas, content: Picture) -> None:
    """Draw the label of an image, and below it the raster if there is one."""
    palette = canvas.palette
    canvas.push(Lead(("▣ ", palette.faint), ("  ", palette.faint)))
    canvas.line([(one_line(described(content.image)), palette.dim)])
    if content.raster is not None:
        ground = palette.text.bgcolor
        under = _DARK if ground is None or ground.is_default else tuple(ground.get_truecolor())
        _draw(canvas, content.raster, (under[0], under[1], under[2]))
    canvas.pop()


def _draw(canvas: Canvas, raster: Raster, ground: Colour) -> None:
    """The rows; in a pane that is too narrow each stands for several, and each column, too."""
    columns = min(raster.width, canvas.room)
    step = raster.width / columns
    rows = max(1, round(raster.height / step))
    xs = [int(x * step) for x in range(columns)]
    ys = [min(raster.height - 1, int(y * step)) for y in range(rows)]
    for top in range(0, rows, 2):
        upper = [_pixel(raster, x, ys[top], ground) for x in xs]
        below = top + 1 < rows
        lower = [_pixel(raster, x, ys[top + 1], ground) if below else ground for x in xs]
        canvas.ornament(*_spans(upper, lower))


def _spans(upper: list[Colour], lower: list[Colour]) -> list[Span]:
    """Cells of one colour pair after another as one span each."""
    spans: list[Span] = []
    for pair in zip(upper, lower, strict=True):
        style = _style(*pair)
        if spans and spans[-1][1] is style:
            spans[-1] = (spans[-1][0] + _HALF, style)
        else:
            spans.append((_HALF, style))
    return spans


def _pixel(raster: Raster, x: int, y: int, ground: Colour) -> Colour:
    """A pixel as it is seen on the ground."""
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
