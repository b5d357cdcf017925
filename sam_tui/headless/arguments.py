"""The arguments of a call as a JSON object, whatever the model wrote."""

import json
from typing import Any, cast


def tool_input(text: str) -> dict[str, Any]:
    """The object, or ``{"unparsed": text}`` for anything that is none.

    ``NaN`` and its like become text: Python reads them, JSON has no word for them.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return {"unparsed": text}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"unparsed": text}
