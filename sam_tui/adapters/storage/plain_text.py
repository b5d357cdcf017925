"""Text that a database, a title line and UTF-8 can take."""

import json
import math
import unicodedata
from typing import Any, cast

from sam_tui.core.text.plain import without_sequences

TITLE_LENGTH = 60


def storable(text: str) -> str:
    """The text with lone surrogates replaced; models write them, UTF-8 has no form for them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable_json(value: object) -> object:
    """The same JSON value (of dictionaries, lists or tuples, and scalars), every string storable."""
    match value:
        case str():
            return storable(value)
        case dict():
            pairs = cast("dict[str, object]", value).items()
            return {storable(key): storable_json(item) for key, item in pairs}
        case list() | tuple():
            return [storable_json(item) for item in cast("list[object]", value)]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def json_text(value: object) -> str:
    """A value of dictionaries, lists or tuples, and scalars as JSON text that can be stored."""
    return json.dumps(storable_json(value), ensure_ascii=False, separators=(",", ":"))


def json_value(text: str) -> Any:
    """Decode such text. Raises ``ValueError``, also if it nests too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def title_of(text: str) -> str:
    """Return a title for the person's text: its first line with words, sanitised, 60 characters.

    Terminal sequences and control, format (bidirectional among them) and unassigned characters go.
    """
    for line in without_sequences(text).splitlines():
        words = " ".join("".join(_visible(character) for character in line).split())
        if words:
            return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
    return ""


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character).startswith("C") else character
