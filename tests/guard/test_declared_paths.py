"""Every argument of every built-in operation that names a path or an address is a declared access."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from sam_tui.assembly import Options, build
from sam_tui.core.accesses import Fetch, Read, Run, Write
from sam_tui.core.tooling.contract import Arguments, Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.schema import example_arguments

MARK = "../planted-elsewhere"
NAMED = re.compile(r"path|file|dir|folder|url|uri", re.IGNORECASE)
DESCRIBED = re.compile(r"\b(?:paths?|files?|folders?|director(?:y|ies)|urls?)\b", re.IGNORECASE)
NO_PATHS = {
    "grep_search.includePattern": "a filter on names below rootPath",
    "file_search.query": "a filter on names below rootPath",
}
"""What speaks of paths without naming one, and why that is so."""


def suspicious(operation: Operation[Any]) -> Iterator[str]:
    """Arguments of text or lists that seem to name a path or an address."""
    properties: dict[str, Any] = operation.arguments.model_json_schema().get("properties", {})
    for name, schema in properties.items():
        kinds = {schema.get("type"), *(part.get("type") for part in schema.get("anyOf", ()))}
        speaks = NAMED.search(name) or DESCRIBED.search(schema.get("description", ""))
        if kinds & {"string", "array"} and speaks and "enum" not in schema:
            yield name


def undeclared(tools: Sequence[Tool]) -> list[str]:
    """Operation and argument of every suspicious one that reaches no access."""
    found: list[str] = []
    for tool in tools:
        for operation in tool.operations:
            for name in suspicious(operation):
                key = f"{operation.name}.{name}"
                if key not in NO_PATHS and not declared(operation, name):
                    found.append(f"{tool.name}.{key}")
    return found


def declared(operation: Operation[Any], name: str) -> bool:
    """Whether a value given for an argument comes back in some access."""
    schema: dict[str, Any] = operation.arguments.model_json_schema()["properties"][name]
    kinds = {schema.get("type"), *(part.get("type") for part in schema.get("anyOf", ()))}
    value: Any = [MARK] if "array" in kinds else MARK
    given = {**example_arguments(operation), name: value}
    arguments = operation.arguments.model_validate(given)
    return any(MARK.lstrip("./") in reached(access) for access in operation.accesses(arguments))


def reached(access: Any) -> str:
    """What an access names."""
    match access:
        case Read(path=path) | Write(path=path):
            return path
        case Run(command=command, cwd=cwd):
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
