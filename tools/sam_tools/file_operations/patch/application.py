"""Applies a patch to a text: unchanged lines come from the file, new ones from the patch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sam_tools.file_operations.document import Document
from sam_tools.file_operations.patch.pieces import FilePatch, Hunk, Line
from sam_tools.file_operations.patch.placement import Ground, HunkPosition, Misfit
from sam_tools.file_operations.replacement import nearest
from sam_tui.core.errors import ToolError
from sam_tui.core.text.plain import gist, printable

_WIDTH = 100


def refused(text: str, patch: FilePatch, hunk: Hunk, misfit: Misfit, name: str) -> ToolError:
    """The error for a hunk that fits nowhere: the hunk, the place, and the file's text there."""
    total = len(patch.hunks)
    which = f"hunk {hunk.number} of {total}" if total > 1 else "the hunk"
    spots = ", ".join(str(spot) for spot in misfit.spots[:10])
    where = f" at line {hunk.start}" if hunk.start else ""
    match misfit.reason:
        case "several":
            return ToolError(
                f"{name}: {which} fits in {len(misfit.spots)} places: lines {spots}. Nothing was "
                "changed.",
                hint="Add lines of context, or an @@ line that names what it stands in.",
            )
        case "overlap":
            return ToolError(
                f"{name}: {which} overlaps another hunk (line {spots}). Nothing was changed.",
                hint="Make one hunk of the two.",
            )
        case "anchor":
            return ToolError(
                f"{name}: {which} belongs below {gist(misfit.anchor, 100)!r}, which is not in the file. "
                "Nothing was changed.",
                hint=nearest(text, misfit.anchor) or "Read the file and copy that line exactly.",
            )
        case "bare":
            return ToolError(
                f"{name}: {which} has neither context nor a line number. Nothing was changed.",
                hint="Add the lines above and below the change, each beginning with a space.",
            )
        case "begin" | "end" as edge:
            side = "above" if edge == "begin" else "below"
            return ToolError(
                f"{name}: {which} has no context {side} its change, so it belongs where the file "
                f"{edge}s; its lines stand at line {spots}. Nothing was changed.",
                hint=f"Add the lines {side} the change, each beginning with a space.",
            )
        case "nowhere":
            return ToolError(
                f"{name}: {which} does not fit{where}; {_instead(text, hunk)}. Nothing was changed.",
                hint=_hint(text, hunk),
            )


def _instead(text: str, hunk: Hunk) -> str:
    """The first line that differs between hunk and file, in words, where the hunk nearly fits."""
    lines = text.replace("\r\n", "\n").split("\n")
    old = [line.text.rstrip() for line in hunk.old]
    begin = _likeliest(lines, old)
    if begin is None and hunk.start is not None and hunk.start <= len(lines):
        begin = hunk.start - 1
    if begin is not None:
        pairs = zip(lines[begin:], old, strict=False)
        for number, (actual, expected) in enumerate(pairs, begin + 1):
            if actual.rstrip() != expected:
                return f"line {number} is {_quoted(actual)}, and the patch has {_quoted(expected)}"
    return "its lines are not in the file"


def _likeliest(lines: Sequence[str], old: Sequence[str]) -> int | None:
    """The line at which the hunk begins if most of its lines match there; None where few do."""
    positions = {line: index for index, line in enumerate(old) if line.strip()}
    votes = Counter(
        at - positions[line]
        for at, line in enumerate(map(str.rstrip, lines))
        if line in positions and at >= positions[line]
    )
    best = votes.most_common(1)
    return best[0][0] if best and best[0][1] * 2 >= len(positions) else None


def _quoted(line: str) -> str:
    return repr(printable(line if len(line) <= _WIDTH else line[:_WIDTH] + "…"))


def _hint(text: str, hunk: Hunk) -> str:
    old = "\n".join(line.text.removesuffix("\r") for line in hunk.old)
    new = "\n".join(line.text.removesuffix("\r") for line in hunk.new)
    plain = text.replace("\r\n", "\n")
    if new.strip() and new != old and f"\n{new}\n" in f"\n{plain}\n":
        line = f"\n{plain}\n".index(f"\n{new}\n")
        return f"The change is there already, at line {plain.count(chr(10), 0, line) + 1}."
    return nearest(text, old) or "Read the file and copy its lines exactly, white space included."


_Indents = tuple[str, str]
"""The indentation of a line in the patch, and in the file."""


