"""Draws the content of any block as rows."""

from functools import lru_cache

from sam_tui.ui.transcript import blocks
from sam_tui.ui.transcript.render import cards, markdown
from sam_tui.ui.transcript.render.colours import highlighter
from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.pictures import draw_picture
from sam_tui.ui.transcript.render.rows import Canvas, Lead, Row, margin
from sam_tui.ui.transcript.render.safe_text import clean, expand
from sam_tui.ui.transcript.render.table import Shape, draw_rows, measure

_HEAD_LINES, _HEAD_TEXT = 10, 1_000
"""How many lines and characters of a folded prompt are shown."""


def draw(block: blocks.Block, width: int, palette: Palette) -> list[Row]:
    """The rows of a block at a width, without its gap; at least one."""
    canvas = Canvas(width, palette, leads=[margin(palette)])
    content = block.content
    match content:
        case blocks.AnswerContent(source=source):
            markdown.draw_markdown(canvas, source)
        case blocks.Markdown(source=source, number=number):
            markdown.draw_markdown(canvas, source, number)
        case blocks.CodeContent():
            _code(canvas, content)
        case blocks.TableRows():
            _table(canvas, content, opened=blocks.expanded(block))
        case blocks.Plain(text=text):
            markdown.draw_plain(canvas, text)
        case _:
            _draw_event(canvas, block, content)
    if not canvas.rows:
        canvas.blank()
    return canvas.rows


def _draw_event(
    canvas: Canvas,
    block: blocks.Block,
    content: blocks.User
    | blocks.Reasoning
    | blocks.Card
    | blocks.ReminderContent
    | blocks.Picture
    | blocks.Notice
    | blocks.Decided,
) -> None:
    """Draw a block that is neither message nor answer."""
    match content:
        case blocks.User():
            _user(canvas, content, opened=blocks.expanded(block))
        case blocks.Reasoning():
            cards.draw_reasoning(canvas, content, opened=blocks.expanded(block))
        case blocks.Card():
            cards.draw_card(canvas, content, opened=block.expanded)
        case blocks.ReminderContent():
            cards.draw_reminder(canvas, content, opened=blocks.expanded(block))
        case blocks.Picture():
            draw_picture(canvas, content)
        case blocks.Notice():
            cards.draw_notice(canvas, content)
        case blocks.Decided():
            cards.draw_decision(canvas, content)


def _user(canvas: Canvas, content: blocks.User, *, opened: bool) -> None:
    bar = ("▌ ", canvas.palette.user_bar)
    text = content.text.rstrip("\n")
    whole = opened or not content.long
    head = text if whole else "\n".join(text[:_HEAD_TEXT].split("\n")[:_HEAD_LINES])
    canvas.push(Lead(bar, bar))
    for line in expand(clean(head)).split("\n"):
        canvas.line([(line, canvas.palette.user)])
    canvas.pop()
    if not whole:
        lines, hidden = text.count("\n") - head.count("\n"), len(text) - len(head)
        cards.left_out(canvas, lines or hidden, "more lines" if lines else "more characters")


def _code(canvas: Canvas, content: blocks.CodeContent) -> None:
    if content.label:
        markdown.code_label(canvas, content.language)
    colours = highlighter(content.language, canvas.palette)
    if content.before:
        colours.feed(expand(content.before) + "\n")
    markdown.code_lines(canvas, colours.feed(expand(content.text)))


@lru_cache(maxsize=16)
def _shape(head: str, sample: str, palette: Palette) -> Shape:
    return measure(*markdown.table_cells(markdown.parser().parse(f"{head}\n{sample}\n"), palette))


def _table(canvas: Canvas, content: blocks.TableRows, *, opened: bool) -> None:
    if content.long and not opened:
        cards.left_out(canvas, content.count, "more rows")
        return
    shape = _shape(content.head, content.sample, canvas.palette)
    tokens = markdown.parser().parse(f"{content.head}\n{content.rows}\n")
    rows, _ = markdown.table_cells(tokens, canvas.palette)
    if content.first:
        draw_rows(canvas, shape, rows[:1], header=True)
    draw_rows(canvas, shape, rows[1:])
