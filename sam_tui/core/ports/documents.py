"""Documents: many formats to text, Markdown to many formats, and images to small rasters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from sam_tui.core.messages import Image

DocumentFormat = Literal["pdf", "docx", "pptx", "xlsx", "markdown", "rtf", "txt"]
"""The formats that can be written."""

DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = get_args(DocumentFormat)
EXTENSIONS: Mapping[DocumentFormat, str] = {
    "pdf": ".pdf",
    "docx": ".docx",
    "pptx": ".pptx",
    "xlsx": ".xlsx",
    "markdown": ".md",
    "rtf": ".rtf",
    "txt": ".txt",
}


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document: plain text or Markdown, without control characters.

    ``format`` is the detected format (``pdf``, ``html``, ``feed``, ``json`` ...). ``properties`` are in
    the order to show: pages, author, published and the like. ``notes`` name omitted parts.
    """

    text: str
    format: str
    title: str = ""
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()

    def passages(self, size: int = 1500) -> Iterator[str]:
        """The text in pieces of about ``size`` characters, cut between paragraphs where possible.

        Put together again, the pieces hold every word of the text. A paragraph longer than twice
        the size is cut between sentences, else between words, else where it must.
        """
        gathered = ""
        for paragraph in re.split(r"\n\s*\n", self.text):
            for piece in _bounded(paragraph.strip("\n"), size):
                if gathered and len(gathered) + len(piece) > size:
                    yield gathered
                    gathered = piece
                else:
                    gathered = f"{gathered}\n\n{piece}" if gathered else piece
        if gathered.strip():
            yield gathered


def _bounded(paragraph: str, size: int) -> Iterator[str]:
    remaining = paragraph
    while len(remaining) > 2 * size:
        window = remaining[:size]
        ends = [window.rfind(mark) + len(mark) for mark in ("\n", ". ", "? ", "! ", "。", " ")]
        cut = next((end for end in ends if end > size // 2), size)
        yield remaining[:cut].rstrip()
        remaining = remaining[cut:].lstrip()
    if remaining.strip():
        yield remaining


@dataclass(frozen=True, slots=True)
class Styling:
    """The look of a document: sizes, margin and page in points (1/72 inch), spacing in lines."""

    font_size: float = 12.0
    heading_sizes: tuple[float, float, float] = (24.0, 20.0, 16.0)
    margin: float = 72.0
    page_width: float = 612.0
    page_height: float = 792.0
    line_spacing: float = 1.15


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A written document. ``notes`` say what could not be shown in it."""

    data: bytes
    notes: tuple[str, ...] = ()


class Documents(Protocol):
    """Reads and writes documents off the loop's thread. Raises ``errors.ToolError``.

    Broken, encrypted, over-large and unknown files are errors that say so.
    """

    async def read(
        self, data: bytes, *, name: str = "", media_type: str = "", url: str = ""
    ) -> DocumentText:
        """The text of a document. Its format comes from its bytes, then ``media_type``, then ``name``.

        ``url`` is where it came from: links in a page are made whole with it.
        """
        ...

    async def select(
        self, data: bytes, selectors: Mapping[str, str], *, media_type: str = "", url: str = ""
    ) -> Mapping[str, Sequence[str]]:
        """Return the matches of each named CSS selector, or ``selector@attribute``, in an HTML page.

        An invalid selector raises ``errors.ToolError``.
        """
        ...

    async def write(
        self, content: str, format_: DocumentFormat, *, title: str = "", styling: Styling
    ) -> DocumentFile:
        """A document made from Markdown."""
        ...


MOST_COLUMNS, MOST_ROWS = 80, 40
"""The most pixels of a raster; a cell shows two of them, one above the other."""


@dataclass(frozen=True, slots=True)
class Raster:
    """Rows of pixels from the top, four bytes each: red, green, blue, opacity."""

    width: int
    height: int
    pixels: bytes


Colour = tuple[int, int, int]
"""Red, green and blue, each from 0 to 255."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """Rows of pixels from the top, a byte each: which colour of the palette, three bytes a colour."""

    width: int
    height: int
    palette: bytes
    indices: bytes


class Pictures(Protocol):
    """Decodes images. Image files may be hostile, so a confined process decodes them."""

    async def raster(self, image: Image) -> Raster | None:
        """The image, at most ``MOST_COLUMNS`` by ``MOST_ROWS``; None where it cannot be decoded.

        Of an animation the first frame.
        """
        ...

    async def pixels(self, image: Image, size: tuple[int, int], ground: Colour) -> Pixels | None:
        """The image on a ground, at most so wide and so high; None where it cannot be decoded."""
        ...
