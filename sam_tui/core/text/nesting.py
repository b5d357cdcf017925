"""JSON from outside: how deep it nests, also while it arrives in pieces, and its objects."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

DEEPEST = 200
"""The most levels of a call's arguments, because they are read recursively."""
_OUTSIDE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'["\\]')


class Nesting:
    """Levels of objects and lists: ``depth`` of those that are open, ``deepest`` of all so far."""

    def __init__(self) -> None:
        self.depth = 0
        self.deepest = 0
        self._in_string = False
        self._escaped = False

    @property
    def closed(self) -> bool:
        """Whether the text is one object or list, as far as brackets tell."""
        return self.deepest > 0 and self.depth <= 0

    def feed(self, text: str) -> None:
        """Take the next piece."""
        start = 1 if self._escaped and text else 0
        self._escaped = self._escaped and not text
        while match := (_IN_STRING if self._in_string else _OUTSIDE).search(text, start):
            mark, start = match[0], match.end()
            if mark == '"':
                self._in_string = not self._in_string
            elif mark == "\\":
                self._escaped = start == len(text)
                start += 1
            elif mark in "{[":
                self.depth += 1
                self.deepest = max(self.deepest, self.depth)
            else:
                self.depth -= 1


def depth_of(text: str) -> int:
    """Return the depth to which a JSON text is nested."""
    nesting = Nesting()
    nesting.feed(text)
    return nesting.deepest


def mapping_of(value: object) -> Mapping[str, Any]:
    """An object of decoded JSON; an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object of a text; None for any other text, or one that nests too deep."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
