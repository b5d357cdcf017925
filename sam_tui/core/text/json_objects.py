"""JSON objects in texts from outside."""

import json
from typing import Any, cast


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object that a text is; None for any other text, or one that nests too deep."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
