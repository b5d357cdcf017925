"""The ``*** Begin Patch`` envelope that models are trained on: context instead of line numbers."""

import re
from collections.abc import Sequence

from sam_tools.file_operations.patch.pieces import FilePatch, Hunk, Line, Mark
from sam_tools.file_operations.patch.unified import numbered
from sam_tui.core.errors import ToolError
from sam_tui.core.text.plain import gist

_SECTION = re.compile(r"\*\*\* (Update|Add|Delete) File:\s*(.*?)\s*\Z")
_MOVE = re.compile(r"\*\*\* Move to:\s*(.*?)\s*\Z")
_QUOTED = re.compile(r"\A([`\"])(.+)\1\Z")
_MARKS: dict[str, Mark] = {" ": " ", "+": "+", "-": "-"}


def parse_envelope(lines: Sequence[str]) -> tuple[FilePatch, ...]:
    """The files of an envelope in order. Raises ``ToolError`` for a line outside of every file."""
    files: list[FilePatch] = []
    at = 0
    # Text that a model writes before, between and after envelopes is ignored.
    inside = not any(line.rstrip() == "*** Begin Patch" for line in lines)
    while at < len(lines):
        line = lines[at]
        section = _SECTION.match(line)
        if section is None:
            if line.rstrip() in ("*** Begin Patch", "*** End Patch"):
                inside = line.rstrip() == "*** Begin Patch"
            elif line.strip() and inside:
                raise _wrong(at, f"{gist(line, 60)!r} stands outside of any file")
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not _ends(lines[end]):
            end += 1
        path = _QUOTED.sub(r"\2", section[2])
        if not path:
            raise _wrong(at, "the file has no name")
        files.append(_file(section[1], path, lines[at + 1 : end], at + 1))
        at = end
    return tuple(files)


def _ends(line: str) -> bool:
    return bool(_SECTION.match(line)) or line.rstrip() in ("*** End Patch", "*** Begin Patch")


def _file(verb: str, path: str, body: Sequence[str], first: int) -> FilePatch:
    if verb == "Delete":
        for index, line in enumerate(body):
            if line.strip():
                raise _wrong(first + index, "a deleted file has no content")
        return FilePatch("delete", path, path, unread=True)
    if verb == "Add":
        return FilePatch("create", path, path, (Hunk(1, _added(body, first)),))
    move = _MOVE.match(body[0]) if body else None
    if move is not None:
        body, first = body[1:], first + 1
        if not move[1]:
            raise _wrong(first - 1, "the new name is missing")
    hunks = _Hunks(body, first).read()
    if not hunks and move is None:
        raise _wrong(first - 1, f"nothing is changed in {path}")
    return FilePatch("update", path, move[1] if move else path, tuple(hunks))


def _added(body: Sequence[str], first: int) -> tuple[Line, ...]:
    """The content of a new file. Either every line has its plus or none has."""
    lines = list(body)
    while lines and not lines[-1].strip():
        lines.pop()
    if lines and lines[-1].rstrip() == "*** End of File":
        lines.pop()
    if not any(line.startswith("+") for line in lines):
        return tuple(Line("+", line) for line in lines)
    for index, line in enumerate(lines):
        if line and not line.startswith("+"):
            raise _wrong(first + index, "lines of a new file begin with +")
    return tuple(Line("+", line[1:]) for line in lines)


class _Hunks:
    """The hunks of one updated file."""

    def __init__(self, body: Sequence[str], first: int) -> None:
        self._body = body
        self._first = first
        self._hunks: list[Hunk] = []
        self._lines: list[Line] = []
        self._anchors: list[str] = []
        self._start: int | None = None
        self._blanks = 0

    def read(self) -> list[Hunk]:
        """All of them. Several ``@@`` lines in a row narrow one place down."""
        for index, line in enumerate(self._body):
            if line.startswith("@@"):
                self._finish()
                self._anchor(line)
            elif line.rstrip() == "*** End of File":
                self._finish(at_end=True)
            elif not line or line[0] == "\t":
                self._lines.append(Line(" ", line))
            elif line[0] in _MARKS:
                self._lines.append(Line(_MARKS[line[0]], line[1:]))
            elif line.startswith("\\"):
                continue  # The file's last newline is unchanged, whatever the patch says about it.
            else:
                raise _wrong(
                    self._first + index, f"{gist(line, 60)!r} is neither context nor change"
                )
            self._blanks = 0 if line else self._blanks + 1
        self._finish()
        return self._hunks

    def _anchor(self, line: str) -> None:
        numbers = numbered(line)
        if numbers is not None:
            self._start = numbers[0]
            return
        text = line.removeprefix("@@").removeprefix(" ").rstrip("\r")
        text = text.removesuffix("@@").rstrip() if text.endswith("@@") else text
        if text.strip():
            self._anchors.append(text)

    def _finish(self, *, at_end: bool = False) -> None:
        lines = self._lines[: len(self._lines) - self._blanks] if self._blanks else self._lines
        if any(line.mark != " " for line in lines):
            number = len(self._hunks) + 1
            hunk = Hunk(number, tuple(lines), self._start, tuple(self._anchors), at_end)
            self._hunks.append(hunk)
            self._anchors = []
        elif lines:
            # Context alone says where the next change is.
            self._anchors += [line.text for line in lines if line.text.strip()][-1:]
        self._lines, self._start, self._blanks = [], None, 0


def _wrong(at: int, what: str) -> ToolError:
    return ToolError(
        f"patchContent, line {at + 1}: {what}.",
        hint="An envelope is: *** Begin Patch, then *** Update File: path with @@ and lines that "
        "begin with a space, + or -; *** Add File: path with + lines; *** Delete File: path; then "
        "*** End Patch.",
    )
