"""JSON of real Unicode that can be sent. File names and output may hold bytes that are no text."""

import json
from collections.abc import Mapping
from typing import Any


def sendable(text: str) -> str:
    """The text with a question mark for every lone surrogate, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode()


def plain_json(data: Mapping[str, object]) -> dict[str, Any]:
    """Return data as JSON can hold it: values without a JSON form become text."""
    text = json.dumps(dict(data), default=str, ensure_ascii=False)
    return json.loads(sendable(text), parse_constant=str)
