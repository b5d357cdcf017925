"""Blocks -> PDF, with the built-in fonts for Western text and the system's fonts for other characters."""

import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sam_tui.adapters.documents.writers.blocks import (
    Block,
    CodeBlock,
    Heading,
    HorizontalRule,
    ListItem,
    Paragraph,
    Spans,
    TableBlock,
)
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DocumentFile, Styling

if TYPE_CHECKING:
    from reportlab.lib.styles import ParagraphStyle


_FOLDERS = (
    "/usr/share/fonts/truetype/dejavu",
    "/usr/share/fonts/dejavu-sans-fonts",
    "/usr/share/fonts/TTF",
    "/usr/share/fonts/truetype/noto",
    "/usr/share/fonts/noto",
    "/usr/share/fonts/truetype/freefont",
    "/usr/share/fonts/truetype/liberation",
    "/System/Library/Fonts/Supplemental",
    "/Library/Fonts",
)
_FILES = (
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "FreeSans.ttf",
    "LiberationSans-Regular.ttf",
    "Arial Unicode.ttf",
    "NotoSansSymbols2-Regular.ttf",
    "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf",
    "NotoSansDevanagari-Regular.ttf",
)
_EAST_ASIAN = {"kana": "HeiseiMin-W3", "hangul": "HYSMyeongJo-Medium", "han": "STSong-Light"}
"""The font for each script. PDF readers have these fonts or fetch them, so they are named, not embedded."""


class Faces:
    """Chooses a font for each character. ``missing`` collects characters that no font has."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def runs(self, text: str) -> Iterator[tuple[str, str]]:
        """Stretches of text with the font for each; an empty name for the built-in font."""
        for font, letters in groupby(text, self._font):
            run = "".join(letters)
            if font is None:
                self.missing.update(run)
                yield "", "?" * len(run)
            else:
                yield font, run

    def _font(self, character: str) -> str | None:
        if _western(character):
            return ""
        script = _script(character)
        if script:
            return _east_asian(_EAST_ASIAN[script])
        return next((name for name, glyphs in _system_fonts() if ord(character) in glyphs), None)


@cache
def _western(character: str) -> bool:
    try:
        character.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _script(character: str) -> str:
    point = ord(character)
    if 0x3040 <= point <= 0x30FF:
        return "kana"
    if 0xAC00 <= point <= 0xD7A3 or 0x1100 <= point <= 0x11FF:
        return "hangul"
    wide = 0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF
    return "han" if wide or 0x3000 <= point <= 0x303F or 0xFF00 <= point <= 0xFFEF else ""


@cache
def _east_asian(name: str) -> str:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    cast("Any", pdfmetrics).registerFont(UnicodeCIDFont(name))
    return name


@cache
def _system_fonts() -> list[tuple[str, Any]]:
    """Return the first existing file of each known font, by name, with the characters it has."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFError, TTFont

    fonts: list[tuple[str, Any]] = []
    for file in _FILES:
        path = next((p for f in _FOLDERS if (p := Path(f) / file).is_file()), None)
        if path is None:
            continue
        name = path.stem.replace(" ", "")
        try:
            font: Any = TTFont(name, str(path))
        except (TTFError, OSError, ValueError):
            continue
        cast("Any", pdfmetrics).registerFont(font)
        fonts.append((name, font.face.charToGlyph))
    return fonts


_INDENT = 18.0
_LINKS = ("http://", "https://", "mailto:")


def write_pdf(blocks: Sequence[Block], title: str, styling: Styling) -> DocumentFile:
    """A PDF on pages of the given size, numbered at the foot."""
    from reportlab.platypus import SimpleDocTemplate
    from reportlab.platypus.doctemplate import LayoutError

    buffer = BytesIO()
    page = _Page(styling)
    document = SimpleDocTemplate(
        buffer,
        pagesize=(styling.page_width, styling.page_height),
        leftMargin=styling.margin,
        rightMargin=styling.margin,
        topMargin=styling.margin,
        bottomMargin=styling.margin,
        title=title,
        author="",
        creator="sam-tui",
    )
    story = [flowable for block in blocks for flowable in page.flowables(block)]
    try:
        document.build(story, onFirstPage=_numbered, onLaterPages=_numbered)
    except (LayoutError, ValueError):
        hint = "Use a larger page, smaller text, or tables with fewer columns."
        raise ToolError("The content does not fit on the page.", hint=hint) from None
    missing = "".join(sorted(page.faces.missing))
    notes = (f"no font here shows {missing[:40]}: written as ?",) if missing else ()
    return DocumentFile(buffer.getvalue(), notes)


def _numbered(canvas: Any, document: Any) -> None:
    canvas.saveState()
    canvas.setFont("Helvetica", 9)
    canvas.drawCentredString(
        document.pagesize[0] / 2, document.bottomMargin / 2, str(document.page)
    )
    canvas.restoreState()


