"""Every argument of every built-in operation that names a path or an address is a declared access."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from sam_tui.assembly import Options, build
from sam_tui.core.accesses import CommandAccess, Fetch, Read, Write
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.offer import arguments_schema, example_call

MARK = "../planted-elsewhere"
NAMED = re.compile(r"path|file|dir|folder|url|uri", re.IGNORECASE)
DESCRIBED = re.compile(r"\b(?:paths?|files?|folders?|director(?:y|ies)|urls?)\b", re.IGNORECASE)
NO_PATHS = {
    "file_operations.grep_search.includePattern": "a filter on names below rootPath",
    "file_operations.file_search.query": "a filter on names below rootPath",
    "file_operations.semantic_search.includePattern": "a filter on names of the workspace",
    "file_operations.search_index.query": "a part of a name",
    "todo_operations.write.todoList.evidence": "a note that nothing opens",
    "todo_operations.update.todoList.evidence": "a note that nothing opens",
    "file_operations.apply_patch.patchContent": "its names are tried with hostile paths",
}
"""What speaks of paths without naming one, and why that is so."""


PATCH = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
FITTING: dict[str, dict[str, Any]] = {"apply_patch": {"patchContent": PATCH}}
"""Arguments that must be more than an example to be parsed at all."""


def suspicious(operation: Operation[Any]) -> Iterator[tuple[str, ...]]:
    """Arguments of text or lists that seem to name a path or an address, also inside of objects."""
    for name, schema in arguments_schema(operation.arguments)["properties"].items():
        if speaks(name, schema):
            yield (name,)
        for inner, nested in schema.get("items", {}).get("properties", {}).items():
            if speaks(inner, nested):
                yield (name, inner)


def speaks(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether an argument, going by its name and its words, may name a path."""
    kinds = {schema.get("type"), *(part.get("type") for part in schema.get("anyOf", ()))}
    named = NAMED.search(name) or DESCRIBED.search(schema.get("description", ""))
    objects = "properties" in schema.get("items", {})
    return bool(kinds & {"string", "array"} and named and "enum" not in schema and not objects)


def undeclared(tools: Sequence[Tool]) -> list[str]:
    """Operation and argument of every suspicious one that reaches no access."""
    return [
        key
        for tool in tools
        for operation in tool.operations
        for place in suspicious(operation)
        if (key := ".".join((tool.name, operation.name, *place))) not in NO_PATHS
        and not declared(tool, operation, place)
    ]


def declared(tool: Tool, operation: Operation[Any], place: tuple[str, ...]) -> bool:
    """Whether a value given for an argument comes back in some access."""
    given = json.loads(example_call(tool, operation)) | FITTING.get(operation.name, {})
    schema = arguments_schema(operation.arguments)["properties"][place[0]]
    if len(place) == 2:
        inner: dict[str, Any] = schema["items"]["properties"]
        entry = dict.fromkeys((n for n, s in inner.items() if s.get("type") == "string"), "x")
        given[place[0]] = [entry | {place[1]: MARK}]
    else:
        given[place[0]] = [MARK] if schema.get("type") == "array" else MARK
    arguments = operation.arguments.model_validate(given)
    return any(MARK.lstrip("./") in reached(access) for access in operation.accesses(arguments))


def reached(access: Any) -> str:
    """What an access names."""
    match access:
        case Read(path=path) | Write(path=path):
            return path
        case CommandAccess(command=command, cwd=cwd):
            return f"{command} {cwd}"
        case Fetch(url=url):
            return url
        case _:
            return ""


@pytest.mark.requirement("guard:every-path-declared")
async def test_every_argument_that_names_a_path_reaches_an_access(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    runtime = build(Options(str(tmp_path / "ws"), str(tmp_path / "data")), os.environ)
    try:
        tools = runtime.registry.tools
        assert sum(len(list(suspicious(o))) for t in tools for o in t.operations) >= 10
        assert undeclared(tools) == []
    finally:
        await runtime.close()


class Sly(Arguments):
    """Arguments of a tool that forgets one of its paths."""

    filePath: str = Field(description="declared")
    target: str = Field(default="", description="a folder to write to as well")


async def _nothing(_: Sly, __: ToolContext) -> ToolResult:
    return ToolResult("")


@pytest.mark.requirement("guard:every-path-declared")
def test_a_planted_argument_without_an_access_is_caught() -> None:
    operation = Operation(
        "sly", "", Sly, _nothing, lambda _: "", accesses=lambda a: (Write(a.filePath, "filePath"),)
    )
    assert undeclared([Tool("planted", "", (operation,))]) == ["planted.sly.target"]
