"""Requests of a server during a call: forms for the person field by field, and answers of the model."""

import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any, cast
from urllib.parse import urlsplit

import mcp_types as types

from sam_tui.adapters.mcp_client.tool_descriptions import plain
from sam_tui.core.agent.drivers.sampling import Sampled, SamplingRequest
from sam_tui.core.errors import ModelError, SamError
from sam_tui.core.inquiry import Question, chosen
from sam_tui.core.messages import AssistantMessage, UserMessage
from sam_tui.core.text.nesting import mapping_of
from sam_tui.core.workflow.definitions.schema import value_faults

MOST_FIELDS, MOST_OPTIONS = 12, 50
LONGEST_WORDS = 400
"""The most characters of a title, a description or an option; the rest is cut."""
_NO_LEAVE = "The server reads your answer; it allows nothing here."
TRIES = 3
DECLINE = "decline"
"""The answer by which a person declines a question."""
DEFAULT = "default"
"""The answer by which a person accepts the value that the server proposes."""
_LEFT_OUT = "-"
_CHECKED = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")

Asks = Callable[[Question], Awaitable[str | None]]
"""Asks the person. Returns None if nobody answers."""
Value = str | int | float | bool | list[str]
Filled = dict[str, Value | None]


class Declined(Exception):  # an answer, not an error
    """The person declined to answer; ``dismissed`` if nobody answered at all."""

    def __init__(self, *, dismissed: bool = False) -> None:
        super().__init__()
        self.dismissed = dismissed


async def fill(server: str, message: str, schema: Mapping[str, Any], ask: Asks) -> Filled:
    """Ask for the fields of a form in order, and return the values. Raises ``Declined``."""
    prompt = f"The MCP server {server} asks: {_line(message)}"
    fields = mapping_of(schema.get("properties"))
    if len(fields) > MOST_FIELDS:
        raise Declined
    if not fields:
        await _choice(prompt, "The server gets only a yes or a no.", ("accept",), ask)
        return {}
    required = schema.get("required")
    needed = (
        set(map(str, cast("list[Any]", required))) if isinstance(required, list) else set[str]()
    )
    filled: Filled = {}
    for name, field in fields.items():
        value = await _field(prompt, name, mapping_of(field), ask, needed=name in needed)
        if value is not None:
            filled[name] = value
    return filled


async def visit(server: str, message: str, url: str, ask: Asks) -> None:
    """Show a URL that the person is asked to open. Raises ``Declined``."""
    prompt = f"The MCP server {server} asks you to open a page: {_line(message)}"
    await _choice(prompt, f"{_line(url)}\nIt is not opened for you. Done?", ("done",), ask)


async def _field(
    prompt: str, name: str, field: Mapping[str, Any], ask: Asks, *, needed: bool
) -> Value | None:
    title, about = field.get("title"), field.get("description")
    words = ": ".join(_line(str(word)) for word in (title or name, about) if word)
    context = f"“{words}” {_NO_LEAVE}"
    usual = _default(field)
    if usual is not None:
        context += f" The default is {_line(json.dumps(usual, ensure_ascii=False))}."
    extra = _instead(usual, needed=needed)
    choices = _choices(field)
    if len(choices) > MOST_OPTIONS:
        raise Declined
    if choices and field.get("type") != "array":
        choice = await _choice(prompt, context, (*choices, *extra), ask)
        if choice in extra and choice not in choices:
            return extra[choice]
        return _meant(field, choice)
    return await _text(prompt, f"{context} ({_expected(field, choices)})", field, extra, ask)


def _instead(usual: Value | None, *, needed: bool) -> dict[str, Value | None]:
    """Return the buttons beside a text field, each with its value."""
    extra: dict[str, Value | None] = {} if usual is None else {DEFAULT: usual}
    return extra if needed else extra | {_LEFT_OUT: None}


