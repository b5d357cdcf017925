"""Images: a maker of pictures from words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

AspectRatio = Literal["1:1", "3:2", "2:3", "4:3", "3:4", "16:9", "9:16"]


@dataclass(frozen=True, slots=True)
class ImageOrder:
    """What to draw. ``width`` and ``height`` in pixels, both or neither; empty ``model``: the default."""

    prompt: str
    count: int = 1
    width: int = 0
    height: int = 0
    aspect_ratio: AspectRatio | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image as it came. ``extension`` is of png, jpg, webp, gif, with its dot."""

    data: bytes
    extension: str
    revised_prompt: str = ""


class ImageMaker(Protocol):
    """A provider of images; there is one only where it is configured."""

    @property
    def name(self) -> str:
        """Where and by which model images are made."""
        ...

    async def make(self, order: ImageOrder) -> Sequence[ImageFile]:
        """The images. Raises ``errors.ToolError``: refused, too slow, a size the model does not make."""
        ...
