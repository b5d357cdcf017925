"""Messages of servers that nest deeper than readers go: what lies too deep is cut, not the whole."""

import re

from pydantic_core import from_json

DEEPEST = 100
"""Levels of a message that are read; parsers of JSON give up at 200."""
LARGEST = 2_000_000
"""Bytes that are looked into: a list of tools is far smaller, and the work is as long as the text."""
_IN_PLACE = b'"(nested too deep)"'
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)


def shallow(text: bytes) -> bytes:
    """The JSON text, with words in place of whatever its readers would fail on for its depth alone."""
    if len(text) > LARGEST or text.count(b"{") + text.count(b"[") <= DEEPEST:
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
                if depth == DEEPEST + 1:
                    pieces += text[start : token.start()], _IN_PLACE
            case b"]" | b"}":
                if depth == DEEPEST + 1:
                    start = token.end()
                depth -= 1
            case _:
                pass
    return text if depth > DEEPEST else b"".join([*pieces, text[start:]])
