"""Splits the text of a patch into its files: detects the dialect, removes wrapping, parses blocks."""

import re
from collections.abc import Sequence

from sam_tools.file_operations.patch.envelope import parse_envelope
from sam_tools.file_operations.patch.pieces import FilePatch, Hunk, Line, Mark, Patch
from sam_tools.file_operations.patch.unified import parse_unified
from sam_tui.core.errors import ToolError

_SEARCH = re.compile(r"[<-]{5,9} ?(?:SEARCH|ORIGINAL)>?(?: +(?P<path>\S.*?))?\s*\Z")
_LINES = re.compile(r":(?:start|end)_line: *\d+\s*\Z|-{5,9}\s*\Z")
"""A line of some dialects between the first mark and the old lines; its line numbers are ignored."""
_MIDDLE = re.compile(r"={5,9}\s*\Z")
_REPLACE = re.compile(r"[>+]{5,9} ?(?:REPLACE|UPDATED)\s*\Z")
_BLOCK_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})(?:[\w+.-]*\s+(?P<path>[^\s`]*[./][^\s`]*)\s*\Z)?")
_NAME = re.compile(r"[#*\s]*(?:[Ff]ile(?:name)?:)?[*`\s]*(.*?)[*`:\s]*\Z")


def holds_blocks(lines: Sequence[str]) -> bool:
    """Whether the text has any SEARCH/REPLACE block."""
    return any(_SEARCH.match(line) for line in lines)


def parse_blocks(lines: Sequence[str], path: str) -> tuple[FilePatch, ...]:
    """One update for each file; a block without a name belongs to the file above, first to ``path``.

    Raises ``ToolError`` for a block that has no name or does not end.
    """
    hunks: dict[str, list[Hunk]] = {}
    at = named_from = 0
    while at < len(lines):
        if (opening := _SEARCH.match(lines[at])) is None:
            at += 1
            continue
        path = opening["path"] or _name(lines[named_from:at]) or path
        if not path:
            raise _wrong(at, "the block has no file", "Write the file's path on the line above it.")
        middle = _end(lines, at, _MIDDLE)
        end = _end(lines, middle, _REPLACE)
        of_file = hunks.setdefault(path, [])
        while at + 1 < middle and _LINES.match(lines[at + 1]):
            at += 1
        old, new = lines[at + 1 : middle], lines[middle + 1 : end]
        of_file.append(Hunk(len(of_file) + 1, tuple(_lines(old, new))))
        at = named_from = end + 1
    return tuple(
        FilePatch("update", name, name, tuple(file_hunks)) for name, file_hunks in hunks.items()
    )


def _name(above: Sequence[str]) -> str:
    """The last line above a block that is no bare fence; empty for none, and for a sentence."""
    for line in reversed(above):
        if fence := _BLOCK_FENCE.match(line):
            if fence["path"]:
                return fence["path"]
        elif line.strip():
            match = _NAME.match(line)
            return match[1] if match and (" " not in match[1] or "/" in match[1]) else ""
    return ""


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
    """The lines of a hunk from two texts: their common beginning and end are context."""
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


_SECTION = re.compile(r"\*\*\* (?:Update|Add|Delete) File:")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[\w+.-]*\s*\Z")
_HEREDOC = re.compile(r"(?:\$ )?apply_patch\s+<<-?\s*['\"]?(\w+)['\"]?\s*\Z")
_FOREIGN = (
    (re.compile(r"\*{15}\s*\Z"), "a context diff"),
    (re.compile(r"\d+(?:,\d+)?[acd]\d+(?:,\d+)?\s*\Z"), "a diff without context"),
    (re.compile(r"(?:\d+(?:,\d+)?[acd]|[ad]\d+ \d+)\s*\Z"), "a script for ed"),
)
"""Other formats of differences, each with the pattern of a line that occurs in it."""
_HEADER = re.compile(r"@@|\*\*\* [A-Z]|diff --git |Index: ")


def parse(text: str, path: str = "") -> Patch:
    """The pieces of a unified diff, a ``*** Begin Patch`` envelope or search and replace blocks.

    ``path`` names the file of a diff that names none. Raises ``ToolError`` naming the fault.
    """
    lines = _without_returns(_unindented(_unwrapped(text.removeprefix("\ufeff").split("\n"))))
    if any(_SECTION.match(line) for line in lines) and not _is_git(lines):
        patch = Patch(parse_envelope(lines), "envelope")
    elif holds_blocks(lines):
        patch = Patch(parse_blocks(lines, path), "envelope")
    else:
        body = [line for line in lines if not re.match(r"\*\*\* (?:Begin|End) Patch\s*\Z", line)]
        patch = Patch(parse_unified(body, path), "unified")
    if not patch.files:
        raise ToolError(
            f"patchContent holds {_form(lines)}: neither a file header with hunks nor a "
            "*** Begin Patch envelope.",
            hint="Write a unified diff (--- a/file, +++ b/file, @@ -1,3 +1,4 @@) or "
            "*** Begin Patch / *** Update File: file / @@ / *** End Patch.",
        )
    return patch.aimed(path) if path else patch


def _form(lines: Sequence[str]) -> str:
    """Return what a text seems to be that is not a patch, in words."""
    return next((form for mark, form in _FOREIGN if any(map(mark.match, lines))), "no patch")


def _without_returns(lines: list[str]) -> list[str]:
    r"""The lines without ``\r`` at the end, if all headers have it; otherwise it is part of the text."""
    headers = [line for line in lines if _HEADER.match(line)]
    if not headers or not all(line.endswith("\r") for line in headers):
        return lines
    return [line.removesuffix("\r") for line in lines]


def _is_git(lines: list[str]) -> bool:
    """Whether the patch is git's, and not of the ``Begin Patch`` dialect."""
    git = any(line.startswith("diff --git ") for line in lines)
    return git and not any(line.startswith("*** Begin Patch") for line in lines)


def _unwrapped(lines: list[str]) -> list[str]:
    """The lines without a code fence or here-document around them and text after the last newline."""
    if lines and not lines[-1]:
        lines = lines[:-1]
    for opening in (_FENCE, _HEREDOC):
        first = next((at for at, line in enumerate(lines) if line.strip()), 0)
        lines = lines[first:]
        if lines and (wrapped := opening.match(lines[0].rstrip("\r"))):
            last = max(at for at, line in enumerate(lines) if line.strip())
            end = last if lines[last].strip() == wrapped[1] else len(lines)
            lines = lines[1:end]
    return lines


def _unindented(lines: list[str]) -> list[str]:
    """The lines without the indentation that all of them share, as in a list of a model's answer."""
    first = next((line for line in lines if _HEADER.match(line.lstrip())), "")
    indent = first[: len(first) - len(first.lstrip())]
    if not indent or not all(line.startswith(indent) for line in lines if line.strip()):
        return lines
    return [line.removeprefix(indent) for line in lines]