async def _text(
    prompt: str,
    expected: str,
    field: Mapping[str, Any],
    extra: Mapping[str, Value | None],
    ask: Asks,
) -> Value | None:
    """Ask for a text field until the answer is valid. Raises ``Declined`` after ``TRIES``."""
    words = {DEFAULT: "takes the default", _LEFT_OUT: "leaves it out"}
    more = "".join(f" “{word}” {words[word]}." for word in extra)
    hint = f"{expected}. “{DECLINE}” answers nothing.{more}"
    for _ in range(TRIES):
        text = await _put(Question(prompt, hint), ask)
        if text in extra:
            return extra[text]
        try:
            return _typed(field, text)
        except ValueError as why:
            hint = (
                f"{text[:80]!r} is not accepted: {why}. {expected}. “{DECLINE}” answers "
                f"nothing.{more}"
            )
    raise Declined


def _default(field: Mapping[str, Any]) -> Value | None:
    """Return the default of a field, if its type is one that an answer may have."""
    value = field.get("default")
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return cast("list[str]", items) if all(isinstance(v, str) for v in items) else None
    return value if isinstance(value, str | int | float | bool) else None


def _expected(field: Mapping[str, Any], choices: Sequence[str]) -> str:
    """A description of the valid input."""
    if field.get("type") == "array":
        return f"any of: {', '.join(choices)}; with commas between them{_bounds(field, 'Items')}"
    kind = _line(str(field.get("format") or field.get("type", "text")))
    bounds = _bounds(field, "Length") if kind == "string" else _bounds(field, "")
    return kind + bounds


def _bounds(field: Mapping[str, Any], what: str) -> str:
    low, high = (field.get(f"{side}{what}" if what else f"{side}imum") for side in ("min", "max"))
    words = [f"at least {low}"] if _number(low) else []
    words += [f"at most {high}"] if _number(high) else []
    unit = {"Length": " characters", "Items": " of them"}.get(what, "")
    return f", {' and '.join(words)}{unit}" if words else ""


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
    """Return the options of a field: labels and their values."""
    if field.get("type") == "array":
        field = mapping_of(field.get("items"))
    if values := [str(value) for value in _listed(field, "enum")]:
        words = [_line(str(name)) for name in _listed(field, "enumNames")]
        labels = words if len(words) == len(values) else [_line(value) for value in values]
        return list(zip(labels, values, strict=True))
    options = map(mapping_of, _listed(field, "oneOf") or _listed(field, "anyOf"))
    return [
        (_line(str(o.get("title", o["const"]))), str(o["const"])) for o in options if "const" in o
    ]


def _listed(field: Mapping[str, Any], key: str) -> list[Any]:
    value = field.get(key)
    return cast("list[Any]", value) if isinstance(value, list) else []


def _meant(field: Mapping[str, Any], chosen: str) -> str | bool:
    if field.get("type") == "boolean":
        return chosen == "yes"
    return dict(_options(field)).get(chosen, chosen)


def _typed(field: Mapping[str, Any], text: str) -> Value:
    """Convert a typed answer to the type of its field. Raises ``ValueError`` naming the fault."""
    match field.get("type"):
        case "integer":
            value: Value = _number_of(int, text, "a whole number")
        case "number":
            value = _number_of(float, text, "a number")
        case "array":
            value = _several(field, text)
        case _:
            _require_format(field.get("format"), text)
            value = text
    checked = {key: field[key] for key in _CHECKED if _number(field.get(key))}
    for fault in value_faults(value, checked, "it"):
        raise ValueError(fault)
    return value


def _number_of(kind: type[int] | type[float], text: str, name: str) -> int | float:
    """Raises ``ValueError`` for a text that is not a finite number of that kind."""
    with suppress(ValueError, OverflowError):
        if math.isfinite(value := kind(text)):
            return value
    raise ValueError(f"it is not {name}")


def _several(field: Mapping[str, Any], text: str) -> list[str]:
    """The options that a text names, each once."""
    options = dict(_options(field))
    names = [name.strip() for name in text.split(",") if name.strip()]
    picked = [chosen(name, tuple(options)) for name in names]
    if not all(picked):
        raise ValueError(f"{names[picked.index('')][:40]!r} is not among them")
    return [options[name] for name in dict.fromkeys(picked)]


