"""Parts that stream: answers, cut into blocks as text arrives, and code, drawn line by line."""

from sam_tui.ui.transcript.blocks import Block, CodeContent, Piece
from sam_tui.ui.transcript.render.colours import highlighter
from sam_tui.ui.transcript.render.markdown import code_label, code_lines
from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.rows import Canvas, Row, margin
from sam_tui.ui.transcript.render.safe_text import clean, expand
from sam_tui.ui.transcript.splitter import Splitter


class LiveAnswer:
    """An answer that is streaming. ``order`` is that of its open last block."""

    def __init__(self, group: int, order: int) -> None:
        self.group = group
        self.order = order
        self.source: list[str] = []
        self._splitter = Splitter()
        self._pending: list[str] = []
        self._code: LiveCode | None = None

    @property
    def waiting(self) -> bool:
        """Whether received text is not drawn yet."""
        return bool(self._pending)

    def put(self, text: str) -> None:
        """Take a piece of the answer; it is drawn with the next frame."""
        text = clean(text)
        self.source.append(text)
        self._pending.append(text)

    def take(self) -> tuple[list[Piece], Piece | None]:
        """The pieces finished since the last time, and the open one."""
        text = "".join(self._pending)
        self._pending.clear()
        return self._splitter.feed(text), self._splitter.open_piece()

    def finish(self) -> list[Piece]:
        """The rest of the finished answer."""
        text = "".join(self._pending)
        self._pending.clear()
        return self._splitter.feed(text) + self._splitter.finish()

    def draw_code(self, block: Block, width: int, palette: Palette) -> list[Row] | None:
        """The new rows of an open code block; None if no code block is open."""
        if not isinstance(block.content, CodeContent):
            return None
        live = self._code
        if live is None or not live.continues(block.content, width, palette):
            live = self._code = LiveCode(block.content, width, palette)
        return live.draw(block.content)


class LiveCode:
    """An open code fence: whole lines are lexed and wrapped once."""

    def __init__(self, content: CodeContent, width: int, palette: Palette) -> None:
        self._first = content
        self._width = width
        self._canvas = Canvas(width, palette, leads=[margin(palette)])
        self._highlighter = highlighter(content.language, palette)
        self._done = ""
        if content.label:
            code_label(self._canvas, content.language)
        if content.before:
            self._highlighter.feed(expand(content.before) + "\n")

    def continues(self, content: CodeContent, width: int, palette: Palette) -> bool:
        """Whether the content begins with the drawn text and only adds to its end."""
        first = self._first
        return (
            width == self._width
            and palette is self._canvas.palette
            and (content.language, content.label) == (first.language, first.label)
            and content.before == first.before
            and content.text.startswith(self._done)
        )

    def draw(self, content: CodeContent) -> list[Row]:
        """All rows: those of complete lines are kept, only the rest is drawn again."""
        end = content.text.rfind("\n") + 1
        fresh = content.text[len(self._done) : end]
        if fresh:
            lines = self._highlighter.feed(expand(fresh))
            code_lines(self._canvas, lines[:-1])
            self._done = content.text[:end]
        count = len(self._canvas.rows)
        code_lines(self._canvas, [self._highlighter.peek(expand(content.text[end:]))])
        rows = list(self._canvas.rows)
        del self._canvas.rows[count:]
        return rows
