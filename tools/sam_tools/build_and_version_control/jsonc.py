"""JSON as editors write it: comments, and commas behind the last item."""

import json
import re
from typing import Any

# Each alternative also ends at the end of the text, so that no input is read more than once.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:\\.|[^"\\])*(?:"|\Z)|,(?=\s{0,1000}[}\]])', re.DOTALL)


def read_jsonc(text: str) -> Any:
    """The value; raises ``ValueError`` saying where it broke, in lines and columns of the text."""
    bare = _TOKEN.sub(lambda match: _blank(match[0]), text)
    bare = _LAST_COMMA.sub(lambda match: " " if match[0] == "," else match[0], bare)
    try:
        return json.loads(bare)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _blank(token: str) -> str:
    """A comment as blanks, so that what follows stays where it was."""
    return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)
