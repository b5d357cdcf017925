"""Which sizes a model makes: OpenAI's make a few, others any."""

from collections.abc import Mapping

from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import AspectRatio, ImageOrder

Size = tuple[int, int]

_FIXED: Mapping[str, tuple[Size, ...]] = {
    "gpt-image": ((1024, 1024), (1536, 1024), (1024, 1536)),
    "dall-e-3": ((1024, 1024), (1792, 1024), (1024, 1792)),
    "dall-e-2": ((256, 256), (512, 512), (1024, 1024)),
}
"""By the start of the model's name."""
_FREE: Mapping[AspectRatio, Size] = {
    "1:1": (1024, 1024),
    "3:2": (1216, 832),
    "2:3": (832, 1216),
    "4:3": (1152, 896),
    "3:4": (896, 1152),
    "16:9": (1344, 768),
    "9:16": (768, 1344),
}
"""About a megapixel each, in steps of 64."""
_MOST = 4096


def size_for(order: ImageOrder, model: str) -> Size | None:
    """The size to ask for; None leaves it to the server.

    A given width and height is taken as it is or refused; a ratio becomes the nearest size there is.
    """
    fixed = next((sizes for start, sizes in _FIXED.items() if model.startswith(start)), None)
    if order.width or order.height:
        return _exact(order, model, fixed)
    if order.aspect_ratio is None:
        return None
    if fixed is None:
        return _FREE[order.aspect_ratio]
    across, down = (int(part) for part in order.aspect_ratio.split(":"))
    return min(fixed, key=lambda size: (abs(size[0] / size[1] - across / down), -size[0]))


def _exact(order: ImageOrder, model: str, fixed: tuple[Size, ...] | None) -> Size:
    size = order.width, order.height
    if not all(size):
        raise ToolError("width and height go together.", hint="Give both, or aspect_ratio.")
    if order.aspect_ratio is not None:
        raise ToolError("width and height or aspect_ratio, not both.")
    if fixed is not None and size not in fixed:
        sizes = ", ".join(f"{w}x{h}" for w, h in fixed)
        raise ToolError(f"{model} does not make {size[0]}x{size[1]}.", hint=f"It makes {sizes}.")
    if any(side % 8 or not 64 <= side <= _MOST for side in size):
        raise ToolError(
            f"{size[0]}x{size[1]} is no size of an image here.",
            hint=f"Sides are multiples of 8 from 64 to {_MOST}.",
        )
    return size
