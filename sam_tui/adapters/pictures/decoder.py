"""A program of its own that decodes one image: bytes on standard input, a raster on standard output.

``python -I -S decoder.py FOLDER KIND COLUMNS ROWS``: Pillow is imported from the folder. It limits itself
before it reads a byte of the image, and ends with 1 where that cannot be decoded.
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
"""Of processor time."""
MOST_PIXELS = 40_000_000
"""Of the whole image, before it is made smaller."""


def limit() -> None:
    """From here on no file, socket or process can be opened, and memory and time are bounded."""
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
            continue  # macOS bounds no address space; the number of pixels is held all the same


def read_exactly(size: int) -> bytes:
    """So many bytes of standard input. Raises ``EOFError``."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def decode(data: bytes, kind: str, columns: int, rows: int) -> bytes:
    """The raster of a file of that kind. Raises whatever Pillow does."""
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data), formats=(kind,)) as image:
        image.draft("RGB", (columns * 2, rows * 2))
        small = image.convert("RGBA")
        small.thumbnail((columns * 2, rows * 2))
        small = ImageOps.exif_transpose(small)
        small.thumbnail((columns, rows))
        return struct.pack(">HH", small.width, small.height) + small.tobytes()


def prepare(kind: str) -> None:
    """Have everything imported that decoding such a file needs: afterwards no module can be opened."""
    from PIL import Image

    for module in ("MpoImagePlugin", "TiffImagePlugin"):  # some JPEG files need these
        import_module(f"PIL.{module}")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    sample = io.BytesIO()
    Image.new("RGB", (2, 2)).save(sample, kind)
    decode(sample.getvalue(), kind, 1, 1)


def main(folder: str, kind: str, columns: int, rows: int) -> None:
    """Decode the image on standard input for a number of cells, and write its raster."""
    sys.path.append(folder)
    prepare(kind)
    limit()
    (size,) = struct.unpack(">I", read_exactly(4))
    remaining = memoryview(decode(read_exactly(size), kind, columns, rows))
    while remaining:
        remaining = remaining[os.write(1, remaining) :]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
