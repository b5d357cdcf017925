"""What a server asks the person in the middle of a call: a question for each field of its form."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from sam_tui.adapters.mcp_client.tool_descriptions import plain
from sam_tui.core.inquiry import Question, chosen

MOST_FIELDS, MOST_OPTIONS = 12, 50
LONGEST_WORDS = 400
"""Characters of a title, a description or an option."""
_NO_LEAVE = "The server reads the answer; it allows nothing here."
TRIES = 3
DECLINE = "decline"
"""What a person types, or chooses, to answer nothing."""
_LEFT_OUT = "-"

Asks = Callable[[Question], Awaitable[str | None]]
"""Puts a question; None where nobody answers."""
Filled = dict[str, str | int | float | bool | list[str] | None]


class Declined(Exception):  # an answer, not an error
    """The person does not want to answer; ``dismissed`` where nobody said so."""

    def __init__(self, *, dismissed: bool = False) -> None:
        super().__init__()
        self.dismissed = dismissed


async def fill(server: str, message: str, schema: Mapping[str, Any], ask: Asks) -> Filled:
    """A form, field by field. Raises ``Declined``; what a person typed is what is handed over."""
    prompt = f"The MCP server {server} asks: {_line(message)}"
    fields = _mapping(schema.get("properties"))
    if len(fields) > MOST_FIELDS:
        raise Declined
    if not fields:
        await _choice(prompt, "It wants a yes or a no, and gets nothing else.", ("accept",), ask)
        return {}
    required = schema.get("required")
    needed = (
        set(map(str, cast("list[Any]", required))) if isinstance(required, list) else set[str]()
    )
    filled: Filled = {}
    for name, field in fields.items():
        value = await _field(prompt, name, _mapping(field), ask, needed=name in needed)
        if value is not None:
            filled[name] = value
    return filled


async def visit(server: str, message: str, url: str, ask: Asks) -> None:
    """A page that the person is to open themselves. Raises ``Declined``."""
    prompt = f"The MCP server {server} asks you to open a page: {_line(message)}"
    await _choice(prompt, f"{_line(url)}\nNothing is opened for you. Done?", ("done",), ask)


async def _field(
    prompt: str, name: str, field: Mapping[str, Any], ask: Asks, *, needed: bool
) -> str | int | float | bool | None:
    title, about = field.get("title"), field.get("description")
    words = ": ".join(_line(str(word)) for word in (title or name, about) if word)
    context = f"“{words}” {_NO_LEAVE}"
    choices = _choices(field)
    if len(choices) > MOST_OPTIONS:
        raise Declined
    if choices:
        offered = choices if needed else (*choices, _LEFT_OUT)
        choice = await _choice(prompt, context, offered, ask)
        if choice == _LEFT_OUT and not needed:
            return None
        return choice == "yes" if field.get("type") == "boolean" else _meant(field, choice)
    expected = f"{context} ({_line(str(field.get('type', 'text')))})"
    optional = "" if needed else f" “{_LEFT_OUT}” leaves it out."
    hint = f"{expected}. “{DECLINE}” answers nothing.{optional}"
    for _ in range(TRIES):
        text = await _put(Question(prompt, hint), ask)
        if text == _LEFT_OUT and not needed:
            return None
        try:
            return _typed(field, text)
        except ValueError:
            hint = f"{text[:80]!r} is none. {expected}. “{DECLINE}” answers nothing."
    raise Declined


async def _choice(prompt: str, context: str, choices: Sequence[str], ask: Asks) -> str:
    choice = chosen(await _put(Question(prompt, context, (*choices, DECLINE)), ask), choices)
    if not choice:
        raise Declined
    return choice


async def _put(question: Question, ask: Asks) -> str:
    answer = await ask(question)
    if answer is None:
        raise Declined(dismissed=True)
    if answer.strip().lower() == DECLINE:
        raise Declined
    return answer.strip()


def _choices(field: Mapping[str, Any]) -> tuple[str, ...]:
    if field.get("type") == "boolean":
        return ("yes", "no")
    return tuple(dict.fromkeys(words for words, _ in _options(field)))


def _options(field: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What may be chosen: in words, and as the server wants it."""
    listed = field.get("enum")
    if isinstance(listed, list):
        values = [str(value) for value in cast("list[Any]", listed)]
        names = field.get("enumNames")
        words = [_line(str(n)) for n in cast("list[Any]", names)] if isinstance(names, list) else []
        labels = words if len(words) == len(values) else [_line(value) for value in values]
        return list(zip(labels, values, strict=True))
    titled = field.get("oneOf")
    if not isinstance(titled, list):
        return []
    options = [_mapping(option) for option in cast("list[Any]", titled)]
    return [
        (_line(str(o.get("title", o["const"]))), str(o["const"])) for o in options if "const" in o
    ]


def _meant(field: Mapping[str, Any], chosen: str) -> str:
    return dict(_options(field)).get(chosen, chosen)


def _typed(field: Mapping[str, Any], text: str) -> str | int | float:
    match field.get("type"):
        case "integer":
            return int(text)
        case "number":
            value = float(text)
            if not math.isfinite(value):
                raise ValueError(text)
            return value
        case _:
            return text


def _line(text: str) -> str:
    """Words of a server on one line, so that they cannot draw a question of their own."""
    return " ".join(plain(text, LONGEST_WORDS).split())


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
