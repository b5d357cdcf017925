"""Images that may be shown to a model."""

import base64

from sam_tui.core.messages import Image

LARGEST = 3_750_000
"""The most bytes of one image that Anthropic and OpenAI accept once it is Base64."""
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAGIC = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"))


def image_of_text(name: str, text: object) -> Image | None:
    """The image of a Base64 text, as another program sends it; None for anything else."""
    try:
        return (
            image_of(name, base64.b64decode(text, validate=True)) if isinstance(text, str) else None
        )
    except ValueError:
        return None


def image_of(name: str, data: bytes) -> Image | None:
    """The bytes of a PNG, JPEG, GIF or WebP file as an image; None for anything else."""
    kind = next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    if not kind or len(data) > LARGEST:
        return None
    return Image(name, f"image/{kind}", base64.b64encode(data).decode("ascii"))
