"""Files named in a prompt after an ``@``: where one is being typed, and which fit it."""

import heapq
import re
from collections.abc import Iterable, Sequence

LISTED = 50
"""Most files that are offered at once."""
_BEGUN = re.compile(r"(?:^|(?<=[\s(\"'`]))@([^\s@]*)$")


def partial_mention(before: str) -> str | None:
    """What stands between the last ``@`` and the end of a line; None where none begins a word."""
    match = _BEGUN.search(before)
    return match[1] if match is not None else None


def fitting(paths: Iterable[str], part: str) -> Sequence[str]:
    """The paths that hold the letters of ``part`` in this order, the closest first.

    Closer is what begins with it (the name before the whole path), then what holds it in one piece,
    then what is short. Case counts for nothing.
    """
    typed = part.lower()
    # Each letter at its first place and no other, so that no name makes this slow.
    letters = map(re.escape, typed)
    loose = re.compile("".join(f"[^{letter}]*+{letter}" for letter in letters))
    ranked: list[tuple[int, int, str]] = []
    for path in paths:
        low = path.lower()
        if typed in low:
            name = low.rsplit("/", 1)[-1]
            rank = 0 if name.startswith(typed) else 1 if low.startswith(typed) else 2
        elif loose.match(low):
            rank = 3
        else:
            continue
        ranked.append((rank, len(path), path))
    return [path for _, _, path in heapq.nsmallest(LISTED, ranked)]


def written(path: str) -> str:
    """A path as it is put into a prompt: in quotes where a blank would cut it."""
    return f'"{path}" ' if re.search(r"\s", path) else f"{path} "
