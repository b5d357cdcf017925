"""Blocks -> plain text and rich text (RTF 1.9), both without any library."""

import textwrap
from collections.abc import Iterator, Sequence

from sam_tui.adapters.documents.writers.blocks import (
    Block,
    CodeBlock,
    Heading,
    HorizontalRule,
    ListItem,
    Paragraph,
    Spans,
    TableBlock,
    with_addresses,
    words,
)
from sam_tui.core.ports.documents import DocumentFile, Styling

_WIDTH = 88
_TWIPS = 20
"""Twips in a point; RTF measures lengths in twips."""


def write_txt(blocks: Sequence[Block], title: str, styling: Styling) -> DocumentFile:
    """Text wrapped at 88 columns, headings underlined, tables in columns."""
    lines: list[str] = []
    before: Block | None = None
    for block in blocks:
        if lines and not (isinstance(block, ListItem) and isinstance(before, ListItem)):
            lines.append("")
        lines.extend(_lines(block))
        before = block
    return DocumentFile(("\n".join(lines) + "\n").encode())


_LEADS = {"•": "- ", "": "  "}
"""The text in front of a list item, by its marker; other markers are written as they are."""


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(level, spans):
            yield words(spans)
            yield ("=" if level == 1 else "-") * min(len(words(spans)), _WIDTH)
        case Paragraph(spans, quoted):
            mark = "> " if quoted else ""
            yield from _wrapped(_words_with_addresses(spans), mark, mark)
        case ListItem(depth, marker, spans):
            first = "  " * depth + _LEADS.get(marker, f"{marker} ")
            yield from _wrapped(_words_with_addresses(spans), first, " " * len(first))
        case CodeBlock(text):
            yield "    " + text.replace("\n", "\n    ")
        case TableBlock(rows):
            yield from _columns([list(map(_words_with_addresses, row)) for row in rows])
        case HorizontalRule():
            yield "-" * _WIDTH


def _words_with_addresses(spans: Spans) -> str:
    return words(with_addresses(spans))


def _wrapped(text: str, first: str, indent: str) -> Iterator[str]:
    for number, line in enumerate(text.split("\n")):
        lead = first if number == 0 else indent
        filled = textwrap.wrap(
            line, _WIDTH, initial_indent=lead, subsequent_indent=indent, break_long_words=False
        )
        yield from filled or [lead.rstrip()]


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    width = max(map(len, rows))
    filled = [[*row, *[""] * (width - len(row))] for row in rows]
    widths = [max(len(row[i]) for row in filled) for i in range(width)]
    for number, row in enumerate(filled):
        yield "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
        if number == 0:
            yield "  ".join("-" * size for size in widths)


def write_rtf(blocks: Sequence[Block], title: str, styling: Styling) -> DocumentFile:
    """Rich text that every word processor opens."""
    size = round(styling.font_size * 2)
    page = styling.page_width, styling.page_height
    head = (
        r"{\rtf1\ansi\ansicpg1252\uc1\deff0"
        r"{\fonttbl{\f0\fswiss Helvetica;}{\f1\fmodern Courier New;}}"
        rf"{{\info{{\title {_escaped(title)}}}}}"
        rf"\paperw{round(page[0] * _TWIPS)}\paperh{round(page[1] * _TWIPS)}"
        + "".join(rf"\marg{side}{round(styling.margin * _TWIPS)}" for side in "lrtb")
        + "\n"
    )
    spacing = rf"\sl{round(240 * styling.line_spacing)}\slmult1"
    body = "".join(_rtf(block, size, spacing, styling) for block in blocks)
    return DocumentFile((head + body + "}\n").encode("ascii"))


def _rtf(block: Block, size: int, spacing: str, styling: Styling) -> str:
    start = rf"\pard{spacing}\sa{size * 6}\f0\fs{size}"
    match block:
        case Heading(level, spans):
            sizes = styling.heading_sizes
            big = round(sizes[level - 1] * 2) if level <= len(sizes) else size
            return (
                rf"\pard\keepn\sb{big * 5}\sa{big * 4}\f0\fs{big}\b {_looks(spans)}\b0\par" + "\n"
            )
        case Paragraph(spans, quoted):
            hung = r"\li360" if quoted else ""
            return rf"{start}{hung} {_looks(spans)}\par" + "\n"
        case ListItem(depth, marker, spans):
            hung, lead = (r"\fi-360", _escaped(marker) + r"\tab ") if marker else ("", "")
            return rf"{start}\li{360 * (depth + 1)}{hung} {lead}{_looks(spans)}\par" + "\n"
        case CodeBlock(text):
            return rf"\pard\sa{size * 6}\f1\fs{round(size * 0.8)} {_escaped(text)}\par" + "\n"
        case TableBlock(rows):
            return _rtf_table(rows, size, styling)
        case HorizontalRule():
            return r"\pard\brdrb\brdrs\brdrw10\par" + "\n"


def _rtf_table(rows: tuple[tuple[Spans, ...], ...], size: int, styling: Styling) -> str:
    columns = max(len(row) for row in rows)
    room = (styling.page_width - 2 * styling.margin) * _TWIPS
    edges = "".join(
        "".join(rf"\clbrdr{side}\brdrs\brdrw10" for side in "tlbr")
        + rf"\cellx{round(room * (column + 1) / columns)}"
        for column in range(columns)
    )
    out: list[str] = []
    for number, row in enumerate(rows):
        filled = [*row, *[()] * (columns - len(row))]
        bold, plain = (r"\b ", r"\b0") if number == 0 else ("", "")
        cells = "".join(rf"\intbl {bold}{_looks(cell)}{plain}\cell " for cell in filled)
        out.append(rf"\trowd\trgaph108{edges}\pard\f0\fs{size}{cells}\row" + "\n")
    return "".join(out) + rf"\pard\sa{size * 6}\par" + "\n"


def _looks(spans: Spans) -> str:
    return "".join(_look(span.text, span.bold, span.italic, span.code, span.strike)
                   for span in with_addresses(spans))  # fmt: skip


def _look(text: str, bold: bool, italic: bool, code: bool, strike: bool) -> str:
    words_ = (r"\b", bold), (r"\i", italic), (r"\f1", code), (r"\strike", strike)
    codes = "".join(word for word, active in words_ if active)
    return f"{{{codes} {_escaped(text)}}}" if codes else _escaped(text)


def _escaped(text: str) -> str:
    """Return text in ASCII: RTF's own signs escaped, other characters as UTF-16 units followed by ``?``."""
    out: list[str] = []
    for character in text:
        if character in "\\{}":
            out.append("\\" + character)
        elif character == "\n":
            out.append(r"\line ")
        elif character == "\t":
            out.append(r"\tab ")
        elif " " <= character <= "~":
            out.append(character)
        else:
            data = character.encode("utf-16-le", "replace")
            units = (int.from_bytes(data[i : i + 2], "little", signed=True) for i in (0, 2))
            out.extend(rf"\u{unit}?" for unit, _ in zip(units, range(len(data) // 2), strict=False))
    return "".join(out)
