"""The ``ImageMaker`` port on ``POST {base}/images/generations`` (OpenAI images API)."""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sam_tui.adapters.images.settings import ImageSettings
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import AspectRatio, ImageFile, ImageOrder, Page, Web
from sam_tui.core.text.nesting import json_object
from sam_tui.core.todos.item import one_line

Size = tuple[int, int]

_FIXED: Mapping[str, tuple[Size, ...]] = {
    "gpt-image": ((1024, 1024), (1536, 1024), (1024, 1536)),
    "dall-e-3": ((1024, 1024), (1792, 1024), (1024, 1792)),
    "dall-e-2": ((256, 256), (512, 512), (1024, 1024)),
}
"""The sizes that models offer, by the beginning of the model's name."""
_FREE: Mapping[AspectRatio, Size] = {
    "1:1": (1024, 1024),
    "3:2": (1216, 832),
    "2:3": (832, 1216),
    "4:3": (1152, 896),
    "3:4": (896, 1152),
    "16:9": (1344, 768),
    "9:16": (768, 1344),
}
"""The size for each ratio where a model offers any size: about a megapixel, in steps of 64 pixels."""
_MOST = 4096


def size_for(order: ImageOrder, model: str) -> Size | None:
    """Return the size for the request; None leaves it to the server.

    A requested width and height is used unchanged or refused; a ratio becomes the nearest available
    size.
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
        raise ToolError("Set width and height together.", hint="Give both, or aspect_ratio.")
    if order.aspect_ratio is not None:
        raise ToolError("width and height or aspect_ratio, not both.")
    if fixed is not None and size not in fixed:
        sizes = ", ".join(f"{w}x{h}" for w, h in fixed)
        raise ToolError(f"{model} does not make {size[0]}x{size[1]}.", hint=f"It supports {sizes}.")
    if any(side % 8 or not 64 <= side <= _MOST for side in size):
        raise ToolError(
            f"{size[0]}x{size[1]} is not a valid image size.",
            hint=f"Sides are multiples of 8 from 64 to {_MOST}.",
        )
    return size


_SECONDS = 300.0
_MOST_BYTES = 100_000_000
_SINGLE = ("dall-e-3",)
"""Beginnings of names of models that make one image per request."""
_MAGIC = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), ".png"),
    (re.compile(rb"\xff\xd8\xff"), ".jpg"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), ".webp"),
    (re.compile(rb"GIF8[79]a"), ".gif"),
)


class EndpointImages:
    """Generates images at the configured endpoint, through a URL guard that allows its address."""

    def __init__(self, web: Web, settings: ImageSettings) -> None:
        self._web = web
        self._settings = settings

    @property
    def name(self) -> str:
        """Host and model."""
        return f"{self._settings.origin} {self._settings.model}".strip()

    async def make(self, order: ImageOrder) -> Sequence[ImageFile]:
        """The images, as many as were ordered."""
        model = order.model or self._settings.model
        single = model.startswith(_SINGLE)
        images: list[ImageFile] = []
        for _ in range(order.count if single else 1):
            images += await self._request(order, model, 1 if single else order.count)
        return images

    async def _request(self, order: ImageOrder, model: str, count: int) -> list[ImageFile]:
        body: dict[str, object] = {"prompt": order.prompt, "n": count}
        if model:
            body["model"] = model
        if size := size_for(order, model):
            body["size"] = f"{size[0]}x{size[1]}"
        if not model.startswith(("gpt-image", "chatgpt-image")):
            # OpenAI's newer models send nothing else, and refuse to be asked for it.
            body["response_format"] = "b64_json"
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._settings.key:
            headers["authorization"] = f"Bearer {self._settings.key}"
        page = await self._web.fetch(
            f"{self._settings.base}/images/generations",
            method="POST",
            headers=headers,
            data=json.dumps(body).encode(),
            most_bytes=_MOST_BYTES,
            seconds=_SECONDS,
        )
        rows = _rows(page)
        if not rows:
            raise ToolError("The image server answered without an image.")
        return [await self._image(row) for row in rows[:count]]

    async def _image(self, row: Mapping[str, Any]) -> ImageFile:
        encoded, url = row.get("b64_json"), row.get("url")
        if isinstance(encoded, str) and encoded:
            try:
                data = base64.b64decode(encoded.partition("base64,")[2] or encoded)
            except (binascii.Error, ValueError):
                raise ToolError("The image server sent an image that cannot be decoded.") from None
        elif isinstance(url, str):
            page = await self._web.fetch(url, most_bytes=_MOST_BYTES, seconds=_SECONDS)
            data = page.accepted().body
        else:
            raise ToolError("The image server answered without an image.")
        extension = next((e for magic, e in _MAGIC if magic.match(data)), "")
        if not extension:
            raise ToolError("What the image server sent is not an image.")
        revised = row.get("revised_prompt")
        return ImageFile(data, extension, one_line(revised) if isinstance(revised, str) else "")


def _rows(page: Page) -> list[Mapping[str, Any]]:
    answer = json_object(page.body) or {}
    if page.status in (401, 403):
        raise ToolError("The image server did not accept the key.", hint="Check SAM_TUI_IMAGE_KEY.")
    if page.status >= 300 or not answer:
        raise ToolError(f"The image server answered {page.status}. {_complaint(answer)}".strip())
    data: Any = answer.get("data")
    if not isinstance(data, list):
        return []
    items = cast("list[Any]", data)
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, dict)]


def _complaint(answer: Mapping[str, object]) -> str:
    detail: object = answer.get("error") or answer.get("message") or answer.get("detail")
    if isinstance(detail, dict):
        detail = cast("dict[str, object]", detail).get("message")
    return f"It says: {one_line(detail)[:300]}" if isinstance(detail, str) and detail else ""
