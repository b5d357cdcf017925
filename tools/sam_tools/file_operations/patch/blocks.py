"""Blocks of ``<<<<<<< SEARCH``, ``=======`` and ``>>>>>>> REPLACE`` below the name of their file."""

import re
from collections.abc import Sequence

from sam_tools.file_operations.patch.pieces import FilePatch, Hunk, Line, Mark
from sam_tui.core.errors import ToolError

_SEARCH = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL)\s*\Z")
_MIDDLE = re.compile(r"={5,9}\s*\Z")
_REPLACE = re.compile(r">{5,9} ?(?:REPLACE|UPDATED)\s*\Z")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_NAME = re.compile(r"[#*\s]*(?:[Ff]ile(?:name)?:)?[*`\s]*(.*?)[*`:\s]*\Z")


def holds_blocks(lines: Sequence[str]) -> bool:
    """Whether there is a block at all."""
    return any(_SEARCH.match(line) for line in lines)


def parse_blocks(lines: Sequence[str], path: str) -> tuple[FilePatch, ...]:
    """One update for each file; a block without a name belongs to the file above, first to ``path``.

    Raises ``ToolError`` for a block that has no name or does not end.
    """
    hunks: dict[str, list[Hunk]] = {}
    at = named_from = 0
    while at < len(lines):
        if not _SEARCH.match(lines[at]):
            at += 1
            continue
        path = _name(lines[named_from:at]) or path
        if not path:
            raise _wrong(at, "the block has no file", "Write the file's path on the line above it.")
        middle = _end(lines, at, _MIDDLE)
        end = _end(lines, middle, _REPLACE)
        of_file = hunks.setdefault(path, [])
        old, new = lines[at + 1 : middle], lines[middle + 1 : end]
        of_file.append(Hunk(len(of_file) + 1, tuple(_lines(old, new))))
        at = named_from = end + 1
    return tuple(
        FilePatch("update", name, name, tuple(file_hunks)) for name, file_hunks in hunks.items()
    )


def _name(above: Sequence[str]) -> str:
    """The last line above a block that is no fence; empty for none, and for a sentence."""
    lines = [line for line in above if line.strip() and not _FENCE.match(line)]
    match = _NAME.match(lines[-1]) if lines else None
    return match[1] if match and (" " not in match[1] or "/" in match[1]) else ""


def _end(lines: Sequence[str], at: int, mark: re.Pattern[str]) -> int:
    for index in range(at + 1, len(lines)):
        if mark.match(lines[index]):
            return index
    raise _wrong(
        at,
        "the block does not end",
        "A block is: <<<<<<< SEARCH, old lines, =======, new lines, >>>>>>> REPLACE.",
    )


def _lines(old: Sequence[str], new: Sequence[str]) -> list[Line]:
    """Lines that both begin or end with stay as they are in the file."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    room = most - head
    tail = next((i for i in range(room) if old[-1 - i] != new[-1 - i]), room)
    parts: tuple[tuple[Mark, Sequence[str]], ...] = (
        (" ", old[:head]),
        ("-", old[head : len(old) - tail]),
        ("+", new[head : len(new) - tail]),
        (" ", old[len(old) - tail :]),
    )
    return [Line(mark, text) for mark, texts in parts for text in texts]


def _wrong(at: int, what: str, hint: str) -> ToolError:
    return ToolError(f"patchContent, line {at + 1}: {what}.", hint=hint)