class _Page:
    """The styles and the page of one document."""

    def __init__(self, styling: Styling) -> None:
        self._styling = styling
        self.faces = Faces()

    def flowables(self, block: Block) -> Iterator[Any]:
        from reportlab.lib.colors import grey
        from reportlab.platypus import HRFlowable
        from reportlab.platypus import Paragraph as Lines

        size = self._styling.font_size
        match block:
            case Heading(level, spans):
                yield Lines(self._marked(spans, bold=True), self._heading(level))
            case Paragraph(spans, quoted):
                style = self._style(left=_INDENT if quoted else 0.0)
                yield Lines(self._marked(spans), style)
            case ListItem(depth, marker, spans):
                style = self._style(left=_INDENT * (depth + 1), after=size * 0.25)
                # The built-in font has a bullet, but one that cannot be copied out again.
                bullet = escape(marker).replace("•", "–") or None
                yield Lines(self._marked(spans), style, bulletText=bullet)
            case CodeBlock(text):
                yield self._code(text)
            case TableBlock(rows):
                yield self._table(rows)
            case HorizontalRule():
                yield HRFlowable(
                    width="100%", color=grey, spaceBefore=size / 2, spaceAfter=size / 2
                )

    def _style(
        self,
        *,
        left: float = 0.0,
        size: float = 0.0,
        before: float = 0.0,
        after: float | None = None,
    ) -> "ParagraphStyle":
        from reportlab.lib.styles import ParagraphStyle

        points = size or self._styling.font_size
        return ParagraphStyle(
            "text",
            fontName="Helvetica",
            fontSize=points,
            leading=points * max(self._styling.line_spacing, 1.0) * 1.05,
            leftIndent=left,
            bulletIndent=max(left - _INDENT, 0.0),
            spaceBefore=before,
            spaceAfter=points * 0.6 if after is None else after,
            splitLongWords=1,
            allowWidows=0,
            allowOrphans=0,
        )

    def _heading(self, level: int) -> "ParagraphStyle":
        sizes = self._styling.heading_sizes
        size = sizes[level - 1] if level <= len(sizes) else self._styling.font_size
        style = self._style(size=size, before=size * 0.6, after=size * 0.4)
        style.keepWithNext = 1
        return style

    def _marked(self, spans: Spans, *, bold: bool = False) -> str:
        """Spans in reportlab's markup; all that came from outside is escaped."""
        out: list[str] = []
        for span in spans:
            text = "".join(self._run(font, run) for font, run in self.faces.runs(span.text))
            if span.code:
                text = f'<font face="Courier">{text}</font>'
            if span.bold or bold:
                text = f"<b>{text}</b>"
            if span.italic:
                text = f"<i>{text}</i>"
            if span.strike:
                text = f"<strike>{text}</strike>"
            if span.link.startswith(_LINKS):
                text = f'<a href="{escape(span.link)}" color="blue">{text}</a>'
            out.append(text)
        return "".join(out)

    def _run(self, font: str, text: str) -> str:
        plain = escape(text).replace("\n", "<br/>")
        return f'<font face="{font}">{plain}</font>' if font else plain

    def _code(self, text: str) -> object:
        from reportlab.lib.colors import whitesmoke
        from reportlab.platypus import XPreformatted

        style = self._style(size=self._styling.font_size * 0.8)
        style.fontName, style.backColor, style.borderPadding = "Courier", whitesmoke, 4
        room = self._styling.page_width - 2 * self._styling.margin
        across = max(int(room / (style.fontSize * 0.6)) - 1, 10)
        lines = [
            piece
            for line in text.expandtabs(4).split("\n")
            for piece in (textwrap.wrap(line, across, drop_whitespace=False) or [""])
        ]
        marked = ["".join(self._run(f, run) for f, run in self.faces.runs(line)) for line in lines]
        return XPreformatted("\n".join(marked), style)

    def _table(self, rows: tuple[tuple[Spans, ...], ...]) -> object:
        from reportlab.lib.colors import grey, whitesmoke
        from reportlab.platypus import Paragraph as Lines
        from reportlab.platypus import Table as Grid

        style = self._style(size=self._styling.font_size * 0.9, after=0.0)
        cells = [
            [Lines(self._marked(cell, bold=number == 0), style) for cell in row]
            for number, row in enumerate(rows)
        ]
        room = self._styling.page_width - 2 * self._styling.margin - 12
        columns = max(len(row) for row in rows)
        grid = Grid(cells, colWidths=[room / columns] * columns, repeatRows=1, splitInRow=1)
        grid.setStyle([
            ("GRID", (0, 0), (-1, -1), 0.5, grey),
            ("BACKGROUND", (0, 0), (-1, 0), whitesmoke),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ])
        grid.spaceAfter = self._styling.font_size
        return grid
