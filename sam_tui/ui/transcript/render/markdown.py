"""Markdown blocks as rows.

Blank rows follow the source line by line (is there a blank line before this block or item?), never a
property of the whole list, so that a list drawn item by item looks like one drawn at once.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from rich.style import Style

from sam_tui.ui.transcript.render.colours import highlighter
from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.rows import Canvas, Lead, Span
from sam_tui.ui.transcript.render.safe_text import expand, safe_link
from sam_tui.ui.transcript.render.table import Cell, Shape, draw_rows, measure

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


_STYLES = {"strong": Style(bold=True), "em": Style(italic=True), "s": Style(strike=True)}
"""Styles by HTML element."""
_SHOWN_LINK = 100


def spans_of(tokens: Sequence["Token"], palette: Palette, style: Style) -> list[list[Span]]:
    """The lines of one inline token's children; ``style`` is the paragraph's."""
    walk = _Inline(palette, style)
    for token in tokens:
        walk.take(token)
    return walk.lines


class _Inline:
    def __init__(self, palette: Palette, style: Style) -> None:
        self.lines: list[list[Span]] = [[]]
        self._palette = palette
        self._styles = [style]
        self._links: list[tuple[str, int, int]] = []

    def take(self, token: "Token") -> None:
        """One token; unknown ones are shown by their content, never dropped."""
        match token.type:
            case "softbreak":
                self._say(" ")
            case "hardbreak":
                self.lines.append([])
            case "code_inline":
                top = self._styles[-1]
                self._say(token.content, self._palette.code + _emphasis(top))
            case "strong_open" | "em_open" | "s_open":
                self._styles.append(self._styles[-1] + _STYLES[token.tag])
            case "strong_close" | "em_close" | "s_close":
                self._styles.pop()
            case "link_open":
                self._open_link(str(token.attrs.get("href", "")))
            case "link_close":
                self._close_link()
            case "image":
                self._picture(token)
            case _:
                self._say(token.content)

    def _picture(self, token: "Token") -> None:
        """An image is a link with its description."""
        self._open_link(str(token.attrs.get("src", "")))
        self._say(f"▣ {token.content or 'image'}")
        self._close_link()

    def _say(self, text: str, style: Style | None = None) -> None:
        if text:
            self.lines[-1].append((expand(text), style or self._styles[-1]))

    def _open_link(self, address: str) -> None:
        self._links.append((address, len(self.lines) - 1, len(self.lines[-1])))
        style = self._styles[-1] + self._palette.link
        safe = safe_link(address)
        self._styles.append(style + Style(link=safe) if safe else style)

    def _close_link(self) -> None:
        """Show a link's address, unless its text is the address, so that nobody clicks without it."""
        address, line, start = self._links.pop()
        self._styles.pop()
        label = "".join(text for text, _ in self.lines[line][start:])
        if address and address not in (label, f"mailto:{label}"):
            short = address if len(address) <= _SHOWN_LINK else address[: _SHOWN_LINK - 1] + "…"
            self._say(f" ({short})", self._palette.dim)


def _emphasis(style: Style) -> Style:
    return Style(bold=style.bold, italic=style.italic, strike=style.strike)


DEEPEST = 40
"""The most nesting levels that are parsed; deeper text is shown unformatted."""

_HIDDEN_RULES = ["html_block", "html_inline", "reference"]
"""HTML is shown as text. A reference definition could change text that is already drawn."""


@cache
def parser() -> "MarkdownIt":
    """The Markdown parser: CommonMark, tables and strike-through."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": DEEPEST})
    return markdown.enable(["strikethrough", "table"]).disable(_HIDDEN_RULES)


@cache
def block_parser() -> "MarkdownIt":
    """The same, without the inside of paragraphs: for finding where blocks begin."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": DEEPEST})
    markdown.enable(["strikethrough", "table"]).disable(_HIDDEN_RULES)
    markdown.core.ruler.enableOnly(["normalize", "block"])
    return markdown


def draw_markdown(canvas: Canvas, source: str, number: int | None = None) -> None:
    """Draw a document, or a part of one. ``number`` overrides that of a list's first item."""
    tokens = parser().parse(source)
    if any(token.level >= DEEPEST - 2 for token in tokens):
        draw_plain(canvas, source)
        return
    _Blocks(canvas, source.split("\n")).draw(tokens, number)


def draw_plain(canvas: Canvas, source: str) -> None:
    """Draw text without formatting."""
    for line in source.rstrip("\n").expandtabs(4).split("\n"):
        canvas.line([(line, canvas.palette.text)])


def table_cells(tokens: Sequence["Token"], palette: Palette) -> tuple[list[list[Cell]], list[str]]:
    """The rows (header first) and the sides of the columns, of the tokens of one table."""
    rows: list[list[Cell]] = []
    sides: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            sides.append(str(token.attrs.get("style", "")).rpartition(":")[2] or "left")
        elif token.type == "inline":
            style = palette.heading if len(rows) == 1 else palette.text
            lines = spans_of(token.children or (), palette, style)
            rows[-1].append([span for line in lines for span in line])
    return rows, sides


def code_lines(canvas: Canvas, lines: Sequence[Sequence[Span]]) -> None:
    """Draw lines of code on their own ground."""
    ground = canvas.palette.block
    edge = (" ", ground)
    canvas.push(Lead(edge, edge))
    for line in lines:
        canvas.line(line, fill=ground)
    canvas.pop()


