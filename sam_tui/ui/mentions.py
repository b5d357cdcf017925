"""Files named in a prompt after an ``@``: finds the name being typed, and the files that match it."""

import heapq
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

LISTED = 50
"""The most files that are offered at once."""
_DEEPEST = 4
"""A typed path of at least so many parts must name every folder in between."""
_COMPILED = (".pyc", ".pyo", ".class", ".o", ".so", ".a", ".obj", ".dll", ".exe")
_BEGUN = re.compile(r"(?:^|(?<=[\s(\"'`]))@([^\s@]*)$")


def partial_mention(before: str) -> str | None:
    """The text between the last ``@`` and the end of a line; None if no ``@`` begins a word."""
    match = _BEGUN.search(before)
    return match[1] if match is not None else None


class Candidates:
    """The files that a mention may mean, narrowed while a person types."""

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self._all = self._left = paths
        self._part = ""

    def fitting(self, part: str) -> Sequence[str]:
        """The closest matches."""
        paths = self._left if part.startswith(self._part) else self._all
        closest, self._left = fitting(paths, part)
        self._part = part
        return closest


def fitting(paths: Iterable[str], part: str) -> tuple[Sequence[str], Sequence[str]]:
    """The paths that contain the letters of ``part`` in this order: the closest first, and all matches.

    Paths that begin with ``part`` (first in the name, then in the whole path) are closest, then those
    that contain it in one piece, then short ones; compiled files come last. Case is ignored.
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
        rank += 4 * low.endswith(_COMPILED)
        ranked.append((rank, len(path), path))
    closest = [path for _, _, path in heapq.nsmallest(LISTED, ranked)]
    return closest, [path for _, _, path in ranked]


def naming(part: str) -> str:
    """A glob for the paths that ``fitting`` would find; each part between slashes is within one name.

    A folder that matches counts with all files below it.
    """
    names = part.split("/")
    spelled = ["".join(f"*{_either_case(letter)}" for letter in name) for name in names]
    between = "/**/" if len(spelled) < _DEEPEST else "/"
    pattern = "**/" + between.join(f"{name}*" for name in spelled)
    return f"{{{pattern},{pattern}/**}}"


def _either_case(letter: str) -> str:
    low, high = letter.lower(), letter.upper()
    if low == high or len(low) != len(high):
        return letter if letter.isalnum() or letter in "-_. " else f"\\{letter}"
    return f"[{low}{high}]"


def dropped_image(text: str) -> str:
    """The path of an image file, if a paste is nothing else: terminals send that for a dropped file."""
    from sam_tui.core.prompt.images import ENDINGS  # the first screen needs none of this

    line = text.strip()
    if "\n" in line or len(line) > 4096 or not line.lower().rstrip("'\"").endswith(ENDINGS):
        return ""
    if line.startswith("file://"):
        path = unquote(line.removeprefix("file://"))
    else:
        try:
            words = shlex.split(line)
        except ValueError:
            return ""
        path = words[0] if len(words) == 1 else ""
    return path if os.path.isabs(path) and '"' not in path and os.path.isfile(path) else ""


def written(name: str) -> str:
    """A file, or a server's resource, as a prompt names it: in quotes if it would end too early."""
    return f'@"{name}" ' if re.search(r"[\s`)\]]", name) else f"@{name} "
