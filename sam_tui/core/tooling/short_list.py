"""The list of tools for many tools or a short context: some with arguments, the others by name.

The model finds the arguments of any other with ``find_tools`` and calls it with ``call_tool``: providers
let a model call declared tools only. The list is made once; the answers of ``find_tools`` are results.
"""

import json
from collections.abc import Sequence
from typing import Any, cast

from sam_tui.core.errors import InvalidArguments
from sam_tui.core.messages import ToolCall
from sam_tui.core.text.nesting import DEEPEST, depth_of
from sam_tui.core.tooling.offer import Offer

FIND, CALL = "find_tools", "call_tool"
FIRST = (
    "file_operations", "terminal_operations", "todo_operations", "user_collaboration",
    "read_tool_result", "recall_history", "memory_operations", "web_operations", "think",
)  # fmt: skip
"""The tools that are listed with arguments if there is room, the most useful first."""
_MOST_NAMES = 2_000
"""The most bytes of names in the description of ``find_tools``."""


def short_list(offers: Sequence[Offer], size: int) -> str:
    """The tools array as JSON of at most ``size`` bytes, where the two tools alone take no more.

    The order is fixed: the two, then those with arguments in the order of ``offers``.
    """
    whole: list[Offer] = []
    best = sorted((o for o in offers if o.name in FIRST), key=lambda o: FIRST.index(o.name))
    for offer in best:
        if len(with_search(offers, [*whole, offer]).encode()) <= size:
            whole.append(offer)
    return with_search(offers, whole)


def with_search(offers: Sequence[Offer], whole: Sequence[Offer]) -> str:
    """The tools array as JSON: the two tools, then the ``whole`` ones with arguments; others by name."""
    chosen = [offer for offer in offers if offer in whole]
    named = _names([offer for offer in offers if offer not in whole])
    return f"[{','.join([find_schema(named), _CALL_SCHEMA, *(o.advert.schema for o in chosen)])}]"


def find_schema(named: str = "") -> str:
    """``find_tools`` as an OpenAI-style function; ``named`` are the tools that it may find."""
    listed = f" Not listed here: {named}." if named else ""
    text = (
        "Finds tools and their arguments by an exact name (tool, operation or tool.operation) or by"
        f" words. Call what it finds with {CALL}.{listed}"
    )
    return _schema(FIND, text, {"query": {"type": "string"}}, ["query"])


def _names(offers: Sequence[Offer]) -> str:
    """Tools with their operations, as many as there is room for."""
    parts: list[str] = []
    size = 0
    for offer in offers:
        advert = offer.advert
        inner = f" ({', '.join(advert.operations)})" if advert.consolidated else ""
        size += len(part := f"{offer.name}{inner}") + 2
        if size > _MOST_NAMES:
            parts.append(f"and {len(offers) - len(parts)} more, found by words")
            break
        parts.append(part)
    return "; ".join(parts)


def _schema(name: str, description: str, properties: object, required: Sequence[str]) -> str:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    function = {"name": name, "description": description, "parameters": parameters}
    return json.dumps(
        {"type": "function", "function": function}, ensure_ascii=False, separators=(",", ":")
    )


_CALL_SCHEMA = _schema(
    CALL,
    f"Calls a tool by the name that {FIND} gives, with that tool's arguments.",
    {"name": {"type": "string"}, "arguments": {"type": "object"}},
    ["name", "arguments"],
)


def parse_arguments(text: str) -> dict[str, object]:
    """The arguments of a call as an object. Raises ``InvalidArguments`` saying where it broke."""
    if not text.strip():
        return {}
    if depth_of(text) > DEEPEST:
        raise InvalidArguments(
            f"The arguments are nested more than {DEEPEST} deep.", hint="Send a flat JSON object."
        )
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidArguments(
            f"The arguments are not valid JSON: {error}.", hint="Send one JSON object."
        ) from None
    if not isinstance(value, dict):
        raise InvalidArguments("The arguments must be one JSON object.")
    return cast("dict[str, Any]", value)


def meant(call: ToolCall) -> ToolCall:
    """The call that a call of ``call_tool`` contains, with the same id; any other call unchanged.

    Arguments beside the name are used if ``arguments`` is missing. Raises ``InvalidArguments``."""
    if call.name != CALL:
        return call
    fields = parse_arguments(call.arguments)
    name = fields.pop("name", None)
    if not isinstance(name, str) or name in ("", CALL):
        raise InvalidArguments(
            f"{CALL} needs the name of another tool.",
            hint=f'Example: {{"name": "{FIND}", "arguments": {{"query": "read_file"}}}}',
        )
    inner = fields.get("arguments", fields)
    text = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
    return ToolCall(call.id, name, text)