def code_label(canvas: Canvas, language: str) -> None:
    """The row over a code block that names its language; it is no content."""
    if language:
        canvas.ornament((language, canvas.palette.faint))


def language_of(info: str) -> str:
    """The language that a fence names, at most 20 characters."""
    return (info.split() or [""])[0][:20]


_TASK = re.compile(r"\[([ xX])\] ")
"""The beginning of a task list's item."""


class _Blocks:
    """One walk over block tokens."""

    def __init__(self, canvas: Canvas, lines: list[str]) -> None:
        self._canvas = canvas
        self._palette = canvas.palette
        self._lines = lines
        self._begun = False
        self._numbers: list[int | None] = []
        self._style = [canvas.palette.text]
        self._pushed: list[bool] = []

    def draw(self, tokens: Sequence["Token"], number: int | None) -> None:
        """Draw all blocks; ``number`` is the first ordered list's."""
        index = 0
        while index < len(tokens):
            token = tokens[index]
            end = _closing(tokens, index) if token.type == "table_open" else index
            if token.type == "table_open":
                self._gap(token)
                self._table(tokens[index:end])
            else:
                if token.type == "ordered_list_open" and number is not None:
                    token.attrs["start"] = number
                    number = None
                self._take(token, tokens[index + 1] if index + 1 < len(tokens) else token)
            index = end + 1

    def _take(self, token: "Token", following: "Token") -> None:
        if token.nesting == -1:
            self._leave(token)
            return
        if token.type in ("inline", "list_item_open", "bullet_list_open", "ordered_list_open"):
            self._take_list(token)
            return
        self._gap(token)
        match token.type:
            case "paragraph_open":
                self._inline(following)
            case "heading_open":
                self._style.append(self._palette.heading)
                self._inline(following)
                self._style.pop()
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                rule = "─" * min(self._canvas.room, 40)
                self._canvas.line([(rule, self._palette.faint)])
            case "blockquote_open":
                bar = ("│ ", self._palette.gutter)
                self._push(Lead(bar, bar, "> ", "> "))
                self._style.append(self._palette.quote)
            case _:
                self._canvas.line([(token.content, self._palette.text)])

    def _take_list(self, token: "Token") -> None:
        match token.type:
            case "list_item_open":
                self._item(token)
            case "bullet_list_open" | "ordered_list_open":
                if token.level == 0:
                    self._gap(token)
                    self._begun = False
                ordered = token.type == "ordered_list_open"
                self._numbers.append(int(token.attrs.get("start", 1)) if ordered else None)
            case _:
                return

    def _leave(self, token: "Token") -> None:
        match token.type:
            case "blockquote_close":
                if not self._canvas.leads[-1].used:
                    self._canvas.line(())
                self._style.pop()
                self._pop()
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_close":
                if not self._canvas.leads[-1].used:
                    self._canvas.line(())
                self._pop()
            case _:
                return

    def _push(self, lead: Lead) -> None:
        self._pushed.append(self._canvas.push(lead))

    def _pop(self) -> None:
        if self._pushed.pop():
            self._canvas.pop()

    def _gap(self, token: "Token") -> None:
        """A blank row where the source has a blank line, and between blocks that are no list."""
        started, self._begun = self._begun, True
        if not started or token.map is None:
            return
        if len(self._canvas.leads) > 1 and not self._canvas.leads[-1].used:
            return
        above = self._lines[token.map[0] - 1] if token.map[0] else ""
        if token.level == 0 or not above.strip(" \t>"):
            self._canvas.blank()

    def _item(self, token: "Token") -> None:
        self._gap(token)
        number = self._numbers[-1]
        style = self._palette.accent
        if number is None:
            self._push(Lead(("• ", style), ("  ", style), "- ", "  "))
            return
        self._numbers[-1] = number + 1
        label = f"{number}. "
        blank = " " * len(label)
        self._push(Lead((label, style), (blank, style), label, blank))

    def _inline(self, token: "Token") -> None:
        lead, children = self._canvas.leads[-1], token.children
        if children and lead.first_copy == "- " and not lead.used:
            task = _TASK.match(children[0].content)
            if task is not None:
                done = task[1] != " "
                glyph = ("✓ ", self._palette.good) if done else ("○ ", self._palette.dim)
                lead.first, lead.first_copy = glyph, f"- {task[0]}"
                children[0].content = children[0].content[len(task[0]) :]
        for line in spans_of(token.children or (), self._palette, self._style[-1]):
            self._canvas.line(line)

    def _code(self, token: "Token") -> None:
        language = language_of(token.info)
        code_label(self._canvas, language)
        text = token.content.removesuffix("\n").expandtabs(4)
        code_lines(self._canvas, highlighter(language, self._palette).feed(text))

    def _table(self, tokens: Sequence["Token"]) -> None:
        rows, sides = table_cells(tokens, self._palette)
        shape: Shape = measure(rows, sides)
        draw_rows(self._canvas, shape, rows[:1], header=True)
        draw_rows(self._canvas, shape, rows[1:])


def _closing(tokens: Sequence["Token"], index: int) -> int:
    level = tokens[index].level
    for end in range(index + 1, len(tokens)):
        if tokens[end].level == level and tokens[end].nesting == -1:
            return end
    return len(tokens) - 1
