"""The first JSON object in an answer: bare, fenced, or somewhere in prose."""

import json
from typing import Any, cast

_LONGEST = 400_000


def first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object that a text holds, or None. Braces that open none are passed over."""
    decoder = json.JSONDecoder()
    text = text[:_LONGEST]
    start, tries = text.find("{"), 0
    while start >= 0 and tries < 200:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        start, tries = text.find("{", start + 1), tries + 1
    return None