def reindented(current: Sequence[str], lines: Sequence[Line]) -> tuple[Line, ...] | None:
    """The hunk's lines with the file's indentation for new ones; unchanged where it does not differ.

    ``current`` are the file's lines at the place of the old ones. None where the depth of a new line
    is unclear.
    """
    rows = _indents(current, lines)
    new = {_indent(line.text) for line in lines if _is_new(line)}
    pairs = {(patch, file) for patch, file, _ in rows}
    replaced = [(patch, file) for patch, file, old_indent in rows if old_indent] or list(pairs)
    if _is_right(new, pairs, replaced):
        return tuple(lines)
    meant = _meant(new, pairs)
    if not new <= meant.keys():
        return None
    return tuple(_shifted(line, meant) if _is_new(line) else line for line in lines)


def _indents(current: Sequence[str], lines: Sequence[Line]) -> list[tuple[str, str, bool]]:
    """For each old line with text: its indent in the patch and in the file, and whether it is removed."""
    old = [line for line in lines if line.mark != "+"]
    return [
        (_indent(line.text), _indent(row), line.mark == "-")
        for line, row in zip(old, current, strict=True)
        if line.text.strip()
    ]


def _shifted(line: Line, meant: Mapping[str, str]) -> Line:
    return replace(line, text=meant[_indent(line.text)] + line.text.lstrip(" \t"))


def _is_new(line: Line) -> bool:
    return line.mark == "+" and bool(line.text.strip())


def _is_right(new: set[str], pairs: set[_Indents], replaced: Sequence[_Indents]) -> bool:
    """Whether the new lines have the file's indentation already, though old lines of the patch do not."""
    # One correct line means that new ones are correct as well: only context was written carelessly.
    if not new or all(a == b for a, b in pairs) or any(a == b != "" for a, b in pairs):
        return True
    patch, file = min(replaced, key=lambda pair: len(pair[0]))
    return min(new, key=len) == file != patch


def _meant(new: set[str], pairs: set[_Indents]) -> dict[str, str]:
    """The file's indent for each indent of the patch; those that are unclear are missing."""
    patch_base, file_base = min(pairs, key=lambda pair: len(pair[0]))
    meant = dict(pairs) if len({patch for patch, _ in pairs}) == len(pairs) else {}
    if all(file == file_base + patch[len(patch_base) :] for patch, file in pairs):
        meant |= {i: file_base + i[len(patch_base) :] for i in new if i.startswith(patch_base)}
    return meant


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


@dataclass(frozen=True, slots=True)
class _Row:
    """A line and its end; the last one of a file may have none."""

    text: str
    end: str


class _Text:
    """A document in lines. Lines are separated from their ends only where something changes."""

    def __init__(self, document: Document) -> None:
        self.separator, self.usual = document.separator, document.newline
        self.feeds = "\n" in document.text
        self._raw = document.text.split(self.separator)
        self.unended = bool(self._raw[-1])
        if not self.unended:
            self._raw.pop()

    @property
    def lines(self) -> list[str]:
        """All lines without their ends."""
        if self.separator == "\r":
            return self._raw
        return [line.removesuffix("\r") for line in self._raw]

    def rows(self, begin: int, stop: int) -> list[_Row]:
        """Lines with their ends."""
        return [self._row(index) for index in range(begin, stop)]

    def _row(self, index: int) -> _Row:
        raw = self._raw[index]
        if self.unended and index == len(self._raw) - 1:
            return _Row(raw, "")
        if self.separator == "\n" and raw.endswith("\r"):
            return _Row(raw[:-1], "\r\n")
        return _Row(raw, self.separator)

    def lines_between(self, begin: int, stop: int) -> list[str]:
        """Return a range of lines of the file unchanged, as one text; empty for an empty range."""
        if begin == stop:
            return []
        end = "" if self.unended and stop == len(self._raw) else self.separator
        return [self.separator.join(self._raw[begin:stop]) + end]

    def joined(self, parts: Sequence[str]) -> str:
        """One text: only its last line may lack an end."""
        inner = [part if part.endswith(self.separator) else part + self.usual for part in parts]
        return "".join([*inner[:-1], *parts[-1:]])


def created(patch: FilePatch, name: str) -> str:
    """The content of a new file. Raises ``ToolError`` where lines would have to be there already."""
    rows: list[str] = []
    for hunk in patch.hunks:
        for line in hunk.lines:
            if line.mark == "-":
                raise ToolError(
                    f"{name}: the patch makes this file new but removes {gist(line.text, 60)!r} from it.",
                    hint="A new file has + lines only. Update an existing one under its own name.",
                )
            rows.append(line.text + ("\n" if line.newline else ""))
    return "".join(rows)


