"""Arguments that an operation does not have: noticed where a call is parsed, named in its result."""

import json
from collections.abc import Collection
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, cast

from sam_tui.core.todos import one_line
from sam_tui.core.tooling.contract import ToolResult

_MOST = 8
"""Names that are listed."""
_LONGEST = 60
"""Characters of a name."""
IGNORED = "ignoredArguments"
"""Of a result that is a JSON object, and of the data for programs."""


class UnknownArguments:
    """Collects the names while the arguments of one call are read, those of nested objects included.

    ``routing`` are names that mean something to whoever chose the operation.
    """

    def __init__(self, routing: Collection[str] = ()) -> None:
        self._routing = routing
        self._names: dict[str, str] = {}

    def add(self, name: object, known: Collection[str]) -> None:
        """Note a name that is none of the ``known`` ones."""
        if name in self._routing:
            return
        written = one_line(str(name))
        shown = written if len(written) <= _LONGEST else written[: _LONGEST - 1] + "…"
        if shown not in self._names:
            close = get_close_matches(shown, known, n=1) if len(self._names) < _MOST else []
            self._names[shown] = close[0] if close else ""

    @property
    def words(self) -> tuple[str, ...]:
        """Each as it is shown, with the argument that may have been meant."""
        listed = [
            f"`{name}` (did you mean `{close}`?)" if close else f"`{name}`"
            for name, close in self._names.items()
        ]
        rest = len(listed) - _MOST
        return (*listed[:_MOST], *((f"{rest} more",) if rest > 0 else ()))


def with_ignored(result: ToolResult, words: Collection[str], *, key: str, limit: int) -> ToolResult:
    """The result of ``key``, which says what of its arguments had no effect.

    In a text of more than ``limit`` characters that stands first, where no preview leaves it out.
    """
    if not words:
        return result
    data = {**result.data, IGNORED: list(words)}
    if result.mime_type == "application/json":
        return replace(result, text=_in_json(result.text, words), data=data)
    note = f"Ignored, because {key} has no such argument: {', '.join(words)}."
    parts = (note, result.text) if len(result.text) > limit else (result.text, note)
    return replace(result, text="\n\n".join(filter(None, parts)), data=data)


def _in_json(text: str, words: Collection[str]) -> str:
    """A JSON object with the names as its first member; any other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict):
        return text
    told = {IGNORED: list(words), **cast("dict[str, Any]", value)}
    return json.dumps(told, ensure_ascii=False, indent=2 if text[1:2] == "\n" else None)