def _is_address(text: str) -> bool:
    local, _, host = text.rpartition("@")
    return bool(local and "." in host and not re.search(r"\s", text))


def _is_uri(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme and (parts.netloc or parts.path))


_FORMATS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "email": (_is_address, "an email address"),
    "uri": (_is_uri, "an address with a scheme (https://…)"),
    "date": (lambda text: bool(date.fromisoformat(text)), "a date (2026-12-31)"),
    "date-time": (
        lambda text: datetime.fromisoformat(text).tzinfo is not None,
        "a time with its zone (2026-12-31T18:30:00Z)",
    ),
}
"""For each format a check of a text, which may raise ``ValueError``, and a description of the format."""


def _require_format(format_: object, text: str) -> None:
    """Raises ``ValueError`` for a text that is not of the named form."""
    fits, name = _FORMATS.get(str(format_), (None, ""))
    if fits is None:
        return
    with suppress(ValueError):
        if fits(text):
            return
    raise ValueError(f"it is not {name}")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _line(text: str) -> str:
    """A server's text on one line, so that it cannot imitate a question."""
    return " ".join(plain(text, LONGEST_WORDS).split())


Samples = Callable[[SamplingRequest], Awaitable[Sampled]]
"""Gets an answer from the model. Raises ``SamError`` with the reason if there is none."""
MOST_CHARACTERS, MOST_MESSAGES, MOST_STOPS, LONGEST_STOP = 200_000, 100, 16, 200
_DECLINED = -1
"""The error code of a refused request, as in the example of the MCP specification."""


async def sampled(
    server: str, params: types.CreateMessageRequestParams, sample: Samples
) -> types.CreateMessageResult | types.ErrorData:
    """The model's answer to a server's sampling request, or the reason why it is refused."""
    try:
        answer = await sample(request_of(server, params))
    except ValueError as error:
        return types.ErrorData(code=types.INVALID_PARAMS, message=str(error))
    except ModelError:  # no server may read the provider's message
        return types.ErrorData(code=_DECLINED, message="The model did not answer.")
    except SamError as error:
        return types.ErrorData(code=_DECLINED, message=plain(error.explain(), 400))
    return types.CreateMessageResult(
        role="assistant",
        content=types.TextContent(type="text", text=answer.text),
        model=answer.model,
        stop_reason=answer.ending,
    )


def request_of(server: str, params: types.CreateMessageRequestParams) -> SamplingRequest:
    """A sampling request within bounds. Raises ``ValueError`` for tools, other content than text, and
    more than a person reads."""
    if params.tools or params.tool_choice:
        raise ValueError("A request to the model cannot offer tools.")
    if params.max_tokens < 1:
        raise ValueError("maxTokens is at least 1.")
    if not params.messages or len(params.messages) > MOST_MESSAGES:
        raise ValueError(f"A request has 1 to {MOST_MESSAGES} messages.")
    stops = params.stop_sequences or []
    if len(stops) > MOST_STOPS or not all(0 < len(stop) <= LONGEST_STOP for stop in stops):
        raise ValueError(
            f"A request has at most {MOST_STOPS} stop sequences of {LONGEST_STOP} characters."
        )
    texts = [_words(message) for message in params.messages]
    system = params.system_prompt or ""
    if len(system) + sum(map(len, texts)) > MOST_CHARACTERS:
        raise ValueError(f"A request has at most {MOST_CHARACTERS:,} characters.")
    return SamplingRequest(
        server,
        tuple(
            UserMessage(text) if message.role == "user" else AssistantMessage(text)
            for message, text in zip(params.messages, texts, strict=True)
        ),
        params.max_tokens,
        plain(system, MOST_CHARACTERS),
        tuple(stops),
    )


def _words(message: types.SamplingMessage) -> str:
    """The text of a message without invisible characters and our own tags. Raises ``ValueError``."""
    blocks = message.content_as_list
    words = [block.text for block in blocks if block.type == "text"]
    if len(words) != len(blocks) or not "".join(words).strip():
        raise ValueError("Messages can contain text only.")
    return plain("\n".join(words), MOST_CHARACTERS)
