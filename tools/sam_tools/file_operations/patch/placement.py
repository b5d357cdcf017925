"""The places of a file's hunks: by line number and context, as GNU patch does, or by context alone."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from sam_tools.file_operations.patch.pieces import Hunk


class Rows:
    """Lines, joined to one text for quick search. No line contains a line feed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n".join(["", *lines, ""])
        self._starts = array("Q", accumulate((len(line) + 1 for line in lines), initial=0))
        """The offset of the line feed before each line, and last of the one that ends the text."""

    def stand_at(self, line: int, sought: Sequence[str]) -> bool:
        """Whether the sought lines begin at line ``line``, counted from 0."""
        inside = 0 <= line < len(self._starts)
        return inside and self._text.startswith(_needle(sought), self._starts[line])

    def all(self, sought: Sequence[str], begin: int = 0) -> Iterator[int]:
        """Every line number from ``begin`` on at which the sought lines begin, in order."""
        needle = _needle(sought)
        line = min(begin, len(self._starts) - 1)
        while (at := self._text.find(needle, self._starts[line])) >= 0:
            line = bisect_left(self._starts, at)
            yield line
            line += 1

    def outward(self, sought: Sequence[str], line: int) -> Iterator[int]:
        """The same numbers, nearest to ``line`` first; the larger one first on a tie (as GNU patch)."""
        needle = _needle(sought)
        middle = min(max(line, 0), len(self._starts) - 1)
        onward = self.all(sought, middle)
        ahead = next(onward, None)
        behind = self._before(needle, middle)
        while ahead is not None or behind is not None:
            if behind is None or (ahead is not None and ahead - line <= line - behind):
                assert ahead is not None
                yield ahead
                ahead = next(onward, None)
            else:
                yield behind
                behind = self._before(needle, behind)

    def _before(self, needle: str, line: int) -> int | None:
        if line == 0:
            return None
        at = self._text.rfind(needle, 0, self._starts[line - 1] + len(needle))
        return None if at < 0 else bisect_left(self._starts, at)


def _needle(sought: Sequence[str]) -> str:
    return "\n".join(["", *sought, ""])


