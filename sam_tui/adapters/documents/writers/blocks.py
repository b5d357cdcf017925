"""Markdown -> a flat list of blocks, which every writer walks in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A stretch of text in one look. ``link`` is where it leads, or empty."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    link: str = ""


Spans = tuple[TextSpan, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6."""

    level: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; ``quoted`` inside a quotation."""

    spans: Spans
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item, or with an empty ``marker`` its further text. ``depth`` counts from 0."""

    depth: int
    marker: str
    spans: Spans


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Text that is kept unchanged, line by line."""

    text: str


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows of cells, all of one length; the first row is the header."""

    rows: tuple[tuple[Spans, ...], ...]


@dataclass(frozen=True, slots=True)
class HorizontalRule:
    """A line across the page."""


Block = Heading | Paragraph | ListItem | CodeBlock | TableBlock | HorizontalRule


def parse(content: str) -> list[Block]:
    """The blocks of a Markdown text (CommonMark with tables); HTML in it is text."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return list(_Walk().blocks(reader.parse(content)))


def words(spans: Spans) -> str:
    """Spans without their looks."""
    return "".join(span.text for span in spans)


def with_addresses(spans: Spans) -> Spans:
    """Spans where a link is followed by its address, for formats that cannot hide it."""
    return tuple(
        replace(span, text=f"{span.text} ({span.link})")
        if span.link and span.link not in (span.text, f"mailto:{span.text}")
        else span
        for span in spans
    )


@dataclass(slots=True)
class _List:
    ordered: bool
    next: int

    def take_marker(self) -> str:
        """The marker of the next item."""
        self.next += 1
        return f"{self.next - 1}." if self.ordered else "•"


@dataclass(slots=True)
class _Walk:
    """The state of the walk over the tokens."""

    lists: list[_List] = field(default_factory=list[_List])
    marker: str = ""
    quotes: int = 0
    heading: int = 0
    rows: list[list[Spans]] = field(default_factory=list[list[Spans]])
    in_table: bool = False

    def blocks(self, tokens: Sequence["Token"]) -> Iterator[Block]:
        for token in tokens:
            match token.type:
                case "inline":
                    yield from self._inline(_spans(token.children or []))
                case "fence" | "code_block":
                    yield CodeBlock(token.content.rstrip("\n"))
                case "hr":
                    yield HorizontalRule()
                case "table_close":
                    self.in_table = False
                    yield TableBlock(tuple(tuple(row) for row in self.rows))
                case _:
                    self._enter(token)

    def _inline(self, spans: Spans) -> Iterator[Block]:
        if self.in_table:
            self.rows[-1].append(spans)
        elif self.heading:
            yield Heading(self.heading, spans)
        elif self.lists:
            marker, self.marker = self.marker, ""
            yield ListItem(len(self.lists) - 1, marker, spans)
        else:
            yield Paragraph(spans, self.quotes > 0)

    def _enter(self, token: "Token") -> None:
        match token.type:
            case "heading_open":
                self.heading = int(token.tag[1:])
            case "heading_close":
                self.heading = 0
            case "bullet_list_open" | "ordered_list_open":
                start = int(token.attrs.get("start", 1))
                self.lists.append(_List(ordered=token.tag == "ol", next=start))
            case "bullet_list_close" | "ordered_list_close":
                self.lists.pop()
            case "list_item_open":
                self.marker = self.lists[-1].take_marker()
            case "blockquote_open" | "blockquote_close":
                self.quotes += token.nesting
            case "table_open":
                self.in_table, self.rows = True, []
            case "tr_open":
                self.rows.append([])
            case _:
                pass


_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}
_BREAKS = {"softbreak": " ", "hardbreak": "\n"}


def _spans(tokens: Sequence["Token"]) -> Spans:
    spans: list[TextSpan] = []
    look = TextSpan("")
    for token in tokens:
        mark = token.type.rpartition("_")[0]
        match token.type:
            case _ if mark in _MARKS:
                look = replace(look, **{_MARKS[mark]: token.nesting > 0})
            case "link_open" | "link_close":
                look = replace(look, link=str(token.attrs.get("href", "")))
            case "code_inline":
                spans.append(replace(look, text=token.content, code=True))
            case "softbreak" | "hardbreak":
                spans.append(replace(look, text=_BREAKS[token.type]))
            case "image":
                spans.append(replace(look, text=f"[image: {token.content}]"))
            case _:
                spans.append(replace(look, text=token.content))
    return tuple(span for span in spans if span.text)
