"""A hunk that found no place, in words that make the next try succeed."""

from collections import Counter
from collections.abc import Sequence

from sam_tools.file_operations.candidates import nearest
from sam_tools.file_operations.patch.pieces import FilePatch, Hunk
from sam_tools.file_operations.patch.placement import Misfit
from sam_tui.core.errors import ToolError
from sam_tui.core.text.plain import printable

_WIDTH = 100


def refused(text: str, patch: FilePatch, hunk: Hunk, misfit: Misfit, name: str) -> ToolError:
    """The error for a hunk without a place: which one, where, and what stands there instead."""
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
                f"{name}: {which} belongs below {misfit.anchor[:100]!a}, which is not in the file. "
                "Nothing was changed.",
                hint=nearest(text, misfit.anchor) or "Read the file and copy that line exactly.",
            )
        case "bare":
            return ToolError(
                f"{name}: {which} has neither context nor a line number. Nothing was changed.",
                hint="Add the lines above and below the change, each beginning with a space.",
            )
        case "nowhere":
            return ToolError(
                f"{name}: {which} does not fit{where}; {_instead(text, hunk)}. Nothing was changed.",
                hint=_hint(text, hunk),
            )


def _instead(text: str, hunk: Hunk) -> str:
    """The first line that is another one in the file, where most of the others fit or should."""
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
    """The line where the hunk begins if most of its lines are right; None where few are."""
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
