"""Cuts Markdown that arrives in pieces into blocks that no later text can change.

A block is finished once a later one begins on the same level. Inside the last one, which is open, list
items, table rows and lines of fenced code are finished early. The cuts depend on the text alone, never
on its delivery.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from markdown_it.token import Token


from sam_tui.ui.transcript.blocks import CodeContent, Content, Markdown, Piece, Plain, TableRows
from sam_tui.ui.transcript.render.markdown import block_parser, language_of
from sam_tui.ui.transcript.render.table import SAMPLE

LONGEST = 16_384
"""Characters of one block that are parsed as Markdown; a longer one is shown as plain text."""

CHUNK = 100
"""The lines of code in one piece."""
MOST_ROWS = 1_000
"""The rows of a table in one piece, after the first rows."""

_BEFORE = 30
"""How many lines of the previous piece the lexer reads again."""

_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")


@dataclass(slots=True)
class _Fence:
    """An open code fence."""

    marker: str
    indent: int
    language: str
    lines: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    label: bool = True

    def closed_by(self, line: str) -> bool:
        """Whether the line is this fence's end."""
        stripped = line.strip(" \t")
        return (
            len(line) - len(line.lstrip(" ")) < 4
            and len(stripped) >= len(self.marker)
            and not stripped.strip(self.marker[0])
        )

    def dedented(self, line: str) -> str:
        """A line of content without the indentation of the fence itself."""
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(spaces, self.indent) :]


