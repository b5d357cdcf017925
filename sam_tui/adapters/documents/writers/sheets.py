"""Blocks -> an Excel workbook: a sheet for each section, tables as cells with numbers."""

import csv
import re
from collections.abc import Sequence
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
    words,
)
from sam_tui.core.ports.documents import DocumentFile, Styling

_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14}|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]{1,15})?")
_FORMULA = re.compile(r"=[A-Z0-9$:,;.()+\-*/^<>=& ]{1,200}")
_FUNCTION = re.compile(r"([A-Z][A-Z0-9.]*)\(")
_COMPUTING = frozenset(
    {
        "SUM", "AVERAGE", "MIN", "MAX", "COUNT", "COUNTA", "COUNTIF", "SUMIF", "ROUND", "ROUNDUP",
        "ROUNDDOWN", "IF", "AND", "OR", "NOT", "ABS", "MEDIAN", "PRODUCT", "SQRT", "POWER", "MOD",
        "INT", "STDEV", "VAR",
    }
)  # fmt: skip
"""Functions that only compute a value. A formula with any other function is written as text."""
_LONGEST_CELL = 32_767
_WIDEST = 60


def write_xlsx(blocks: Sequence[Block], title: str, styling: Styling) -> DocumentFile:
    """A workbook; text that is one table of commas or tabs becomes one sheet."""
    from openpyxl import Workbook

    book: Any = Workbook()
    sheets = _Sheets(book, title)
    for block in blocks:
        sheets.add(block)
    sheets.finish()
    book.properties.title, book.properties.creator = title, "sam-tui"
    buffer = BytesIO()
    book.save(buffer)
    return DocumentFile(buffer.getvalue())


def separated(content: str) -> list[Block] | None:
    """CSV or tab-separated text as one table, or None where it is not such text."""
    lines = content.strip().splitlines()
    for delimiter in "\t,;":
        counts = {line.count(delimiter) for line in lines}
        if len(lines) > 1 and 0 not in counts:
            rows = list(csv.reader(lines, delimiter=delimiter))
            if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
                return [TableBlock(tuple(tuple(_plain(cell) for cell in row) for row in rows))]
    return None


class _Sheets:
    """The sheet being written, and those finished."""

    def __init__(self, book: Any, title: str) -> None:
        self._book = book
        self._sheet = book.active
        self._sheet.title = _sheet_name(title, [])
        self._row = 0
        self._widths: dict[int, int] = {}

    def add(self, block: Block) -> None:
        match block:
            case Heading(level, spans) if level <= 2:
                self._begin(words(spans))
            case Heading(_, spans):
                self._line(words(spans), bold=True)
            case TableBlock(rows):
                self._table(rows)
            case CodeBlock(text):
                for line in text.split("\n"):
                    self._line(line)
            case HorizontalRule():
                self._row += 1
            case ListItem(depth, marker, spans):
                self._line("  " * depth + f"{marker} {words(spans)}".strip())
            case Paragraph(spans, _):
                self._line(words(spans))

    def finish(self) -> None:
        """Give the last sheet its column widths."""
        from openpyxl.utils import get_column_letter

        for column, width in self._widths.items():
            self._sheet.column_dimensions[get_column_letter(column)].width = min(width + 2, _WIDEST)

    def _begin(self, name: str) -> None:
        """A sheet for a section; one without content yet only takes the name."""
        others = [sheet.title for sheet in self._book.worksheets if sheet is not self._sheet]
        if self._row == 0:
            self._sheet.title = _sheet_name(name, others)
            return
        self.finish()
        self._sheet = self._book.create_sheet(_sheet_name(name, [*others, self._sheet.title]))
        self._row, self._widths = 0, {}

    def _line(self, text: str, *, bold: bool = False) -> None:
        self._row += 1
        self._put(1, text, bold=bold, typed=False)

    def _table(self, rows: tuple[tuple[Spans, ...], ...]) -> None:
        if self._row:
            self._row += 1
        else:
            self._sheet.freeze_panes = "A2"
        for number, row in enumerate(rows):
            self._row += 1
            for column, cell in enumerate(row, start=1):
                self._put(column, words(cell), bold=number == 0, typed=number > 0)
                self._widths[column] = max(self._widths.get(column, 0), len(words(cell)))

    def _put(self, column: int, text: str, *, bold: bool, typed: bool) -> None:
        from openpyxl.styles import Font

        cell = self._sheet.cell(row=self._row, column=column)
        number = text.strip()
        if typed and _NUMBER.fullmatch(number):
            plain = number.replace(",", "")
            cell.value = float(plain) if "." in plain else int(plain)
        elif typed and _reckons(number):
            cell.value = number
        else:
            cell.value = text[:_LONGEST_CELL]
            cell.data_type = "s"  # also where it begins with "=": text from outside stays text
        if bold:
            cell.font = Font(bold=True)


def _reckons(text: str) -> bool:
    return bool(_FORMULA.fullmatch(text)) and set(_FUNCTION.findall(text)) <= _COMPUTING


def _sheet_name(title: str, names: Sequence[str]) -> str:
    """A name as Excel allows it: 31 characters, none of []:*?/\\, no two alike."""
    plain = " ".join(_FORBIDDEN.sub(" ", title).split())[:31] or "Sheet"
    used = {name.lower() for name in names}
    name, number = plain, 2
    while name.lower() in used:
        name, number = f"{plain[:27]} {number}", number + 1
    return name


def _plain(text: str) -> Spans:
    return (TextSpan(text),)
