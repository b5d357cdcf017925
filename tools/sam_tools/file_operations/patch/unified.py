"""Unified diffs, as diff and git write them and as models nearly do.

A hunk is read by its counts. Where those are wrong, its body goes on until something begins that can
only be a header; a line that fits neither is an error, never skipped. Below a ``diff --git`` line
counts must be right, as git has it: programs write those, and a wrong one means that lines are lost.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from sam_tools.file_operations.patch.binary import read_binary
from sam_tools.file_operations.patch.headers import (
    Header,
    follows,
    git_names,
    half_header,
    header_name,
)
from sam_tools.file_operations.patch.pieces import FilePatch, Hunk, Line, Mark
from sam_tui.core.errors import ToolError
from sam_tui.core.text.plain import gist

_HUNK = re.compile(r"@@+ *-(\d+)(?:,(\d+))? +\+(\d+)(?:,(\d+))? *@@+")
_VERSION = re.compile(r"\d+\.\d+\S*(?: \(.*\))?\s*\Z")
_MARKS: dict[str, Mark] = {" ": " ", "+": "+", "-": "-"}


def parse_unified(lines: Sequence[str], path: str) -> tuple[FilePatch, ...]:
    """The files of a diff in order; ``path`` names the one of hunks without any header."""
    reader = _Reader(lines)
    reader.read(path)
    return tuple(header.file() for header in reader.files)


def numbered(line: str) -> tuple[int, int, int] | None:
    """Start, old count and new count of a hunk line; None if it has no numbers."""
    match = _HUNK.match(line)
    if match is None:
        return None
    return int(match[1]), int(match[2] or 1), int(match[4] or 1)


class _Reader:
    """Goes through the lines once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._ended = 0
        """The line after the last hunk."""
        self.files: list[Header] = []

    def read(self, path: str) -> None:
        """Read every file of the patch."""
        current = Header(old=path, new=path) if path else Header()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if (header := self._header(line, current)) is not None:
                current = header
            elif self._read_content(line, current):
                continue
            elif current.git and not current.hunks:
                current.extend(line)
            self._at += 1
        self._next(current, current)

    def _header(self, line: str, current: Header) -> Header | None:
        """The header that begins at this line, of the current or the next file; None if none does."""
        if line.startswith("diff --git "):
            return self._next(current, Header(git=git_names(line)))
        if follows(self._lines, self._at):
            names = header_name(line[4:]), header_name(self._lines[self._at + 1][4:])
            self._at += 1
        elif (names := half_header(self._lines, self._at)) is None:
            return None
        header = self._next(current, Header()) if current.named or current.hunks else current
        header.old, header.new = names
        return header

    def _read_content(self, line: str, current: Header) -> bool:
        """Read the hunk or the binary data that begins here; False where none does."""
        if line.startswith(("@@@", "diff --cc ", "diff --combined ")):
            raise self._wrong(
                "a combined diff of a merge cannot be applied",
                "Make a diff against one of the parents, or edit the file itself.",
            )
        if numbered(line) or self._is_bare_hunk(line, current):
            current.hunks.append(self._hunk(len(current.hunks) + 1, exact=bool(current.git)))
            self._ended = self._at
            return True
        if line == "GIT binary patch":
            current.binary, self._at = read_binary(self._lines, self._at + 1, current.index)
            if current.binary is None:
                raise self._wrong("the binary part is not whole", "Make it with --binary.")
            return True
        about_file = (current.git or current.named) and not current.hunks
        if line.startswith("Binary files ") and about_file:
            raise self._wrong("binary changes come without data", "Leave binary files out.")
        return False

    def _is_bare_hunk(self, line: str, current: Header) -> bool:
        """Whether a hunk without numbers begins; in a git patch the line may belong to the next mail."""
        if not line.startswith("@@") or not (current.named or current.git):
            return False
        return not (current.git and current.hunks) or self._at == self._ended

    def _next(self, current: Header, following: Header) -> Header:
        if current.says_something:
            self.files.append(current)
        return following

    def _hunk(self, number: int, *, exact: bool) -> Hunk:
        numbers = numbered(self._lines[self._at])
        self._at += 1
        first = self._at
        body = self._counted(numbers[1], numbers[2]) if numbers else None
        if exact:
            self._check(body, first - 1)
        elif body is None or self._goes_on(self._at):
            body = self._by_lines(first, body)
        assert body is not None
        start = numbers[0] if numbers else None
        ends = any(not line.newline for line in body if line.mark != "+")
        return Hunk(number, tuple(body), start, at_end=ends)

    def _check(self, body: list[Line] | None, at: int) -> None:
        """Raises ``ToolError`` for a hunk, begun at line ``at``, that git does not take."""
        after, self._at = self._at, at
        if body is None or self._goes_on(after, blanks=False):
            raise self._wrong(
                "this hunk has other lines than its counts say",
                "Count the old and the new lines anew, or leave `diff --git` out: then a hunk ends "
                "where its lines do.",
            )
        if _is_marked_within(body):
            raise self._wrong(
                "a line that is not the last one of the file is marked to have no newline",
                "Put the mark below the last line of the file, or leave it out.",
            )
        self._at = after

    def _by_lines(self, start: int, counted: list[Line] | None) -> list[Line]:
        """The body up to the next header; as counted where words follow that are no part of it."""
        end, self._at = self._at, start
        try:
            return self._until_header()
        except ToolError:
            if counted is None:
                raise
            self._at = end
            return counted

    def _counted(self, old: int, new: int) -> list[Line] | None:
        """The lines of a hunk by the counts in its header; None if the counts cannot be right."""
        body: list[Line] = []
        while old > 0 or new > 0:
            if self._at == len(self._lines):
                return None
            text = self._lines[self._at]
            if text.startswith("\\"):
                _without_newline(body)
            elif text and text[0] not in _MARKS:
                return None
            else:
                line = Line(_MARKS[text[0]], text[1:]) if text else Line(" ", "")
                old -= line.mark != "+"
                new -= line.mark != "-"
                body.append(line)
            self._at += 1
        if self._at < len(self._lines) and self._lines[self._at].startswith("\\"):
            _without_newline(body)
            self._at += 1
        return body if old == new == 0 else None

    def _goes_on(self, at: int, *, blanks: bool = True) -> bool:
        """Whether more lines of the hunk follow at line ``at``, so that its counts were too small.

        Without ``blanks`` only a change right below counts, because a lost context line does no harm.
        """
        while blanks and at < len(self._lines) and not self._lines[at]:
            at += 1
        marks = " +-" if blanks else "+-"
        if at == len(self._lines) or not self._lines[at].startswith(tuple(marks)):
            return False
        return not (follows(self._lines, at) or self._signed(at))

    def _until_header(self) -> list[Line]:
        body: list[Line] = []
        blanks = 0
        while self._at < len(self._lines) and not self._ends():
            text = self._lines[self._at]
            if text.startswith("\\"):
                _without_newline(body)
            elif not text or text[0] == "\t":
                # An editor took the space off an empty line, or the model left it out.
                body.append(Line(" ", text))
            elif text[0] in _MARKS:
                body.append(Line(_MARKS[text[0]], text[1:]))
            else:
                raise self._wrong(
                    f"{gist(text, 60)!r} is neither context nor change",
                    "Lines of a hunk begin with a space, + or -.",
                )
            blanks = 0 if text else blanks + 1
            self._at += 1
        if len(body) == blanks:
            raise self._wrong(
                "this hunk has no lines", "Lines of a hunk begin with a space, + or -."
            )
        return body[: len(body) - blanks]

    def _ends(self) -> bool:
        line = self._lines[self._at]
        if line.startswith(("@@", "diff --git ")) or follows(self._lines, self._at):
            return True
        # A header-like line that may be content does not end the hunk where changes follow below it.
        below = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        goes_on = below.startswith(("+", "-")) and not below.startswith("--- ")
        return not goes_on and (
            line.startswith(("Index: ", "```", "*** ")) or self._signed(self._at)
        )

    def _signed(self, at: int) -> bool:
        """Whether git's signature below a mailed patch is next: two dashes and its version."""
        below = self._lines[at + 1] if at + 1 < len(self._lines) else ""
        line = self._lines[at].rstrip("\r")
        return line == "-- " or (line.rstrip() == "--" and _VERSION.match(below) is not None)

    def _wrong(self, what: str, hint: str) -> ToolError:
        return ToolError(f"patchContent, line {self._at + 1}: {what}.", hint=hint)


def _without_newline(body: list[Line]) -> None:
    if body:
        body[-1] = replace(body[-1], newline=False)


def _is_marked_within(body: Sequence[Line]) -> bool:
    """Whether a line without a newline has others of the same side below it."""
    sides = ([line.newline for line in body if line.mark != mark] for mark in "+-")
    return not all(newline for side in sides for newline in side[:-1])
