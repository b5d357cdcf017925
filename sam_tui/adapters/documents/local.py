"""The ``Documents`` port: one reader and one writer a format, each in a thread and bounded."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sam_tui.adapters.documents.detection import detect, sized
from sam_tui.adapters.documents.limits import MOST_BYTES, MOST_CHARACTERS, writable
from sam_tui.adapters.documents.readers.text import clean
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DocumentFile, DocumentFormat, DocumentText, Styling

T = TypeVar("T")

_SECONDS = 90.0
_AT_ONCE = 2


class LocalDocuments:
    """Documents read and written by libraries in this process, two at a time because of the CPU."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def read(
        self, data: bytes, *, name: str = "", media_type: str = "", url: str = ""
    ) -> DocumentText:
        """The text of a document; see ``ports.Documents``."""
        if len(data) > MOST_BYTES:
            raise ToolError(
                f"The document has {sized(len(data))}; at most {sized(MOST_BYTES)} are read."
            )
        return await self._worked(lambda: read(data, name, media_type, url))

    async def select(
        self, data: bytes, selectors: Mapping[str, str], *, media_type: str = "", url: str = ""
    ) -> Mapping[str, Sequence[str]]:
        """Return the matches of each named CSS selector in an HTML page."""
        from sam_tui.adapters.documents.readers.web_pages import select

        return await self._worked(lambda: select(data, selectors, media_type, url))

    async def write(
        self, content: str, format_: DocumentFormat, *, title: str = "", styling: Styling
    ) -> DocumentFile:
        """A document made from Markdown."""
        if len(content) > MOST_CHARACTERS:
            raise ToolError(
                f"The content has {len(content)} characters; at most {MOST_CHARACTERS} are written."
            )
        return await self._worked(lambda: write(content, format_, title, styling))

    async def _worked(self, work: Callable[[], T]) -> T:
        async with self._room:
            try:
                async with asyncio.timeout(_SECONDS):
                    return await asyncio.to_thread(work)
            except TimeoutError:
                raise ToolError(f"The document took longer than {_SECONDS:g} s.") from None


def read(data: bytes, name: str, media_type: str, url: str) -> DocumentText:
    """Read by the detected format; blocking."""
    from sam_tui.adapters.documents.readers import books, office, pdf, plain, web_pages

    readers: Mapping[str, Callable[[bytes], DocumentText]] = {
        "pdf": pdf.read_pdf,
        "docx": office.read_docx,
        "pptx": office.read_pptx,
        "xlsx": office.read_xlsx,
        "epub": books.read_epub,
        "feed": plain.read_feed,
        "rtf": plain.read_rtf,
    }
    format_ = detect(data, name, media_type)
    if format_ in readers:
        return readers[format_](data)
    match format_:
        case "html":
            return web_pages.read_html(data, media_type, url)
        case "json":
            return plain.read_json(data, media_type)
        case "csv":
            return plain.read_csv(data, media_type)
        case _:
            return plain.read_text(data, media_type, format_)


def write(content: str, format_: DocumentFormat, title: str, styling: Styling) -> DocumentFile:
    """Write Markdown as the format; blocking."""
    from sam_tui.adapters.documents.writers import office, pdf, plain_text, sheets
    from sam_tui.adapters.documents.writers.blocks import Block, parse

    text = clean(content)
    if format_ == "markdown":
        return DocumentFile((text + "\n").encode())
    writers: Mapping[str, Callable[[Sequence[Block], str, Styling], DocumentFile]] = {
        "pdf": pdf.write_pdf,
        "docx": office.write_docx,
        "pptx": office.write_pptx,
        "xlsx": sheets.write_xlsx,
        "rtf": plain_text.write_rtf,
        "txt": plain_text.write_txt,
    }
    with writable(format_):
        blocks = (sheets.separated(text) if format_ == "xlsx" else None) or parse(text)
        return writers[format_](blocks, clean(title), styling)
