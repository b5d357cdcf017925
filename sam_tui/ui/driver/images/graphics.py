"""Images as terminals take them: kitty's graphics, iTerm2's inline images, sixel.

Everything is made here from colours and numbers that were checked; no byte of an image file is sent.
"""

import base64
import re
import struct
import zlib
from operator import itemgetter

from sam_tui.core.ports.documents import Pixels
from sam_tui.ui.driver.clusters import PLACEHOLDER
from sam_tui.ui.driver.sequences import passed_through_tmux

_RANGES = (
    "0305 030d-030e 0310 0312 033d-033f 0346 034a-034c 0350-0352 0357 035b 0363-036f 0483-0487 0592-0595 "
    "0597-0599 059c-05a1 05a8-05a9 05ab-05ac 05af 05c4 0610-0617 0657-065b 065d-065e 06d6-06dc 06df-06e2"
)
"""Code points from the start of kitty's ``rowcolumn-diacritics.txt``, one for each column of a picture."""


def _numerals(ranges: str) -> str:
    bounds = (part.split("-") for part in ranges.split())
    return "".join(chr(c) for b in bounds for c in range(int(b[0], 16), int(b[-1], 16) + 1))


NUMERALS = _numerals(_RANGES)
_CHUNK = 4096
"""The base64 bytes in one of kitty's sequences."""
_LEAST_RUN = re.compile(rb"(.)\1{3,}", re.DOTALL)


def kitty_cell(row: int, column: int) -> str:
    """The text of one cell of an image."""
    return PLACEHOLDER + NUMERALS[row] + NUMERALS[column]


def kitty_image(number: int, png: bytes, columns: int, rows: int, *, tmux: bool) -> str:
    """The sequences that transmit an image and draw it over its cells; they ask for no answer."""
    data = base64.b64encode(png).decode()
    head = f"a=T,U=1,f=100,t=d,q=2,i={number},c={columns},r={rows},"
    parts = (
        f"\x1b_G{'q=2,' if at else head}m={int(at + _CHUNK < len(data))};{data[at : at + _CHUNK]}\x1b\\"
        for at in range(0, len(data), _CHUNK)
    )
    return "".join(passed_through_tmux(part) if tmux else part for part in parts)


def kitty_removal(number: int, *, tmux: bool) -> str:
    """Have the terminal forget an image."""
    sequence = f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"
    return passed_through_tmux(sequence) if tmux else sequence


def iterm_image(png: bytes, columns: int, rows: int) -> str:
    """Draw an image at the cursor, in so many cells."""
    options = f"inline=1;size={len(png)};width={columns};height={rows};preserveAspectRatio=0"
    return f"\x1b]1337;File={options};doNotMoveCursor=1:{base64.b64encode(png).decode()}\x07"


def png_of(pixels: Pixels) -> bytes:
    """Pixels as a PNG file with a palette."""
    width = pixels.width
    lines = (
        b"\0" + pixels.indices[at : at + width] for at in range(0, width * pixels.height, width)
    )
    head = struct.pack(">IIBBBBB", width, pixels.height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", head),
        (b"PLTE", pixels.palette),
        (b"IDAT", zlib.compress(b"".join(lines), 6)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def scaled(pixels: Pixels, width: int, height: int) -> Pixels:
    """The pixels in another size, each the nearest there is."""
    columns = itemgetter(*(x * pixels.width // width for x in range(width)), 0)
    lines: dict[int, bytes] = {}
    for y in {y * pixels.height // height for y in range(height)}:
        start = y * pixels.width
        lines[y] = bytes(columns(pixels.indices[start : start + pixels.width])[:-1])
    indices = b"".join(lines[y * pixels.height // height] for y in range(height))
    return Pixels(width, height, pixels.palette, indices)


def sixel_image(pixels: Pixels) -> str:
    """Draw pixels at the cursor; their height is best a multiple of six."""
    parts = [f'\x1bP0;1q"1;1;{pixels.width};{pixels.height}']
    for number in sorted(set(pixels.indices)):
        red, green, blue = (
            round(part / 2.55) for part in pixels.palette[3 * number : 3 * number + 3]
        )
        parts.append(f"#{number};2;{red};{green};{blue}")
    for top in range(0, pixels.height, 6):
        band = [
            pixels.indices[y * pixels.width : (y + 1) * pixels.width]
            for y in range(top, min(top + 6, pixels.height))
        ]
        parts.append("$".join(_colour_lines(band)) + "-")
    parts[-1] = parts[-1].removesuffix("-")
    return "".join(parts) + "\x1b\\"


def _colour_lines(band: list[bytes]) -> list[str]:
    """For each colour of six rows of pixels, the columns with that colour."""
    lines: list[str] = []
    plane = bytearray(256)
    width = len(band[0])
    for number in sorted(set(b"".join(band))):
        bits = 0
        for bit, line in enumerate(band):
            if number in line:
                plane[number] = 1 << bit
                bits |= int.from_bytes(line.translate(bytes(plane)), "big")
        plane[number] = 0
        sixels = bits.to_bytes(width, "big").translate(_SIXELS).rstrip(b"?")
        lines.append(f"#{number}{_LEAST_RUN.sub(_run, sixels).decode()}")
    return lines


_SIXELS = bytes(min(63 + value, 126) for value in range(256))


def _run(match: re.Match[bytes]) -> bytes:
    return b"!%d%c" % (len(match[0]), match[1][0])