class Splitter:
    """Splits an answer into pieces while it streams."""

    def __init__(self) -> None:
        self._buffer = ""
        self._mode: Literal["blocks", "fence", "table", "plain"] = "blocks"
        self._fence = _Fence("```", 0, "")
        self._head = ""
        self._sample = ""
        self._rows: list[str] = []
        """Rows of the open table that are in no piece yet."""
        self._number: int | None = None
        self._gap = 1
        self._out: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        """Add text; returns the pieces that are complete with it."""
        # In parts, so that each one parsed is small, however long the text is.
        for start in range(0, len(text), LONGEST):
            part = text[start : start + LONGEST]
            self._buffer += part
            if "\n" in part or len(self._buffer) > LONGEST:
                self._run(final=False)
        return self._taken()

    def finish(self) -> list[Piece]:
        """End the answer; returns the remaining pieces."""
        if self._buffer and not self._buffer.endswith("\n"):
            self._buffer += "\n"
        self._run(final=True)
        if self._mode == "fence":
            self._emit_code(len(self._fence.lines), force=True)
        elif self._mode == "table":
            self._emit_rows()
        elif self._mode == "plain" and self._buffer.strip():
            self._emit_plain(len(self._buffer))
        self._buffer, self._mode = "", "blocks"
        return self._taken()

    def open_piece(self) -> Piece | None:
        """The incomplete piece, as it would be drawn now."""
        if self._mode == "fence":
            fence = self._fence
            partial = fence.dedented(self._buffer)
            if not partial.strip(fence.marker[0] + " "):
                # Perhaps the fence's end: shown once the line is complete.
                partial = ""
            text = "\n".join([*fence.lines, partial] if partial else fence.lines)
            return Piece(self._code(text), self._gap)
        if not (self._buffer.strip() or self._rows):
            return None
        match self._mode:
            case "table":
                rows = "\n".join([*self._rows, self._buffer] if self._buffer else self._rows)
                return Piece(TableRows(self._head, self._sample, rows, False), 0)
            case "plain":
                return Piece(Plain(self._buffer), self._gap)
            case _:
                return Piece(Markdown(self._buffer, self._number), self._gap)

    def _taken(self) -> list[Piece]:
        out, self._out = self._out, []
        return out

    def _emit(self, content: Content, gap_after: int = 1) -> None:
        self._out.append(Piece(content, self._gap))
        self._gap = gap_after

    def _run(self, *, final: bool) -> None:
        steps: dict[str, Callable[[bool], bool]] = {
            "blocks": self._blocks,
            "fence": self._fence_lines,
            "table": self._table_rows,
            "plain": self._plain,
        }
        while self._buffer and steps[self._mode](final):
            pass

    def _blocks(self, final: bool) -> bool:
        """Emit the finished part of the buffer; True if a new mode was entered."""
        end = self._buffer.rfind("\n") + 1
        complete = self._buffer[:end]
        if len(self._buffer) - end > LONGEST:
            complete = self._buffer + "\n"
        if not complete.strip():
            self._buffer = self._buffer[end:]
            return False
        lines, starts = complete.split("\n"), _starts(complete)
        blocks = _top_blocks(complete)
        for number, tokens in enumerate(blocks, 1):
            last = number == len(blocks) and not final
            if self._block(tokens, lines, starts, last=last):
                return True
        if final:
            self._buffer = ""
        return False

    def _block(
        self, tokens: Sequence["Token"], lines: list[str], starts: list[int], *, last: bool
    ) -> bool:
        """One top-level block; True when a mode was entered and the buffer moved to its text."""
        token = tokens[0]
        assert token.map is not None
        first, end = token.map
        if token.type == "fence":
            opener = lines[first]
            indent = len(opener) - len(opener.lstrip(" "))
            self._fence = _Fence(token.markup, indent, language_of(token.info))
            return self._enter("fence", starts[first + 1])
        if token.type == "table_open" and end - first - 2 >= SAMPLE:
            return self._enter_table(lines[first:end], starts[first + 2 + SAMPLE])
        if token.type in ("bullet_list_open", "ordered_list_open"):
            return self._items(tokens, lines, starts, last=last)
        source = "\n".join(lines[first:end])
        if len(source) > LONGEST:
            return self._enter("plain", starts[first])
        if last:
            self._buffer = self._buffer[starts[first] :]
            return False
        self._emit(Markdown(source))
        return False

    def _enter(self, mode: Literal["fence", "table", "plain"], offset: int) -> bool:
        self._mode = mode
        self._number = None
        self._buffer = self._buffer[offset:]
        return True

    def _enter_table(self, lines: list[str], offset: int) -> bool:
        self._head = "\n".join(lines[:2])
        self._sample = "\n".join(lines[2 : 2 + SAMPLE])
        self._emit(TableRows(self._head, self._sample, self._sample, True), 0)
        return self._enter("table", offset)

    def _items(
        self, tokens: Sequence["Token"], lines: list[str], starts: list[int], *, last: bool
    ) -> bool:
        """A list: each item but an open last one is finished."""
        head = tokens[0]
        assert head.map is not None
        items = _item_lines(tokens, lines)
        number = self._number
        if number is None and head.type == "ordered_list_open":
            number = int(head.attrs.get("start", 1))
        ends = [*items[1:], head.map[1]]
        for position, (start, end) in enumerate(zip(items, ends, strict=False), 1):
            final_item = position == len(items)
            source = "\n".join(lines[start:end])
            if len(source) > LONGEST:
                return self._enter("plain", starts[start])
            if final_item and last:
                self._buffer = self._buffer[starts[start] :]
                self._number = number
                return False
            gap = final_item or not lines[end - 1].strip()
            self._emit(Markdown(source.rstrip("\n"), number), int(gap))
            number = None if number is None else number + 1
        self._number = None
        return False

    def _fence_lines(self, final: bool) -> bool:
        """Take whole lines of code; True when the fence was closed."""
        while (end := self._buffer.find("\n")) >= 0 or len(self._buffer) > LONGEST:
            cut = end if 0 <= end <= LONGEST else LONGEST
            line = self._buffer[:cut]
            self._buffer = self._buffer[cut + (cut == end) :]
            if self._fence.closed_by(line):
                self._emit_code(len(self._fence.lines), force=True)
                self._mode, self._gap = "blocks", 1
                return True
            self._fence.lines.append(self._fence.dedented(line))
            if len(self._fence.lines) == CHUNK:
                self._emit_code(CHUNK)
        return False

    def _emit_code(self, count: int, *, force: bool = False) -> None:
        fence = self._fence
        if count or (force and fence.label):
            self._emit(self._code("\n".join(fence.lines[:count])), 0)
            fence.before = fence.lines[max(0, count - _BEFORE) : count]
            fence.lines = fence.lines[count:]
            fence.label = False

    def _code(self, text: str) -> CodeContent:
        fence = self._fence
        return CodeContent(text, fence.language, fence.label, "\n".join(fence.before))

    def _table_rows(self, final: bool) -> bool:
        """Take whole rows, some at a time; False when none is left."""
        lines = self._buffer.split("\n", CHUNK)[:-1]
        if not lines:
            return False
        complete = "\n".join(lines) + "\n"
        tokens = block_parser().parse(f"{self._head}\n{complete}")
        covered = (tokens[0].map[1] if tokens[0].map else 2) - 2
        starts = _starts(complete)
        self._rows += lines[:covered]
        self._buffer = self._buffer[starts[covered] :]
        ended = covered < len(lines)
        while len(self._rows) >= MOST_ROWS:
            self._emit_rows()
        if ended:
            self._emit_rows()
            self._mode, self._gap = "blocks", 1
        return True

    def _emit_rows(self) -> None:
        """Make a piece of the rows that were taken."""
        if self._rows:
            rows = "\n".join(self._rows[:MOST_ROWS])
            self._emit(TableRows(self._head, self._sample, rows, False), 0)
            self._rows = self._rows[MOST_ROWS:]

    def _plain(self, final: bool) -> bool:
        """Emit a paragraph too long to parse, in parts; True when a blank line ended it."""
        blank = _BLANK_LINE.search(self._buffer)
        if blank:
            self._emit_plain(blank.start())
            self._mode, self._gap = "blocks", 1
            return True
        while len(self._buffer) >= 2 * LONGEST:
            self._emit_plain(LONGEST)
        return False

    def _emit_plain(self, end: int) -> None:
        """Emit the first ``end`` characters, in parts of at most ``LONGEST``."""
        for start in range(0, end, LONGEST):
            self._emit(Plain(self._buffer[start : min(end, start + LONGEST)].rstrip("\n")), 0)
        self._buffer = self._buffer[end:]


def _top_blocks(text: str) -> list[list["Token"]]:
    """The tokens of each outermost block, and those right within it."""
    tops = [token for token in block_parser().parse(text) if token.level <= 1]
    begins = [i for i, t in enumerate(tops) if t.level == 0 and t.nesting >= 0 and t.map]
    return [tops[a:b] for a, b in pairwise([*begins, len(tops)])]


def _starts(text: str) -> list[int]:
    """The offset where each line begins, and the end of the text."""
    starts = [0]
    starts += [match.end() for match in re.finditer("\n", text)]
    return starts


def split(source: str) -> list[Piece]:
    """A whole answer as pieces."""
    splitter = Splitter()
    return splitter.feed(source) + splitter.finish()


def _item_lines(tokens: Sequence["Token"], lines: list[str]) -> list[int]:
    """The lines on which the items of a list begin.

    Where items are indented unevenly, what belongs to which depends on the first: it is the only one.
    """
    items = [t.map[0] for t in tokens if t.type == "list_item_open" and t.map]
    indents = {len(lines[i]) - len(lines[i].lstrip(" ")) for i in items}
    return items if len(indents) <= 1 else items[:1]
