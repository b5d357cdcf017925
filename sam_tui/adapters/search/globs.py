"""Globs on paths: ``*``, ``?``, ``[a-z]``, ``{a,b}`` and ``**`` across folders.

A glob without a slash matches a name at any depth; one with a slash is anchored at the folder that
is searched. ``dir/**`` is everything below ``dir``.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from sam_tui.core.errors import ToolError

_MOST_ALTERNATIVES = 200
_MOST_CROSSINGS = 6
_PLAIN_NAME = re.compile(r"[\w.*?\- ]+\Z")


class Glob:
    """One glob, compiled. Raises ``ToolError`` when it is empty or unreasonably branched.

    With ``below``, a glob without wildcards also matches everything below a folder of that name.
    """

    def __init__(self, pattern: str, *, below: bool = False) -> None:
        self._alternatives = [_anchored(alternative) for alternative in _expanded(pattern)]
        if below and not re.search(r"[*?\[]", pattern):
            self._alternatives += [[*parts, "**"] for parts in self._alternatives]
        whole = "|".join(_regex(parts) for parts in self._alternatives)
        self._match = re.compile(f"(?:{whole})\\Z", re.DOTALL).match
        self.hidden = any(part.startswith(".") for parts in self._alternatives for part in parts)
        """Whether a part of the glob begins with a dot."""
        self.everything = ["**"] in self._alternatives
        """Whether the glob matches every path."""

    def matches(self, path: str) -> bool:
        """Whether a path relative to the searched folder matches as a whole."""
        return self._match(path) is not None

    @property
    def names(self) -> tuple[str, ...]:
        """Simple globs that every matching file name fits, for a first filter; empty if there are none."""
        names = {parts[-1] for parts in self._alternatives}
        simple = all(name.strip("*") and _PLAIN_NAME.match(name) for name in names)
        return tuple(sorted(names)) if simple else ()


def _expanded(pattern: str) -> list[str]:
    patterns: list[str] = []
    for alternative in _braces(pattern):
        patterns.append(alternative)
        if len(patterns) > _MOST_ALTERNATIVES:
            raise ToolError(
                f"The glob {pattern!a} has more than {_MOST_ALTERNATIVES} alternatives.",
                hint="Use a simpler one, or several calls.",
            )
    return patterns


def _braces(pattern: str) -> Iterator[str]:
    """Yield every alternative, left to right; an unpaired brace is literal."""
    begin = pattern.find("{")
    while begin >= 0:
        end, commas = _partner(pattern, begin)
        if end >= 0 and commas:
            cuts = [begin, *commas, end]
            for left, right in pairwise(cuts):
                yield from _braces(pattern[:begin] + pattern[left + 1 : right] + pattern[end + 1 :])
            return
        begin = pattern.find("{", begin + 1)
    yield pattern


def _partner(pattern: str, begin: int) -> tuple[int, list[int]]:
    depth, commas = 0, list[int]()
    for index in range(begin, len(pattern)):
        character = pattern[index]
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return index, commas
        elif character == "," and depth == 1:
            commas.append(index)
    return -1, []


def _anchored(pattern: str) -> list[str]:
    """The components of a glob from the searched folder down."""
    trimmed = pattern.strip()
    if trimmed.endswith("/"):
        trimmed += "**"
    parts = [part for part in trimmed.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise ToolError(
            f"The glob {pattern!a} names nothing below the searched folder.",
            hint="Use one such as **/*.py, and rootPath for another folder.",
        )
    if "/" not in trimmed:
        parts.insert(0, "**")
    pairs = pairwise(["", *parts])
    joined = [part for before, part in pairs if (before, part) != ("**", "**")]
    if joined.count("**") > _MOST_CROSSINGS:
        raise ToolError(f"The glob {pattern!a} has more than {_MOST_CROSSINGS} parts `**`.")
    return joined


def _regex(parts: list[str]) -> str:
    *folders, last = parts
    pieces = [r"(?:[^/]+/)*" if part == "**" else _component(part) + "/" for part in folders]
    pieces.append(r"(?s:.+)" if last == "**" else _component(last))
    return "".join(pieces)


def _component(part: str) -> str:
    """One name. Runs between stars are taken leftmost and for good, so matching stays linear."""
    runs = _runs(part)
    first, *others = runs
    if not others:
        return first
    middle = "".join(f"(?>[^/]*?{run})" for run in others[:-1] if run)
    return f"{first}{middle}[^/]*{others[-1]}"


def _runs(part: str) -> list[str]:
    runs, index = [""], 0
    while index < len(part):
        character = part[index]
        index += 1
        if character == "*":
            runs.append("")
        elif character == "?":
            runs[-1] += "[^/]"
        elif character == "[" and (end := _class_end(part, index)) > 0:
            runs[-1] += _class(part[index:end])
            index = end + 1
        elif character == "\\" and index < len(part):
            runs[-1] += re.escape(part[index])
            index += 1
        else:
            runs[-1] += re.escape(character)
    return runs


def _class_end(part: str, begin: int) -> int:
    """The index of the end of a class, or -1; a ``]`` directly after the opening belongs to the class."""
    first = begin + 1 if part[begin : begin + 1] in ("!", "^") else begin
    return part.find("]", first + 1)


def _class(inner: str) -> str:
    negated = inner[0] in "!^"
    ranges: list[str] = []
    remaining = inner[1:] if negated else inner
    while remaining:
        if len(remaining) >= 3 and remaining[1] == "-":
            low, high, remaining = remaining[0], remaining[2], remaining[3:]
            if low <= high:
                ranges.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            ranges.append(re.escape(remaining[0]))
            remaining = remaining[1:]
    if not ranges:
        return "[^/]" if negated else r"(?!)"
    return f"[^/{''.join(ranges)}]" if negated else f"(?!/)[{''.join(ranges)}]"
