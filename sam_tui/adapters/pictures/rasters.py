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
from sam_tui.core.ports.documents import MOST_COLUMNS, MOST_ROWS, Raster
from sam_tui.core.ports.processes.piped import PipedProgram, PipedPrograms, PipedRequest
from sam_tui.core.prompt.images import LARGEST

_SECONDS = 20.0
"""For one image, the start of the program on a busy machine included."""
_KINDS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
_PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "decoder.py")
_HEAD = struct.Struct(">HH")


class DecodedPictures:
    """The ``Pictures`` port, over Pillow. ``programs`` starts what decodes."""

    def __init__(self, programs: Callable[[], PipedPrograms]) -> None:
        self._programs = programs
        self._one = asyncio.Lock()

    async def raster(self, image: Image) -> Raster | None:
        """The image made small; None for what cannot be decoded within the limits."""
        kind = _KINDS.get(image.mime)
        data = _bytes_of(image)
        folder = _pillow()
        if kind is None or not data or not folder:
            return None
        async with self._one:
            try:
                program = await self._programs().start(_request(folder, kind))
            except ToolError:
                return None
            try:
                async with asyncio.timeout(_SECONDS):
                    await program.write(struct.pack(">I", len(data)) + data)
                    return await _answer(program)
            except (OSError, TimeoutError):
                return None
            finally:
                await program.stop()


def _bytes_of(image: Image) -> bytes:
    """What the image says it is, where that is not too much; else nothing."""
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


def _request(folder: str, kind: str) -> PipedRequest:
    words = (sys.executable, "-I", "-S", _PROGRAM, folder, kind, str(MOST_COLUMNS), str(MOST_ROWS))
    folders = (sys.prefix, sys.base_prefix, folder, os.path.dirname(_PROGRAM))
    reads = tuple(dict.fromkeys(map(os.path.realpath, folders)))
    return PipedRequest(words, "/", True, (), _unheard, network="off", readable=reads)


def _unheard(text: str) -> None:
    """Ignore the decoder's error output."""


async def _answer(program: PipedProgram) -> Raster | None:
    """The raster that a program gives, which is not believed: sizes have to fit."""
    answer = bytearray()
    while piece := await program.read():
        answer += piece
        if len(answer) > _HEAD.size + MOST_COLUMNS * MOST_ROWS * 4:
            return None
    if len(answer) < _HEAD.size:
        return None
    width, height = _HEAD.unpack_from(answer)
    pixels = bytes(answer[_HEAD.size :])
    if not (0 < width <= MOST_COLUMNS and 0 < height <= MOST_ROWS):
        return None
    return Raster(width, height, pixels) if len(pixels) == width * height * 4 else None
