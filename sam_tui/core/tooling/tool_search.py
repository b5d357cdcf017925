"""``find_tools``: purpose and arguments of tools, for models that see short descriptions alone."""

import json
from collections.abc import Sequence
from typing import Any, Protocol

from sam_tui.core.errors import ToolError
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import (
    Operation,
    Tool,
    ToolContext,
    ToolResult,
    operation_key,
    single,
)
from sam_tui.core.tooling.offer import arguments_schema, canonical, example_call
from sam_tui.core.tooling.short_list import CALL, FIND

_MOST = 6
"""The most tools that a search returns."""
_WHOLE = 3
"""A tool with at most so many operations is shown with all arguments; of others, one operation."""


class Match(Protocol):
    """The tool of a name, and the operation if the name includes it."""

    @property
    def tool(self) -> Tool: ...
    @property
    def operation(self) -> Operation[Any] | None: ...


class Tools(Protocol):
    """The tools that are searched: those of a registry without the disabled and withheld ones."""

    @property
    def names(self) -> list[str]: ...
    @property
    def tools(self) -> Sequence[Tool]: ...
    @property
    def schemas(self) -> list[dict[str, Any]]: ...
    def resolve(self, name: str) -> Match:
        """Raises ``ToolError`` for a name of no tool or operation."""
        ...


class Query(Arguments):
    """The arguments of ``find_tools``."""

    query: str = ""


def find_tools(registry: Tools) -> Tool:
    """Return the tool, over one registry: disabled and withheld tools are not found."""

    async def find(arguments: Query, _: ToolContext) -> ToolResult:
        return ToolResult(lookup(registry, arguments.query.strip()))

    operation = Operation(
        FIND,
        "find tools and their arguments by name or by words",
        Query,
        find,
        lambda arguments: f"Finding tools: {one_line(arguments.query)[:100]}",
    )
    return single(operation, "Finds tools and their arguments.")


def lookup(registry: Tools, query: str) -> str:
    """The description of a named tool; for other words the tools that match best."""
    try:
        match = registry.resolve(query)
    except ToolError:
        return _by_words(registry, query)
    if match.operation is not None:
        return _entry(registry, match.tool, match.operation)
    if len(match.tool.operations) <= _WHOLE:
        return "\n\n".join(_entry(registry, match.tool, o) for o in match.tool.operations)
    lines = [_line(match.tool, operation) for operation in match.tool.operations]
    hint = f"{FIND} with one of these names gives its arguments."
    return "\n".join([f"{match.tool.name} has these operations:", *lines, hint])


def _by_words(registry: Tools, query: str) -> str:
    words = [word for word in query.lower().replace("_", " ").split() if len(word) > 1]
    scored: list[tuple[int, Tool, Operation[Any]]] = []
    for tool in registry.tools:
        for operation in tool.operations:
            text = f"{_line(tool, operation)} {tool.description}".lower()
            name = operation.name.lower()
            score = sum((word in text) + 2 * (word in name) for word in words)
            if score:
                scored.append((score, tool, operation))
    if not scored:
        return f"Nothing fits {query!r}. There are: {', '.join(registry.names)}."
    scored.sort(key=lambda entry: -entry[0])
    _, tool, operation = scored[0]
    lines = [_line(tool, operation) for _, tool, operation in scored[1:_MOST]]
    others = ["", "Also:", *lines] if lines else []
    return "\n".join([_entry(registry, tool, operation), *others])


def _line(tool: Tool, operation: Operation[Any]) -> str:
    return f"- {operation_key(tool, operation)}: {one_line(operation.about)[:200]}"


def _entry(registry: Tools, tool: Tool, operation: Operation[Any]) -> str:
    """The description of one operation: purpose, arguments and an example call."""
    if tool.consolidated:
        schema = arguments_schema(operation.arguments)
        about = operation.about
    else:
        function = next(
            s["function"] for s in registry.schemas if s["function"]["name"] == tool.name
        )
        schema, about = function["parameters"], function["description"]
    example = {"name": tool.name, "arguments": json.loads(example_call(tool, operation))}
    return "\n".join([
        f"{operation_key(tool, operation)}: {about}",
        f"Arguments: {canonical(schema)}",
        f"Call: {CALL} {canonical(example)}",
    ])
