"""Code as coloured lines, lexed once and in step with a stream."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import cast

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.lexers import (
    find_lexer_class_for_filename,
    get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]  # stubs leave options open
)
from pygments.token import Token, _TokenType  # pyright: ignore[reportPrivateUsage]  # its only name
from pygments.util import ClassNotFound
from rich.style import Style

from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.rows import Span

LONGEST_LINE = 2_000
"""Code with a line of more characters is not coloured, because lexers may be slow on it."""

_Run = Callable[[Lexer, str | None, LexerContext | None], Iterator[tuple[int, _TokenType, str]]]
_REGEX_RUN = cast("object", RegexLexer.get_tokens_unprocessed)  # pyright: ignore
_STATEFUL_RUN = cast("_Run", ExtendedRegexLexer.get_tokens_unprocessed)
"""Runs any regular lexer with its state stack in a context; the lexer needs nothing else of its class."""


_STYLES: tuple[tuple[_TokenType, str], ...] = (
    (Token.Generic.Inserted, "added"),
    (Token.Generic.Deleted, "removed"),
    (Token.Generic.Heading, "comment"),
    (Token.Generic.Subheading, "comment"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Literal.String, "string"),
    (Token.Comment, "comment"),
    (Token.Literal.Number, "number"),
    (Token.Name.Function, "name"),
    (Token.Name.Class, "name"),
    (Token.Name.Tag, "name"),
    (Token.Name.Decorator, "name"),
    (Token.Name.Builtin, "name"),
)
"""The palette's style for each type of token; the first match counts."""


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def language_of_path(path: str) -> str:
    """The language of a file by its name; empty where that is not known."""
    lexer = find_lexer_class_for_filename(path)
    return lexer.aliases[0] if lexer is not None and lexer.aliases else ""


class Highlighter:
    """Colours lines as they come; the lexer's state is kept between feedings."""

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
            return [_line(line, self._palette.block) for line in lines]
        rows: list[list[Span]] = [[]]
        # Some lexers (diff, for one) know a line only by its end.
        for kind, value in self._tokens(text if text.endswith("\n") else f"{text}\n"):
            style = self._style(kind)
            first, *others = value.split("\n")
            if first:
                _add(rows[-1], first, style)
            rows += (_line(other, style) for other in others)
        rows += [[] for _ in range(len(lines) - len(rows))]
        return rows[: len(lines)]

    def peek(self, line: str) -> list[Span]:
        """Return the spans of an unfinished line; the state is unchanged."""
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
        for above, name in _STYLES:
            if kind in above:
                return getattr(self._palette, name)
        return self._palette.block


def _add(row: list[Span], text: str, style: Style) -> None:
    if row and row[-1][1] is style:
        row[-1] = (row[-1][0] + text, style)
    else:
        row.append((text, style))


def _line(text: str, style: Style) -> list[Span]:
    return [(text, style)] if text else []
