"""Tool calls that a local model writes as text, read strictly: spec/sam.md 6.8 and 10.4.

Three forms count: ``<tool_call>`` tags, a fenced ``json`` block that ends the answer, and an answer
that is one JSON object. JSON inside prose is prose. Only names that exist are calls.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

_TAG = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*\n(\{.*\})\s*\n```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextCalls:
    """What was found: (name, arguments as JSON) in order, and the text without them."""

    calls: tuple[tuple[str, str], ...]
    text: str


def read_text_calls(text: str, known: Callable[[str], bool]) -> TextCalls:
    """The calls of an answer that has none of the provider's own; the text stays where there are none."""
    if "<tool_call>" in text:
        found = [_call(match[1], known) for match in _TAG.finditer(text)]
        calls = tuple(call for call in found if call is not None)
        return TextCalls(calls, _TAG.sub("", text).strip() if calls else text)
    fenced = _FENCE.search(text) if "```" in text else None
    body = fenced[1] if fenced else text.strip()
    if not body.startswith("{"):
        return TextCalls((), text)
    call = _call(body, known)
    if call is None:
        return TextCalls((), text)
    return TextCalls((call,), text[: fenced.start()].strip() if fenced else "")


def _call(body: str, known: Callable[[str], bool]) -> tuple[str, str] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    name = given.get("name")
    arguments = given.get("arguments", given.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict) or not known(name):
        return None
    return name, json.dumps(arguments, ensure_ascii=False)