def patched(
    document: Document,
    patch: FilePatch,
    name: str,
    *,
    style: Literal["git", "unified", "envelope"],
) -> tuple[str, list[str]]:
    """The text after all hunks, and remarks on those that moved or fit only with fuzz.

    Raises ``ToolError`` for the first hunk that does not fit.
    """
    text = _Text(document)
    lines = text.lines
    ground = Ground(lines, style=style, unended=text.unended)
    placed: list[tuple[HunkPosition, Hunk]] = []
    remarks: list[str] = []
    for hunk in patch.hunks:
        try:
            spot = ground.locate(hunk)
            fitted = (
                hunk if style == "git" else _fitted(lines, spot, hunk, strict=style == "unified")
            )
            placed.append((spot, fitted))
            remarks += _remarks(spot, hunk, indented=fitted is not hunk)
        except Misfit as misfit:
            raise refused(document.text, patch, hunk, misfit, name) from None
    # Equal places are insertions; they stay in the order of the patch.
    placed.sort(key=lambda item: (item[0].at, item[0].end))
    result: list[str] = []
    at = 0
    for spot, hunk in placed:
        result += text.lines_between(at, spot.at)
        result += [row.text + row.end for row in _changed(text, spot, hunk)]
        at = spot.end
    return text.joined([*result, *text.lines_between(at, len(lines))]), remarks


def _fitted(lines: Sequence[str], spot: HunkPosition, hunk: Hunk, *, strict: bool) -> Hunk:
    """The hunk with the file's indentation. Raises ``Misfit`` where ``strict`` and unclear."""
    middle = hunk.lines[spot.head : len(hunk.lines) - spot.tail]
    fitted = reindented(lines[spot.at : spot.end], middle)
    if fitted is None and strict:
        raise Misfit("nowhere")
    if fitted is None or fitted == middle:
        return hunk
    ends = hunk.lines[: spot.head], hunk.lines[len(hunk.lines) - spot.tail :]
    return replace(hunk, lines=(*ends[0], *fitted, *ends[1]))


def _remarks(spot: HunkPosition, hunk: Hunk, *, indented: bool) -> list[str]:
    """Remarks on a hunk that moved, needed fuzz or was indented anew; empty for any other."""
    words: list[str] = []
    at = spot.at - spot.head + 1
    if hunk.start is not None and hunk.old and at != hunk.start:
        words.append(f"offset {at - hunk.start:+d}")
    if spot.head or spot.tail:
        words.append(f"fuzz {max(spot.head, spot.tail)}")
    if indented:
        words.append("indented as the file is")
    return [f"hunk {hunk.number} at line {at} ({', '.join(words)})"] if words else []


def _changed(text: _Text, spot: HunkPosition, hunk: Hunk) -> list[_Row]:
    """The lines at the hunk's place afterwards: context from the file, new lines from the patch."""
    lines = hunk.lines[spot.head : len(hunk.lines) - spot.tail]
    rows = text.rows(spot.at, spot.end)
    literal = _literal(rows, lines) if text.feeds else _spelt(lines)
    ends = [row.end for row in rows if row.end]
    open_end = bool(rows) and not rows[-1].end and not hunk.marked
    result: list[_Row] = []
    index = 0
    for line in lines:
        if line.mark == "+":
            # If a file mixes line ends, new lines have those of the lines around them.
            around = ends[max(index - 1, 0) :][:1] or ends[-1:] or [text.usual]
            end = _end(line, around[0], literal=literal)
            result.append(_new(line, text.separator, end, open_end=open_end))
            continue
        if line.mark == " ":
            result.append(rows[index])
        index += 1
    return result


def _spelt(lines: Sequence[Line]) -> bool:
    """Whether carriage returns are written out in the patch."""
    return any(line.text.endswith("\r") for line in lines)


def _literal(rows: Sequence[_Row], lines: Sequence[Line]) -> bool:
    """Whether the patch spells carriage returns out, and just as the file has them."""
    old = [line for line in lines if line.mark != "+"]
    return _spelt(lines) and all(
        line.text.endswith("\r") == (row.end == "\r\n")
        for line, row in zip(old, rows, strict=True)
        if row.end
    )


def _end(line: Line, around: str, *, literal: bool) -> str:
    if not literal:
        return around
    return "\r\n" if line.text.endswith("\r") else "\n"


def _new(line: Line, separator: str, end: str, *, open_end: bool) -> _Row:
    text = line.text.removesuffix("\r") if separator == "\n" else line.text
    # Where the patch does not say otherwise, the last line still ends without a newline.
    return _Row(text, end if line.newline and not open_end else "")
