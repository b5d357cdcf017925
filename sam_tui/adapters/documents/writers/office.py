"""Blocks -> Word documents and PowerPoint presentations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from sam_tui.adapters.documents.writers.blocks import (
    Block,
    CodeBlock,
    Heading,
    HorizontalRule,
    ListItem,
    Paragraph,
    Spans,
    TableBlock,
    TextSpan,
    with_addresses,
    words,
)
from sam_tui.core.ports.documents import DocumentFile, Styling

_MONOSPACE = "Courier New"
_LINES_A_SLIDE = 12
_LETTERS_A_LINE = 70


def write_docx(blocks: Sequence[Block], title: str, styling: Styling) -> DocumentFile:
    """A Word document with Word's own heading styles, so that outline and table of contents work."""
    import docx
    from docx.shared import Pt

    document: Any = docx.Document()
    section = document.sections[0]
    section.page_width, section.page_height = Pt(styling.page_width), Pt(styling.page_height)
    section.left_margin = section.right_margin = Pt(styling.margin)
    section.top_margin = section.bottom_margin = Pt(styling.margin)
    normal = document.styles["Normal"]
    normal.font.size = Pt(styling.font_size)
    normal.paragraph_format.line_spacing = styling.line_spacing
    for level, size in enumerate(styling.heading_sizes, start=1):
        document.styles[f"Heading {level}"].font.size = Pt(size)
    for block in blocks:
        _add_to_docx(document, block)
    _describe(document.core_properties, title)
    return _saved(document)


def _saved(document: Any) -> DocumentFile:
    buffer = BytesIO()
    document.save(buffer)
    return DocumentFile(buffer.getvalue())


def _add_to_docx(document: Any, block: Block) -> None:
    from docx.shared import Pt

    match block:
        case Heading(level, spans):
            _runs(document.add_paragraph(style=f"Heading {level}"), spans)
        case Paragraph(spans, quoted):
            _runs(document.add_paragraph(style="Quote" if quoted else None), spans)
        case ListItem():
            _add_item(document, block)
        case CodeBlock(text):
            run = document.add_paragraph().add_run(text)
            run.font.name, run.font.size = _MONOSPACE, Pt(9)
        case TableBlock(rows):
            _docx_table(document, rows)
        case HorizontalRule():
            document.add_paragraph("―" * 20)


def _add_item(document: Any, item: ListItem) -> None:
    from docx.shared import Pt

    indent = Pt(18 * (item.depth + 1))
    if item.marker == "•":
        style = f"List Bullet {item.depth + 1}" if 0 < item.depth < 3 else "List Bullet"
        paragraph = document.add_paragraph(style=style)
        if item.depth >= 3:
            paragraph.paragraph_format.left_indent = indent
    else:
        # Word numbers all lists of one style through; written numbers are the ones meant.
        paragraph = document.add_paragraph(f"{item.marker} " if item.marker else "")
        paragraph.paragraph_format.left_indent = indent
        paragraph.paragraph_format.first_line_indent = Pt(-18) if item.marker else None
    _runs(paragraph, item.spans)


def _docx_table(document: Any, rows: tuple[tuple[Spans, ...], ...]) -> None:
    table = document.add_table(rows=0, cols=max(len(row) for row in rows), style="Table Grid")
    for number, row in enumerate(rows):
        cells = table.add_row().cells
        for cell, spans in zip(cells, row, strict=False):
            _runs(cell.paragraphs[0], spans, bold=number == 0)


def _runs(paragraph: Any, spans: Spans, *, bold: bool = False) -> None:
    for span in with_addresses(spans):
        run = paragraph.add_run()
        run.text = span.text
        run.font.bold = span.bold or bold or None
        run.font.italic = span.italic or None
        if span.code:
            run.font.name = _MONOSPACE
        # Slides have no such property in the library.
        if span.strike and hasattr(run.font, "strike"):
            run.font.strike = True


def _describe(properties: Any, title: str) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    properties.title, properties.author, properties.comments = title, "", ""
    properties.created = properties.modified = now


@dataclass(slots=True)
class _Slide:
    """A slide to be. ``lines`` are (depth, spans, whether code); a table has a slide of its own."""

    title: str
    lines: list[tuple[int, Spans, bool]] = field(default_factory=list[tuple[int, Spans, bool]])
    table: TableBlock | None = None
    opening: bool = False


def write_pptx(blocks: Sequence[Block], title: str, styling: Styling) -> DocumentFile:
    """A presentation: headings of the first two levels and rules begin slides; long ones go on."""
    from pptx import Presentation

    deck: Any = Presentation()
    for slide in _slides(blocks, title):
        _add_slide(deck, slide)
    _describe(deck.core_properties, title)
    return _saved(deck)


def _slides(blocks: Sequence[Block], title: str) -> Iterator[_Slide]:
    current = _Slide("")
    for block in blocks:
        match block:
            case Heading(level, spans) if level <= 2:
                yield from _paged(current)
                current = _Slide(words(spans), opening=level == 1)
            case HorizontalRule():
                yield from _paged(current)
                current = _Slide(current.title)
            case TableBlock():
                yield from _paged(current)
                yield _Slide(current.title, table=block)
                current = _Slide(current.title)
            case Heading(_, spans) | Paragraph(spans, _):
                current.lines.append((0, spans, False))
            case ListItem(depth, marker, spans):
                number = () if marker in ("", "•") else (TextSpan(f"{marker} "),)
                current.lines.append((min(depth, 4), (*number, *spans), False))
            case CodeBlock(text):
                current.lines.extend(
                    (0, (TextSpan(line, code=True),), True) for line in text.split("\n")
                )
    yield from _paged(current)


def _paged(slide: _Slide) -> Iterator[_Slide]:
    """A slide, split into several if its lines do not fit; none if it is empty."""
    if not slide.lines:
        if slide.opening:
            yield slide
        elif slide.title:
            yield _Slide(slide.title)
        return
    page, height = _Slide(slide.title), 0
    for line in slide.lines:
        height += 1 + len(words(line[1])) // _LETTERS_A_LINE
        if height > _LINES_A_SLIDE and page.lines:
            yield page
            page, height = _Slide(f"{slide.title} (continued)" if slide.title else ""), 1
        page.lines.append(line)
    yield page


def _add_slide(deck: Any, slide: _Slide) -> None:
    """Layouts of the standard template: 0 title, 1 title and content, 5 title only."""
    from pptx.util import Pt

    number = 0 if slide.opening and not slide.lines else 5 if slide.table else 1
    added = deck.slides.add_slide(deck.slide_layouts[number])
    added.shapes.title.text_frame.text = slide.title
    if slide.table is not None:
        _pptx_table(added.shapes, slide.table.rows)
        return
    if number == 0:
        return
    body = added.placeholders[1].text_frame
    for index, (depth, spans, code) in enumerate(slide.lines):
        paragraph = body.paragraphs[0] if index == 0 else body.add_paragraph()
        paragraph.level = depth
        _runs(paragraph, spans)
        paragraph.font.size = Pt(14 if code else 20)


def _pptx_table(shapes: Any, rows: Sequence[Sequence[Spans]]) -> None:
    from pptx.util import Inches, Pt

    columns = max(len(row) for row in rows)
    frame = shapes.add_table(
        len(rows), columns, Inches(0.5), Inches(1.6), Inches(9), Inches(0.4) * len(rows)
    )
    for r, row in enumerate(rows):
        for c, spans in enumerate(row):
            paragraph = frame.table.cell(r, c).text_frame.paragraphs[0]
            _runs(paragraph, spans, bold=r == 0)
            paragraph.font.size = Pt(14)
