"""Blocks of a transcript as plain lines with a label, for screen readers."""

import re
from collections.abc import Iterator

from sam_tui.ui.plain import visible
from sam_tui.ui.transcript import blocks
from sam_tui.ui.transcript.render.safe_text import clean, clean_output

_MOST_LINES = 40
"""The most lines of a call's result that are read out."""
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")


def spoken_lines(block: blocks.Block, *, first: bool) -> list[str]:
    """The plain lines of a block, without any drawing; ``first`` for the first block of its answer."""
    return visible("\n".join(_said(block, first=first))).split("\n")


def _said(block: blocks.Block, *, first: bool) -> Iterator[str]:
    content = block.content
    match content:
        case blocks.User(text=text):
            yield f"You: {clean(text)}"
        case (
            blocks.AnswerContent()
            | blocks.Markdown()
            | blocks.CodeContent()
            | blocks.Plain()
            | blocks.TableRows()
        ):
            label = "Agent: " if first else ""
            text = clean(blocks.plain(content))
            if isinstance(content, blocks.TableRows):
                text = "\n".join(_sentences(content.head, content.rows))
            elif isinstance(content, blocks.Markdown | blocks.AnswerContent):
                text = _without_tables(text)
            yield f"{label}{text}"
        case blocks.Reasoning(text=text):
            yield f"Thought: {len(text.split())} words."
        case blocks.Card():
            yield from _called(content)
        case blocks.Notice(level=level, text=text):
            yield clean(text) if level == "info" else f"{level.capitalize()}: {clean(text)}"
        case blocks.Decided(text=text):
            yield f"Decision: {clean(text)}"
        case blocks.Picture(image=image):
            yield f"Image: {clean(image.name)}"
        case blocks.ReminderContent(count=count):
            yield f"{count} reminder{'s' if count > 1 else ''} to the model."


def _called(card: blocks.Card) -> Iterator[str]:
    took = f" in {card.seconds:.1f} s" if card.seconds is not None else ""
    yield f"Tool: {clean(card.title)}, {card.state}{took}."
    lines = clean_output(blocks.plain_card(card)).split("\n")[1:]
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"{len(lines) - _MOST_LINES} more lines."


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _sentences(head: str, rows: str) -> Iterator[str]:
    """Each row as ``name: value; name: value``."""
    names = _cells(clean(head).split("\n")[0])
    for row in clean(rows).split("\n"):
        pairs = zip(names, _cells(row), strict=False)
        yield "; ".join(f"{name}: {cell}" for name, cell in pairs) + "."


def _without_tables(text: str) -> str:
    """Markdown with its tables as sentences."""
    lines, sentences = text.split("\n"), list[str]()
    at = 0
    while at < len(lines):
        head = lines[at : at + 2]
        if len(head) == 2 and "|" in head[0] and "|" in head[1] and _RULE.fullmatch(head[1]):
            end = at + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            sentences += _sentences("\n".join(head), "\n".join(lines[at + 2 : end]))
            at = end
        else:
            sentences.append(lines[at])
            at += 1
    return "\n".join(sentences)
