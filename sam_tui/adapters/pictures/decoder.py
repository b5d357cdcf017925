"""A program that decodes one image: bytes on standard input, pixels on standard output.

``python -I -S decoder.py FOLDER KIND WIDTH HEIGHT [GROUND]``: Pillow is imported from the folder. The
answer is a raster; with a ground, such as ``#102030``, pixels of a palette. It limits itself before it
reads a byte of the image, and ends with 1 if that cannot be decoded.
"""

import io
import os
import resource
import struct
import sys
import warnings
from importlib import import_module

MEMORY = 768 * 1024**2
SECONDS = 5
"""The limit of processor time, in seconds."""
MOST_PIXELS = 40_000_000
"""The most pixels of an image before it is scaled down."""
COLOURS = 240
"""The most colours of a palette."""


def limit() -> None:
    """Forbid to open files, sockets and processes from now on, and limit memory and time."""
    bounds = {
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_CPU: SECONDS,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 3,
    }
    for which, most in bounds.items():
        try:
            resource.setrlimit(which, (most, most))
        except (OSError, ValueError):
            continue  # macOS does not limit the address space; the number of pixels is limited anyway


def read_exactly(size: int) -> bytes:
    """So many bytes of standard input. Raises ``EOFError``."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def decode(data: bytes, kind: str, size: tuple[int, int], ground: str) -> bytes:
    """Return the answer for a file of that kind. Raises as Pillow does."""
    from PIL import Image, ImageOps

    width, height = size
    with Image.open(io.BytesIO(data), formats=(kind,)) as image:
        image.draft("RGB", (width * 2, height * 2))
        small = image.convert("RGBA")
        small.thumbnail((width * 2, height * 2))
        small = ImageOps.exif_transpose(small)
        small.thumbnail(size)
        if not ground:
            return struct.pack(">HH", *small.size) + small.tobytes()
        under = Image.new("RGBA", small.size, ground)
        flat = Image.alpha_composite(under, small).convert("RGB").quantize(COLOURS)
        palette = (flat.getpalette() or [])[: 3 * COLOURS]
        return struct.pack(">HHH", *flat.size, len(palette)) + bytes(palette) + flat.tobytes()


def prepare(kind: str, ground: str) -> None:
    """Import all modules that decoding such a file needs: no file can be opened afterwards."""
    from PIL import Image

    for module in ("MpoImagePlugin", "TiffImagePlugin"):  # some JPEG files need these
        import_module(f"PIL.{module}")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    sample = io.BytesIO()
    Image.new("RGB", (2, 2)).save(sample, kind)
    decode(sample.getvalue(), kind, (1, 1), ground)


def main(folder: str, kind: str, width: str, height: str, ground: str = "") -> None:
    """Decode the image on standard input, and write the requested form."""
    sys.path.append(folder)
    prepare(kind, ground)
    limit()
    (size,) = struct.unpack(">I", read_exactly(4))
    answer = decode(read_exactly(size), kind, (int(width), int(height)), ground)
    remaining = memoryview(answer)
    while remaining:
        remaining = remaining[os.write(1, remaining) :]


if __name__ == "__main__":
    main(*sys.argv[1:])
