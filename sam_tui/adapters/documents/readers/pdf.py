"""PDF -> text, page by page."""

from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING

from sam_tui.adapters.documents.limits import GatheredText, understood
from sam_tui.adapters.documents.readers.text import clean
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DocumentText

if TYPE_CHECKING:
    from pypdf import DocumentInformation, PageObject


def _title_and_author(metadata: "DocumentInformation | None") -> tuple[str, str]:
    if metadata is None:
        return "", ""
    return clean(str(metadata.title or "")), clean(str(metadata.author or ""))


def read_pdf(data: bytes) -> DocumentText:
    """The text of all pages; raises ``ToolError`` for a broken or encrypted file."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    with understood("PDF", PyPdfError, DependencyError):
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolError("The PDF is encrypted.", hint="Save it without a password.")
        count = len(reader.pages)
        gathered = GatheredText("pages")
        failed = _gather(reader.pages, gathered, PyPdfError)
        if failed and failed == gathered.size:
            raise ToolError("No page of the PDF could be read.")
        title, author = _title_and_author(reader.metadata)
    notes = list(gathered.notes)
    if failed:
        notes.append(f"{failed} pages could not be read")
    text = clean(gathered.text)
    if not text:
        notes.append("no text in it: its pages are probably pictures")
    properties = {"pages": str(count), **({"author": author} if author else {})}
    return DocumentText(text, "pdf", title, properties, tuple(notes))


def _gather(pages: "Iterable[PageObject]", gathered: GatheredText, fault: type[Exception]) -> int:
    """Add the text of all pages, as far as there is room; the number of those that cannot be read."""
    failed = 0
    for page in pages:
        if not gathered.goes_on():
            break
        try:
            with understood("page", fault):
                gathered.add(page.extract_text())
        except ToolError:
            failed += 1
            gathered.add("")
    return failed
