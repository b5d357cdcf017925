"""Word, PowerPoint and Excel files of Office Open XML -> Markdown."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any

from sam_tui.adapters.documents.limits import MOST_CELLS, GatheredText, understood
from sam_tui.adapters.documents.readers.containers import inspect
from sam_tui.adapters.documents.readers.text import clean
from sam_tui.core.ports.documents import DocumentText

_DEEPEST_GROUP = 8


def read_docx(data: bytes) -> DocumentText:
    """Paragraphs and tables in order; headings and lists by their styles."""
    with understood("Word document"):
        inspect(data, office=True)
        import docx
        from docx.table import Table

        document = docx.Document(BytesIO(data))
        gathered = GatheredText("paragraphs", most=100_000)
        for block in document.iter_inner_content():
            if not gathered.goes_on():
                break
            if isinstance(block, Table):
                rows = ([cell.text for cell in row.cells] for row in block.rows)
                gathered.add(markdown_table(rows))
            else:
                style = block.style.name if block.style is not None else ""
                gathered.add(_paragraph(block.text, style or ""))
        properties = _properties(document.core_properties)
        title = clean(document.core_properties.title or "")
    text = clean("\n".join(_closed_up(gathered.pieces)))
    return DocumentText(text, "docx", title, properties, gathered.notes)


def read_pptx(data: bytes) -> DocumentText:
    """Slide by slide: title, texts, tables, notes."""
    with understood("presentation"):
        inspect(data, office=True)
        from pptx import Presentation

        deck = Presentation(BytesIO(data))
        gathered = GatheredText("slides")
        for number, slide in enumerate(deck.slides, start=1):
            if not gathered.goes_on():
                break
            gathered.add("\n".join(_slide(slide, number)))
        properties = {"slides": str(len(deck.slides)), **_properties(deck.core_properties)}
        title = clean(deck.core_properties.title or "")
    return DocumentText(clean(gathered.text), "pptx", title, properties, gathered.notes)


def read_xlsx(data: bytes) -> DocumentText:
    """Every sheet as a table of the values last calculated."""
    with understood("workbook"):
        inspect(data, office=True)
        from openpyxl import load_workbook

        # It warns of every unknown feature, which no reader of the text could change.
        warnings.filterwarnings("ignore", module="openpyxl")
        book = load_workbook(BytesIO(data), read_only=True, data_only=True)
        try:
            gathered, cells = GatheredText("sheets", most=200), 0
            names = [sheet.title for sheet in book.worksheets]
            for sheet in book.worksheets:
                if not gathered.goes_on():
                    break
                rows: list[list[str]] = []
                for row in sheet.iter_rows(values_only=True):
                    cells += len(row)
                    if cells > MOST_CELLS or not gathered.goes_on():
                        gathered.cut = gathered.cut or f"cut after {MOST_CELLS} cells"
                        break
                    rows.append([_cell(value) for value in row])
                gathered.add(f"## {sheet.title}\n\n{markdown_table(_trimmed(rows))}")
            properties = {"sheets": ", ".join(names)[:300], **_properties(book.properties)}
            title = clean(book.properties.title or "")
        finally:
            book.close()
    return DocumentText(clean(gathered.text), "xlsx", title, properties, gathered.notes)


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a Markdown table under the first of them; empty without rows."""
    lines = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    if not lines:
        return ""
    width = max(map(len, lines))
    table = [f"| {' | '.join([*line, *[''] * (width - len(line))])} |" for line in lines]
    return "\n".join([table[0], "|" + " --- |" * width, *table[1:]])


def _paragraph(text: str, style: str) -> str:
    stripped = text.strip()
    if not stripped:
        return ""
    if style == "Title":
        return f"# {stripped}"
    if style.startswith("Heading "):
        level = style.removeprefix("Heading ")
        return f"{'#' * min(int(level), 6)} {stripped}" if level.isdigit() else stripped
    if style.startswith(("List Bullet", "List Number")):
        depth = int(style[-1]) - 1 if style[-1].isdigit() else 0
        return "  " * depth + ("1. " if "Number" in style else "- ") + stripped
    return f"> {stripped}" if style.endswith("Quote") else stripped


def _closed_up(pieces: Sequence[str]) -> Iterator[str]:
    """Paragraphs with an empty line between them, but not between the items of a list."""
    before = False
    for piece in filter(None, pieces):
        item = piece.lstrip().startswith(("- ", "1. "))
        if not (item and before):
            yield ""
        before = item
        yield piece


def _shape_lines(shape: Any) -> Iterator[str]:
    """A table, or the paragraphs of a text frame as list items."""
    if getattr(shape, "has_table", False):
        yield "\n" + markdown_table([c.text for c in row.cells] for row in shape.table.rows)
    elif getattr(shape, "has_text_frame", False):
        for paragraph in shape.text_frame.paragraphs:
            if paragraph.text.strip():
                yield f"{'  ' * (paragraph.level or 0)}- {' '.join(paragraph.text.split())}"


def _slide(slide: Any, number: int) -> Iterator[str]:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None else ""
    yield f"## Slide {number}: {heading}" if heading else f"## Slide {number}"
    for shape in _shapes(slide.shapes, 0):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        yield from _shape_lines(shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            yield f"\nNotes: {notes}"


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _DEEPEST_GROUP:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Without empty rows, and without the columns after the last that holds anything."""
    filled = [row for row in rows if any(row)]
    width = max((i + 1 for row in filled for i, cell in enumerate(row) if cell), default=0)
    return [row[:width] for row in filled]


def _properties(core: Any) -> dict[str, str]:
    author = getattr(core, "author", None) or getattr(core, "creator", None) or ""
    properties = {"author": clean(str(author)), "modified": _date(core.modified)}
    return {name: value for name, value in properties.items() if value}


def _date(value: Any) -> str:
    return value.strftime("%Y-%m-%d") if hasattr(value, "strftime") else ""
