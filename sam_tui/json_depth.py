"""JSON that nests deeper than its readers go: cut, so that the rest of it can be read."""

import re

from pydantic_core import from_json

DEEPEST_READ = 100
"""The most levels of a message that are read; JSON parsers fail at 200."""
LONGEST_CUT = 2_000_000
"""The longest message, in bytes, that is checked: lists of tools are far smaller."""
_IN_PLACE = b'"(nested too deep)"'
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)


def shallow(text: bytes) -> bytes:
    """Return the JSON text, with words in place of parts that nest too deep for its readers."""
    if len(text) > LONGEST_CUT or text.count(b"{") + text.count(b"[") <= DEEPEST_READ:
        return text
    try:
        from_json(text)
    except ValueError:
        return _cut(text)
    return text


def _cut(text: bytes) -> bytes:
    pieces: list[bytes] = []
    depth = start = 0
    for token in _TOKENS.finditer(text):
        match token[0]:
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST_READ + 1:
                    pieces += text[start : token.start()], _IN_PLACE
            case b"]" | b"}":
                if depth == DEEPEST_READ + 1:
                    start = token.end()
                depth -= 1
            case _:
                pass
    return text if depth > DEEPEST_READ else b"".join([*pieces, text[start:]])
