"""Tools as servers describe them, converted to bounded plain text that is always the same bytes, and
the last list of each server, so that a message need not wait for its start."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.core.local_files.private_files import replace_file
from sam_tui.core.redaction.assignments import with_texts
from sam_tui.core.text.invisible import show_invisible
from sam_tui.core.tooling.neutralization import neutralise
from sam_tui.core.tooling.registry import SERVERS

LONGEST_NAME = 64
"""The most characters of a tool's name that every provider accepts."""
LONGEST_ABOUT, LONGEST_WORDS = 2_000, 400
"""The most characters of a tool's description, and of any other text in its schema."""
LARGEST_SCHEMA = 16_000
MOST_TOOLS, MOST_CHARACTERS = 128, 80_000
"""The most tools of one server, and the most characters of all their descriptions and schemas."""
DEEPEST = 16
PROMPT = "prompts/get"
"""The name of the tool for a server's prompts: a method of the protocol, no tool's name."""
MOST_BYTES, MOST_FILES = 4_000_000, 100
_APPROVED = "approved-"
_DESTRUCTIVE = "destructiveHint"
_HINTS = (_DESTRUCTIVE, "idempotentHint", "openWorldHint", "readOnlyHint")
"""The names of the hints that are read."""
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
    hints: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """The server's hints about the tool, by name."""


def without_secrets(tools: Sequence[RawTool], mask: Callable[[str], str]) -> list[RawTool]:
    """The tools with secrets masked in their descriptions; a fault for one whose name contains a secret."""
    masked: list[RawTool] = []
    for tool in tools:
        name = mask(tool.name)
        fault = mask(tool.fault) if name == tool.name else "its name contains a secret"
        masked.append(
            RawTool(name, mask(tool.about), with_texts(tool.schema, mask), fault, tool.hints)
        )
    return masked


@dataclass(frozen=True, slots=True)
class FittedTool:
    """A tool as it is offered: ``name`` is ours, ``raw`` the server's, ``text`` the whole description."""

    name: str
    raw: str
    about: str
    schema: Mapping[str, Any]
    text: str
    hints: Mapping[str, bool] = field(default_factory=dict[str, bool])

    @property
    def destructive(self) -> bool:
        """Whether the server says that it destroys something."""
        return self.hints.get(_DESTRUCTIVE, False)

    @property
    def digest(self) -> str:
        """A digest of the description and schema that the model receives, a dot, and one of the hints."""
        return f"{_digest(self.text)}.{_digest(_text(dict(self.hints)))[:16]}"


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
        raise ValueError("a tool needs a name")
    if tool.schema.get("type", "object") != "object":
        raise ValueError("its arguments are not an object")
    about = plain(tool.about.strip(), LONGEST_ABOUT) or f"A tool of the MCP server {server}."
    schema = _cleaned(tool.schema, words=True)
    if len(_text(schema)) > LARGEST_SCHEMA:
        schema = _cleaned(tool.schema, words=False)
    if len(_text(schema)) > LARGEST_SCHEMA:
        raise ValueError(f"its schema has more than {LARGEST_SCHEMA} characters")
    function = {"name": name, "description": about, "parameters": schema}
    text = _text({"type": "function", "function": function})
    return FittedTool(name, tool.name, about, schema, text, tool.hints)


def hints_of(annotations: object) -> dict[str, bool]:
    """Return the hints among annotations, or in a file's entry in their place; others are left out."""
    if not isinstance(annotations, dict):
        return {}
    values = cast("dict[str, object]", annotations)
    return {name: value for name in _HINTS if isinstance(value := values.get(name), bool)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


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
    # Under ``properties`` all keys are names of arguments.
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
        raise ValueError("its schema contains text that is not plain")
    return _value(name, LONGEST_NAME)


def _value(text: str, most: int) -> str:
    """A value that programs read, such as an enumeration's. Raises ``ValueError`` unless it is plain."""
    if plain(text, most) != text:
        raise ValueError("its schema contains text that is not plain")
    return text


def _text(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    )


@dataclass(frozen=True, slots=True)
class RememberedTools:
    """One file for each server in a private folder, named by a hash of its settings without secrets."""

    folder: str

    def recall(self, settings: ServerSettings) -> list[RawTool] | None:
        """The last list of a server of exactly these settings; None if none is stored."""
        try:
            with open(self._path(settings), "rb") as file:
                data = file.read(MOST_BYTES + 1)
            rows = json.loads(data) if len(data) <= MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(rows, list):
            return None
        return [
            _tool(cast("dict[str, object]", row))
            for row in cast("list[object]", rows)
            if isinstance(row, dict)
        ]

    def keep(self, settings: ServerSettings, tools: Sequence[RawTool]) -> None:
        """Store a list. A failure to write is ignored: the next start waits instead."""
        text = json.dumps([asdict(tool) for tool in tools], ensure_ascii=False)
        self._write(self._path(settings), text)

    def approved(self, settings: ServerSettings) -> dict[str, str]:
        """The digest of each tool description at its first call or its last approved change.

        By the server's name for the tool; a digest of the text for the model. A server is
        identified by its file and name alone, whatever its other settings: so are its permissions.
        """
        try:
            with open(self._approved_path(settings), "rb") as file:
                rows: Any = json.loads(file.read(MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        rows_by_tool = cast("dict[object, object]", rows) if isinstance(rows, dict) else {}
        return {str(tool): str(digest) for tool, digest in rows_by_tool.items()}

    def approve(self, settings: ServerSettings, digests: dict[str, str]) -> None:
        """Store the digests of the tool descriptions that the person approved."""
        self._write(self._approved_path(settings), json.dumps(digests))

    def _approved_path(self, settings: ServerSettings) -> str:
        digest = hashlib.sha256(json.dumps([settings.name, settings.file]).encode()).hexdigest()
        return os.path.join(self.folder, f"{_APPROVED}{digest[:32]}.json")

    def _write(self, path: str, text: str) -> None:
        with contextlib.suppress(OSError, UnicodeEncodeError):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self._make_room()
            replace_file(path, text, flushed=False)

    def _path(self, settings: ServerSettings) -> str:
        named = (settings.name, settings.file, settings.summary, settings.cwd)
        names = (sorted(settings.env), sorted(settings.headers))
        digest = hashlib.sha256(json.dumps([named, names]).encode()).hexdigest()
        return os.path.join(self.folder, f"{digest[:32]}.json")

    def _make_room(self) -> None:
        """Delete the oldest files beyond the limit."""
        entries = [
            entry
            for entry in os.scandir(self.folder)
            if entry.is_file() and not entry.name.startswith(_APPROVED)
        ]
        entries.sort(key=lambda entry: entry.stat().st_mtime)
        for entry in entries[: -MOST_FILES + 1]:
            os.unlink(entry.path)


def _tool(row: dict[str, Any]) -> RawTool:
    schema = row.get("schema")
    return RawTool(
        str(row.get("name", "")),
        str(row.get("about", "")),
        cast("dict[str, Any]", schema) if isinstance(schema, dict) else {},
        str(row.get("fault", "")),
        hints_of(row.get("hints")),
    )
