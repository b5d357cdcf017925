"""Tool calls that a local model writes as text, read strictly: spec/sam.md 6.8 and 10.4.

Three forms count: ``<tool_call>`` tags, a fenced ``json`` block that ends the answer, and an answer
that is one JSON object. JSON inside prose is prose. Only names that exist are calls.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FENCE = re.compile(r"```(?:json)?\s*\n(?=\{)")


@dataclass(frozen=True, slots=True)
class TextCalls:
    """What was found: (name, arguments as JSON) in order, and the text without them."""

    calls: tuple[tuple[str, str], ...]
    text: str


def read_text_calls(text: str, is_tool: Callable[[str], bool]) -> TextCalls:
    """The calls of an answer that has none of the provider's own; the text stays where there are none."""
    if _OPEN in text:
        bodies, left = _tagged(text)
        parsed = [_call(body, is_tool) for body in bodies]
        calls = tuple(call for call in parsed if call is not None)
        return TextCalls(calls, left.strip() if calls else text)
    ended = text.rstrip()
    fenced = _FENCE.search(ended) if ended.endswith("}\n```") else None
    body = ended[fenced.end() : -3].strip() if fenced else ended.lstrip()
    if not body.startswith("{"):
        return TextCalls((), text)
    call = _call(body, is_tool)
    if call is None:
        return TextCalls((), text)
    return TextCalls((call,), text[: fenced.start()].strip() if fenced else "")


def _tagged(text: str) -> tuple[list[str], str]:
    """What stands between tags, as far as it may be an object, and the text without it."""
    bodies: list[str] = []
    left: list[str] = []
    done, start = 0, text.find(_OPEN)
    while start >= 0 and (end := text.find(_CLOSE, start)) >= 0:
        body = text[start + len(_OPEN) : end].strip()
        if body.startswith("{") and body.endswith("}"):
            bodies.append(body)
            left.append(text[done:start])
            done = end + len(_CLOSE)
        start = text.find(_OPEN, end)
    return bodies, "".join([*left, text[done:]])


def _call(body: str, is_tool: Callable[[str], bool]) -> tuple[str, str] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    name = fields.get("name")
    arguments = fields.get("arguments", fields.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict) or not is_tool(name):
        return None
    return name, json.dumps(arguments, ensure_ascii=False)
