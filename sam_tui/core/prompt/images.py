"""Images that may be shown to a model."""

import base64
import struct

from sam_tui.core.messages import Image

LARGEST = 3_750_000
"""The most bytes of one image that Anthropic and OpenAI accept once it is Base64."""
MOST_SIDE = 8_000
"""The most pixels of a side that Anthropic accepts."""
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MOST_SEGMENTS = 1_000
_MOST_BEHIND = 64
"""The bytes behind the end of a JPEG or GIF file that writers append, as zeros to fill a block."""
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
    """The bytes of a PNG, JPEG, GIF or WebP file as an image; None for anything else.

    None, too, for one that ends early or has sides that no provider accepts: it would stay in the
    conversation, and each of its requests would be refused.
    """
    kind = next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    if not kind or len(data) > LARGEST:
        return None
    sides = sides_of(kind, data) or (1, 1)
    if not _is_whole(kind, data) or not 0 < min(sides) <= max(sides) <= MOST_SIDE:
        return None
    return Image(name, f"image/{kind}", base64.b64encode(data).decode("ascii"))


def _is_whole(kind: str, data: bytes) -> bool:
    """Whether the mark is there that ends a file of that kind, or the length that its header states."""
    match kind:
        case "png":
            return b"IEND" in data
        case "jpeg":
            return b"\xff\xd9" in data[-_MOST_BEHIND:]
        case "gif":
            return b";" in data[-_MOST_BEHIND:]
        case _:
            return int.from_bytes(data[4:8], "little") + 8 <= len(data)


def sides_of(kind: str, data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels by the header of a file of that kind.

    (0, 0) if the header ends early, None if it does not contain them.
    """
    try:
        match kind:
            case "png":
                return struct.unpack_from(">II", data, 16)
            case "gif":
                return struct.unpack_from("<HH", data, 6)
            case "jpeg":
                return _sides_of_jpeg(data)
            case _:
                return _sides_of_webp(data)
    except struct.error:
        return 0, 0


def _sides_of_jpeg(data: bytes) -> tuple[int, int] | None:
    """Return the sides of the first frame; its markers are the SOFn of ITU T.81, table B.1."""
    at = 2
    for _ in range(_MOST_SEGMENTS):
        _, marker, length, _, height, width = struct.unpack_from(">BBHBHH", data, at)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return width, height
        at += 1 if marker == 0xFF else 2 + length
    return None


def _sides_of_webp(data: bytes) -> tuple[int, int] | None:
    """Return the sides of the canvas of an extended file, or of a lossy or lossless image (RFC 9649)."""
    if data[12:16] == b"VP8X":
        low, high, lower, higher = struct.unpack_from("<HBHB", data, 24)
        return 1 + low + (high << 16), 1 + lower + (higher << 16)
    if data[12:16] == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if data[12:16] == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return None
