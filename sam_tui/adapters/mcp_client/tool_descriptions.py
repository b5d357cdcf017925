"""Tools as servers describe them, converted to bounded plain text that is always the same bytes."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.core.text.invisible import show_invisible
from sam_tui.core.tooling.neutralization import neutralise
from sam_tui.core.tooling.registry import SERVERS

LONGEST_NAME = 64
"""Characters of a name that every provider takes."""
LONGEST_ABOUT, LONGEST_WORDS = 2_000, 400
"""Characters of a tool's description, and of any other text in its schema."""
LARGEST_SCHEMA = 16_000
MOST_TOOLS, MOST_CHARACTERS = 128, 80_000
"""Of one server, all its tools together."""
DEEPEST = 16
PROMPT = "prompts/get"
"""A name of the protocol, which no tool of a server has: a prompt that a message names."""
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]")
_WORDS = frozenset({"description", "title", "$comment"})
_NOISE = frozenset({"$schema", "$id", "title", "$comment", "examples"})
_NAMES_BELOW = frozenset({"properties", "$defs", "definitions", "patternProperties"})


@dataclass(frozen=True, slots=True)
class RawTool:
    """A tool as a server lists it; ``fault`` says why it cannot be offered, where that is known already."""

    name: str
    about: str
    schema: Mapping[str, Any]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class FittedTool:
    """A tool as it is offered: ``name`` is ours, ``raw`` the server's, ``text`` the whole description."""

    name: str
    raw: str
    about: str
    schema: Mapping[str, Any]
    text: str

    @property
    def digest(self) -> str:
        """A digest of the description and schema that the model receives."""
        return hashlib.sha256(self.text.encode("utf-8", "backslashreplace")).hexdigest()


@dataclass(frozen=True, slots=True)
class FittedServer:
    """The offered tools of a server, and the reasons why others are not offered."""

    tools: tuple[FittedTool, ...] = ()
    left_out: tuple[str, ...] = ()


def fitted(server: str, raw: Sequence[RawTool]) -> FittedServer:
    """The tools of a server's list that can be offered, by name."""
    tools_by_name: dict[str, FittedTool] = {}
    left_out: list[str] = []
    size = 0
    for tool in sorted(raw, key=lambda tool: tool.name):
        try:
            name = tool_name(server, tool.name)
            tool_fitted = _fit(server, name, tool)
            if name in tools_by_name:
                raise ValueError(f"another tool is called {name}, too")
            if len(tools_by_name) >= MOST_TOOLS:
                raise ValueError(f"a server may have {MOST_TOOLS} tools")
            if size + len(tool_fitted.text) > MOST_CHARACTERS:
                raise ValueError(
                    f"its tools are described in more than {MOST_CHARACTERS} characters"
                )
        except ValueError as why:
            left_out.append(f"{plain(tool.name, LONGEST_NAME) or '(no name)'}: {why}")
            continue
        tools_by_name[name] = tool_fitted
        size += len(tool_fitted.text)
    return FittedServer(tuple(tools_by_name.values()), tuple(left_out))


def tool_name(server: str, tool: str) -> str:
    """``mcp__server__tool`` in characters that every provider accepts; a long name is cut and ends in a
    hash."""
    name = f"{SERVERS}{server}__{_UNNAMEABLE.sub('_', tool)}"
    if len(name) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(tool.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9]}_{mark}"


def plain(text: str, most: int) -> str:
    """A server's text made safe: short, visible, without the tags of turns and reminders."""
    visible = show_invisible(text[:most])[0]
    visible = neutralise("".join(c if c.isprintable() or c == "\n" else " " for c in visible))
    return visible if len(text) <= most else f"{visible}…"


def _fit(server: str, name: str, tool: RawTool) -> FittedTool:
    """One tool. Raises ``ValueError`` saying why it cannot be offered."""
    if tool.fault:
        raise ValueError(plain(tool.fault, LONGEST_WORDS))
    if not tool.name:
        raise ValueError("a tool has to have one")
    if tool.schema.get("type", "object") != "object":
        raise ValueError("its arguments are no object")
    about = plain(tool.about.strip(), LONGEST_ABOUT) or f"A tool of the MCP server {server}."
    schema = _cleaned(tool.schema, words=True)
    if len(_text(schema)) > LARGEST_SCHEMA:
        schema = _cleaned(tool.schema, words=False)
    if len(_text(schema)) > LARGEST_SCHEMA:
        raise ValueError(f"its schema has more than {LARGEST_SCHEMA} characters")
    function = {"name": name, "description": about, "parameters": schema}
    return FittedTool(
        name, tool.name, about, schema, _text({"type": "function", "function": function})
    )


def _cleaned(schema: Mapping[str, Any], *, words: bool) -> dict[str, Any]:
    cleaned: dict[str, Any] = {
        _key(key): _clean(value, key, words=words, depth=1)
        for key, value in schema.items()
        if _stays(key, words=words)
    }
    cleaned.setdefault("properties", {})
    return cleaned | {"type": "object"}


def _clean(value: Any, key: str, *, words: bool, depth: int) -> Any:
    """A part of a schema with plain texts. Raises ``ValueError`` if it is nested too deeply."""
    if depth > DEEPEST:
        raise ValueError("its schema is nested too deep")
    if isinstance(value, str):
        return _shortened(value, key)
    if isinstance(value, list):
        return [_clean(v, "", words=words, depth=depth + 1) for v in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    # Under ``properties`` the keys are names of arguments, whatever they are called.
    named = key in _NAMES_BELOW
    return {
        _key(inner): _clean(part, "" if named else inner, words=words, depth=depth + 1)
        for inner, part in cast("dict[str, Any]", value).items()
        if named or _stays(inner, words=words)
    }


def _stays(key: str, *, words: bool) -> bool:
    return key not in _NOISE and (words or key not in _WORDS)


def _shortened(value: str, key: str) -> str:
    return plain(value, LONGEST_WORDS) if key in _WORDS else _value(value, LONGEST_ABOUT)


def _key(name: str) -> str:
    if "\n" in name:
        raise ValueError("its schema holds text that is not plain")
    return _value(name, LONGEST_NAME)


def _value(text: str, most: int) -> str:
    """A value that programs read, such as an enumeration's. Raises ``ValueError`` unless it is plain."""
    if plain(text, most) != text:
        raise ValueError("its schema holds text that is not plain")
    return text


def _text(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    )
