"""Code as coloured lines, lexed once and in step with a stream."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import cast

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.lexers import (
    get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]  # stubs leave options open
)
from pygments.token import Token, _TokenType  # pyright: ignore[reportPrivateUsage]  # its only name
from pygments.util import ClassNotFound
from rich.style import Style

from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.rows import Span

LONGEST_LINE = 2_000
"""Lines longer than this (in characters) stay uncoloured: lexers may be slow on them."""

_Run = Callable[[Lexer, str | None, LexerContext | None], Iterator[tuple[int, _TokenType, str]]]
_REGEX_RUN = cast("object", RegexLexer.get_tokens_unprocessed)  # pyright: ignore
_STATEFUL_RUN = cast("_Run", ExtendedRegexLexer.get_tokens_unprocessed)
"""Runs a regular lexer with its state stack in a context; it asks nothing else of the lexer."""


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


class Highlighter:
    """Colours lines as they come; the lexer's state is kept from one feeding to the next."""

    def __init__(self, language: str, palette: Palette) -> None:
        self._lexer = _lexer(language.lower()) if language and language.isascii() else None
        self._palette = palette
        self._stack: list[str] = ["root"]
        run = getattr(type(self._lexer), "get_tokens_unprocessed", None)
        self._stateful = run is _REGEX_RUN

    def feed(self, text: str) -> list[list[Span]]:
        """The spans of each line of ``text``, which consists of whole lines (the last may be open)."""
        lines = text.split("\n")
        if self._lexer is None or any(len(line) > LONGEST_LINE for line in lines):
            return [[(line, self._palette.block)] if line else [] for line in lines]
        rows: list[list[Span]] = [[]]
        for kind, value in self._tokens(text):
            style = self._style(kind)
            first, *others = value.split("\n")
            if first:
                _add(rows[-1], first, style)
            for other in others:
                rows.append([])
                if other:
                    rows[-1].append((other, style))
        rows += [[] for _ in range(len(lines) - len(rows))]
        return rows

    def peek(self, line: str) -> list[Span]:
        """The spans of a line that is not finished yet; the state stays as it is."""
        saved = list(self._stack)
        try:
            return self.feed(line)[0]
        finally:
            self._stack = saved

    def _tokens(self, text: str) -> Iterator[tuple[_TokenType, str]]:
        assert self._lexer is not None
        if not self._stateful:
            return iter([
                (kind, value) for _, kind, value in self._lexer.get_tokens_unprocessed(text)
            ])
        context = LexerContext(text, 0, list(self._stack), len(text))
        try:
            tokens = [(kind, value) for _, kind, value in _STATEFUL_RUN(self._lexer, None, context)]
            self._stack = list(context.stack)
        except (TypeError, AttributeError, KeyError):
            # A lexer with callbacks that know no context: no state, then.
            self._stateful = False
            return self._tokens(text)
        return iter(tokens)

    def _style(self, kind: _TokenType) -> Style:
        palette = self._palette
        if kind in Token.Keyword or kind in Token.Operator.Word:
            return palette.keyword
        if kind in Token.Literal.String:
            return palette.string
        if kind in Token.Comment:
            return palette.comment
        if kind in Token.Literal.Number or kind in Token.Keyword.Constant:
            return palette.number
        if kind in Token.Name.Function or kind in Token.Name.Class or kind in Token.Name.Tag:
            return palette.name
        if kind in Token.Name.Decorator or kind in Token.Name.Builtin:
            return palette.name
        return palette.block


def _add(row: list[Span], text: str, style: Style) -> None:
    if row and row[-1][1] is style:
        row[-1] = (row[-1][0] + text, style)
    else:
        row.append((text, style))
