"""Has images decoded one at a time, by a confined program that is given their bytes and nothing else."""

import asyncio
import base64
import importlib.util
import os
import struct
import sys
from collections.abc import Callable

from sam_tui.core.errors import ToolError
from sam_tui.core.messages import Image
from sam_tui.core.ports.documents import MOST_COLUMNS, MOST_ROWS, Colour, Pixels, Raster
from sam_tui.core.ports.processes.piped import PipedProgram, PipedPrograms, PipedRequest
from sam_tui.core.prompt.images import LARGEST

_SECONDS = 20.0
"""Seconds that one image may take, including the start of the decoder on a busy machine."""
_KINDS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
_PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "decoder.py")
_RASTER, _PIXELS = struct.Struct(">HH"), struct.Struct(">HHH")
"""The headers of answers: width and height in pixels, and for a palette image also the palette's bytes."""
_COLOURS = 240


class DecodedPictures:
    """The ``Pictures`` port, over Pillow. ``programs`` starts the decoder."""

    def __init__(self, programs: Callable[[], PipedPrograms]) -> None:
        self._programs = programs
        self._one = asyncio.Lock()

    async def raster(self, image: Image) -> Raster | None:
        """Return the image made small; None if it cannot be decoded within the limits."""
        most = _RASTER.size + MOST_COLUMNS * MOST_ROWS * 4
        answer = await self._decoded(image, (MOST_COLUMNS, MOST_ROWS), "", most)
        return _raster(answer)

    async def pixels(self, image: Image, size: tuple[int, int], ground: Colour) -> Pixels | None:
        """Return the image in few colours; None if it cannot be decoded within the limits."""
        most = _PIXELS.size + 3 * _COLOURS + size[0] * size[1]
        answer = await self._decoded(image, size, "#{:02x}{:02x}{:02x}".format(*ground), most)
        return _pixels(answer, size)

    async def _decoded(self, image: Image, size: tuple[int, int], ground: str, most: int) -> bytes:
        """The program's answer, at most so many bytes; empty if it fails."""
        kind = _KINDS.get(image.mime)
        data = _bytes_of(image)
        folder = _pillow()
        if kind is None or not data or not folder:
            return b""
        words = (kind, *map(str, size), *filter(None, (ground,)))
        async with self._one:
            try:
                program = await self._programs().start(_request(folder, words))
            except ToolError:
                return b""
            try:
                async with asyncio.timeout(_SECONDS):
                    await program.write(struct.pack(">I", len(data)) + data)
                    return await _answer(program, most)
            except (OSError, TimeoutError):
                return b""
            finally:
                await program.stop()


def _bytes_of(image: Image) -> bytes:
    """The decoded image; empty if it is too large or not Base64."""
    if len(image.data) > LARGEST * 4 // 3 + 4:
        return b""
    try:
        return base64.b64decode(image.data, validate=True)
    except ValueError:
        return b""


def _pillow() -> str:
    """The folder that has Pillow, which is not imported here; empty where there is none."""
    spec = importlib.util.find_spec("PIL")
    return os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else ""


def _request(folder: str, arguments: tuple[str, ...]) -> PipedRequest:
    words = (sys.executable, "-I", "-S", _PROGRAM, folder, *arguments)
    folders = (sys.prefix, sys.base_prefix, folder, os.path.dirname(_PROGRAM))
    reads = tuple(dict.fromkeys(map(os.path.realpath, folders)))
    return PipedRequest(words, "/", True, (), _unheard, network="off", readable=reads)


def _unheard(text: str) -> None:
    """Ignore the decoder's error output."""


async def _answer(program: PipedProgram, most: int) -> bytes:
    """The output of a program; empty if it is longer than allowed."""
    answer = bytearray()
    while piece := await program.read():
        answer += piece
        if len(answer) > most:
            return b""
    return bytes(answer)


def _raster(answer: bytes) -> Raster | None:
    """The raster of an answer; None unless its sizes fit, because a decoder may be taken over."""
    if len(answer) < _RASTER.size:
        return None
    width, height = _RASTER.unpack_from(answer)
    pixels = answer[_RASTER.size :]
    if not (0 < width <= MOST_COLUMNS and 0 < height <= MOST_ROWS):
        return None
    return Raster(width, height, pixels) if len(pixels) == width * height * 4 else None


def _pixels(answer: bytes, size: tuple[int, int]) -> Pixels | None:
    """The pixels of an answer; None unless their sizes fit."""
    if len(answer) < _PIXELS.size:
        return None
    width, height, colours = _PIXELS.unpack_from(answer)
    palette = answer[_PIXELS.size : _PIXELS.size + colours]
    indices = answer[_PIXELS.size + colours :]
    fits = 0 < width <= size[0] and 0 < height <= size[1] and len(indices) == width * height
    valid = len(palette) == colours <= 3 * _COLOURS and colours % 3 == 0
    return (
        Pixels(width, height, palette, indices)
        if fits and valid and max(indices) < colours // 3
        else None
    )
