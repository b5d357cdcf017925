"""Where a text that was not found nearly occurs: the hint that makes the next try succeed."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from heapq import nlargest

_MOST_LINES = 20_000
_WIDTH = 200
_ENOUGH = 0.6
_SHOWN_LINES = 8
_MOST_COMPARED = 60
_MOST = 3


def nearest(text: str, sought: str) -> str:
    """A few places that resemble ``sought``, with line numbers; empty when nothing does.

    First places that differ in white space only, then those whose first line is most alike.
    """
    lines = _lines(text)[:_MOST_LINES]
    block = _lines(sought)
    while len(block) > 1 and not block[-1].strip():
        block.pop()
    while len(block) > 1 and not block[0].strip():
        block.pop(0)
    spots = _same_but_space(lines, block)
    if spots:
        return _told("It occurs with other white space at", lines, spots, len(block))
    spots = _alike(lines, block)
    return _told("The nearest is at", lines, spots, len(block)) if spots else ""


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _same_but_space(lines: Sequence[str], block: Sequence[str]) -> list[int]:
    needles = ["".join(line.split()) for line in block]
    if not any(needles):
        return []
    indices: list[int] = []
    squeezed = ["".join(line.split()) for line in lines]
    single = len(needles) == 1
    for index in range(len(squeezed) - len(needles) + 1):
        fits = needles[0] in squeezed[index] if single else squeezed[index] == needles[0]
        if fits and (single or squeezed[index : index + len(needles)] == needles):
            indices.append(index)
            if len(indices) == _MOST:
                break
    return indices


def _alike(lines: Sequence[str], block: Sequence[str]) -> list[int]:
    """Starts of the most similar blocks, judged by their first line, then by the whole."""
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(block[0].strip()[:_WIDTH])
    scored: list[tuple[float, int]] = []
    seen: dict[str, float] = {}
    for index, line in enumerate(lines):
        key = line.strip()[:_WIDTH]
        if key not in seen:
            matcher.set_seq1(key)
            alike = key and matcher.real_quick_ratio() >= _ENOUGH
            seen[key] = matcher.quick_ratio() if alike else 0.0
        if seen[key] >= _ENOUGH:
            scored.append((seen[key], index))
    # The quick ratio only counts characters; a look at their order is for the best of those.
    best = [
        (_whole(lines, index, block), index)
        for _, index in nlargest(_MOST_COMPARED, scored, key=lambda item: item[0])
    ]
    best = [item for item in best if item[0] >= _ENOUGH]
    best.sort(key=lambda item: (-item[0], item[1]))
    return [index for _, index in best[: 1 if len(block) > 1 else _MOST]]


def _whole(lines: Sequence[str], index: int, block: Sequence[str]) -> float:
    size = min(len(block), _SHOWN_LINES)
    candidate = "\n".join(line[:_WIDTH] for line in lines[index : index + size])
    sought = "\n".join(line[:_WIDTH] for line in block[:size])
    return SequenceMatcher(None, candidate, sought, autojunk=False).ratio()


def _told(lead: str, lines: Sequence[str], spots: Sequence[int], size: int) -> str:
    excerpts: list[str] = []
    for index in spots:
        height = min(size, _SHOWN_LINES)
        where = f"line {index + 1}" if size == 1 else f"lines {index + 1}-{index + size}"
        excerpt = [line[:_WIDTH] for line in lines[index : index + height]]
        more = ["…"] if size > height else []
        excerpts.append("\n".join([f"{lead} {where}:", *excerpt, *more]))
    return "\n".join(excerpts)