_MOST_FUZZ = 2
_VARIANTS = {
    "'": "\u2018\u2019\u201a\u201b\u2032",
    '"': "\u201c\u201d\u201e\u201f\u2033",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    " ": "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
_PLAIN = {ord(variant): plain for plain, variants in _VARIANTS.items() for variant in variants}
"""Typographic characters of files, each with the plain character that models write instead."""


@dataclass(frozen=True, slots=True)
class HunkPosition:
    """The place where a hunk fits: its old lines begin at line ``at`` (from 0), without the first
    ``head`` and the last ``tail`` of them."""

    at: int
    length: int
    head: int = 0
    tail: int = 0

    @property
    def end(self) -> int:
        """The first line after it."""
        return self.at + self.length


@dataclass
class Misfit(Exception):
    """A hunk fits nowhere, or in several places: ``spots`` are their lines from 1.

    ``begin`` and ``end``: the file has its lines, but its context puts them at the edge of the file.
    """

    reason: Literal["nowhere", "several", "overlap", "anchor", "bare", "begin", "end"]
    spots: tuple[int, ...] = ()
    anchor: str = ""


def _exact(text: str) -> str:
    return text.removesuffix("\r")


_Comparison = Callable[[str], str]


def _plain(text: str) -> str:
    """Typographic quotes, dashes and blanks as the plain ones that models write instead."""
    return text.strip() if text.isascii() else text.translate(_PLAIN).strip()


_UNIFIED: tuple[tuple[_Comparison, int], ...] = (
    (_exact, 0), (str.rstrip, 0), (_exact, 1), (_exact, 2), (str.rstrip, 2), (_plain, 0),
)  # fmt: skip
_GIT = ((_exact, 0), (_exact, 1), (_exact, 2))
_ENVELOPE: tuple[tuple[_Comparison, int], ...] = (
    (_exact, 0), (str.rstrip, 0), (str.strip, 0), (_plain, 0),
)  # fmt: skip


class Ground:
    """The lines of one file, and which of them earlier hunks cover."""

    def __init__(
        self,
        lines: Sequence[str],
        *,
        style: Literal["git", "unified", "envelope"],
        unended: bool = False,
    ) -> None:
        self._lines = lines
        self._levels = {"git": _GIT, "unified": _UNIFIED, "envelope": _ENVELOPE}[style]
        self._unended = unended
        self._style = style
        self._forms: dict[_Comparison, Rows] = {}
        self._placed: list[tuple[int | None, HunkPosition]] = []
        """The line that each earlier hunk names as its start, and its position."""
        self._drift = 0
        self._cursor = 0

    def locate(self, hunk: Hunk) -> HunkPosition:
        """Find the hunk's place and take it. Raises ``Misfit``.

        With a line number the nearest place wins; without one there must be only one, below the
        lines placed before if possible.
        """
        above = self._below_anchors(hunk)
        spot = self._bare(hunk, above) if not hunk.old else self._found(hunk, above)
        self._placed.append((hunk.start, spot))
        self._cursor = spot.end
        if hunk.start is not None and hunk.old:
            self._drift = spot.at - spot.head - (hunk.start - 1)
        return spot

    def _below_anchors(self, hunk: Hunk) -> int | None:
        """The line of the innermost anchor; None without anchors."""
        at: int | None = None
        for anchor in hunk.anchors:
            begin = self._cursor if at is None else at + 1
            index = self._anchor(anchor, begin)
            if index is None and at is None:
                index = self._anchor(anchor, 0)
            if index is None:
                raise Misfit("anchor", anchor=anchor)
            at = index
        return at

    def _anchor(self, anchor: str, begin: int) -> int | None:
        for form in (_exact, str.rstrip, str.strip):
            index = next(self._formed(form).all([form(anchor)], begin), None)
            if index is not None:
                return index
        # A shortened signature is an anchor, too, if only one line contains it.
        parts = [i for i, line in enumerate(self._lines) if anchor.strip() in line]
        return parts[0] if len(parts) == 1 and parts[0] >= begin else None

    def _bare(self, hunk: Hunk, above: int | None) -> HunkPosition:
        """The position of a hunk that has new lines only. Raises ``Misfit``."""
        if above is not None:
            return HunkPosition(above + 1, 0)
        if hunk.start is not None:
            at = hunk.start + self._drift
            if not 0 <= at <= len(self._lines):
                raise Misfit("nowhere")
            if self._clashes(HunkPosition(at, 0)):
                raise Misfit("overlap", (at + 1,))
            return HunkPosition(at, 0)
        if self._style == "envelope" or not self._lines:
            return HunkPosition(len(self._lines), 0)
        raise Misfit("bare")

    def _found(self, hunk: Hunk, above: int | None) -> HunkPosition:
        clash: tuple[int, ...] = ()
        for form, fuzz in self._levels:
            trimmed = _trimmed(hunk, fuzz)
            if trimmed is None:
                continue
            if fuzz and self._is_made(hunk):
                break
            spots = self._spots(hunk, form, fuzz, trimmed)
            if hunk.start is not None and form is not _plain:
                spot, clashing = self._nearest(spots)
            else:
                spot, clashing = self._among(hunk, list(spots), above)
            if spot is not None:
                return spot
            clash = clash or clashing
        raise Misfit("overlap", clash) if clash else self._astray(hunk)

    def _astray(self, hunk: Hunk) -> Misfit:
        """The reason why a hunk fits nowhere: its lines are missing, or not at the edge of the file."""
        head, tail = _context(hunk)
        lines = self._formed(_exact).all([_exact(line.text) for line in hunk.old])
        spots = tuple(at + 1 for at, _ in zip(lines, range(10), strict=False))
        if self._style != "git" or not spots or head == tail or self._is_made(hunk):
            return Misfit("nowhere")
        return Misfit("begin" if head < tail else "end", spots)

    def _spots(
        self, hunk: Hunk, form: _Comparison, fuzz: int, trimmed: tuple[int, int]
    ) -> Iterator[HunkPosition]:
        """The places of the hunk's old lines, less ``trimmed`` lines of context at the two ends."""
        head, tail = trimmed
        old = [form(line.text) for line in hunk.old]
        middle = old[head : len(old) - tail]
        first = self._first_line(hunk)
        for at in self._matches(middle, form, hunk, head=head):
            if at - head < first:
                continue
            if self._style != "git" or self._ends_fit(hunk, at, trimmed, fuzz):
                yield HunkPosition(at, len(middle), head, tail)

    def _first_line(self, hunk: Hunk) -> int:
        """The first line that the hunk may begin at: none above the file, nor above an earlier hunk."""
        if hunk.start is None:
            return 0
        earlier = (spot for start, spot in self._placed if start is not None and start < hunk.start)
        return max((spot.at - spot.head for spot in earlier), default=0)

    def _among(
        self, hunk: Hunk, spots: Sequence[HunkPosition], above: int | None
    ) -> tuple[HunkPosition | None, tuple[int, ...]]:
        """The intended position among the free ones; if none is free, the line numbers of all."""
        free = [spot for spot in spots if not self._clashes(spot)]
        if free:
            return self._chosen(hunk, free, above), ()
        return None, tuple(spot.at + 1 for spot in spots)

    def _is_made(self, hunk: Hunk) -> bool:
        """Whether the file has the hunk's new lines already, so that fuzz must not add them again."""
        new = [line.text for line in hunk.new]
        lines = self._formed(_exact).all([_exact(line) for line in new])
        return bool(new) and next(lines, None) is not None

    def _ends_fit(self, hunk: Hunk, at: int, trimmed: tuple[int, int], fuzz: int) -> bool:
        """Whether it begins or ends the file where it has less context on one side, as GNU patch.

        Its last line must lack a newline just where the file's own does.
        """
        head, tail = _context(hunk)
        old, (front, back) = hunk.old, trimmed
        end = at + len(old) - front - back
        last = old[len(old) - back - 1]
        ends = end == len(self._lines)
        if last.newline == (ends and self._unended):
            return False
        fuzz_left = fuzz - max(head, tail)
        return (head + fuzz_left >= 0 or at == 0) and (tail + fuzz_left >= 0 or ends)

    def _matches(
        self, sought: Sequence[str], form: _Comparison, hunk: Hunk, *, head: int
    ) -> Iterator[int]:
        """Yield lines at which the old lines occur: from the hunk's line outwards, else in order."""
        lines = self._formed(form)
        last = len(self._lines) - len(sought)
        if hunk.at_end and lines.stand_at(last, sought):
            return iter((last,))
        if hunk.at_end and self._style != "git":
            return iter(())
        if hunk.start is None:
            return lines.all(sought)
        return lines.outward(sought, hunk.start - 1 + self._drift + head)

    def _nearest(
        self, spots: Iterator[HunkPosition]
    ) -> tuple[HunkPosition | None, tuple[int, ...]]:
        """The first place that is free, and the lines of those that are not."""
        clashing: list[int] = []
        for spot in spots:
            if not self._clashes(spot):
                return spot, ()
            clashing.append(spot.at + 1)
        return None, tuple(clashing)

    def _chosen(self, hunk: Hunk, free: Sequence[HunkPosition], above: int | None) -> HunkPosition:
        onward = free
        if hunk.start is None and above is not None:
            onward = [spot for spot in free if spot.at >= above][:1]
        elif hunk.start is None:
            onward = [spot for spot in free if spot.at >= self._cursor] or free
        if len(onward) > 1:
            raise Misfit("several", tuple(spot.at + 1 for spot in onward))
        if not onward:
            raise Misfit("nowhere")
        return onward[0]

    def _clashes(self, spot: HunkPosition) -> bool:
        """Whether a position overlaps one of an earlier hunk, or lies within it."""
        return any(
            spot.at < other.end and other.at < spot.end
            if spot.length and other.length
            else other.at < spot.at < other.end or spot.at < other.at < spot.end
            for _, other in self._placed
        )

    def _formed(self, form: _Comparison) -> Rows:
        if form not in self._forms:
            self._forms[form] = Rows([form(line) for line in self._lines])
        return self._forms[form]


def _trimmed(hunk: Hunk, fuzz: int) -> tuple[int, int] | None:
    """The numbers of context lines to omit at both ends, beginning with the longer end.

    None when that changes nothing, or leaves nothing to go by.
    """
    head, tail = _context(hunk)
    if not fuzz:
        return 0, 0
    context = max(head, tail)
    if fuzz > min(context, _MOST_FUZZ):
        return None
    front, back = max(0, fuzz + head - context), max(0, fuzz + tail - context)
    return (front, back) if front + back < len(hunk.old) else None


def _context(hunk: Hunk) -> tuple[int, int]:
    """The numbers of context lines at the beginning and the end."""
    marks = "".join(line.mark for line in hunk.lines)
    return len(marks) - len(marks.lstrip(" ")), len(marks) - len(marks.rstrip(" "))
