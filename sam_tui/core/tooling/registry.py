"""Which tools there are, in the order the model sees, and what a name in a call stands for."""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sam_tui.core.errors import ConfigurationError, ToolError
from sam_tui.core.tooling.contract import Operation, Tool
from sam_tui.core.tooling.schema import canonical, tool_schema


@dataclass(frozen=True, slots=True)
class Resolved:
    """A name from a call: the tool, and the operation where the name already says which."""

    tool: Tool
    operation: Operation[Any] | None


class Registry:
    """The tools of one runtime. Their schemas are serialised once, so they are the same bytes."""

    def __init__(self, tools: Sequence[Tool], *, disabled: Collection[str] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        unknown = [name for name in disabled if name not in self._tools]
        if unknown:
            raise ConfigurationError(f"No tool is called {unknown[0]!r}.", hint=self._known())
        self._disabled = frozenset(disabled)
        self._aliases = self._operation_aliases()
        visible = [tool for tool in self._tools.values() if tool.name not in self._disabled]
        self.tools: tuple[Tool, ...] = tuple(visible)
        self.schemas = [tool_schema(tool) for tool in visible]
        self.schemas_json = canonical(self.schemas)

    def without(self, names: Collection[str]) -> "Registry":
        """The same tools but for these; a name that is not here is not missed."""
        return Registry([tool for tool in self.tools if tool.name not in names])

    def resolve(self, name: str) -> Resolved:
        """What ``tool``, ``tool.operation`` or a bare operation name stands for.

        Raises ``ToolError`` for an unknown or disabled one, with the nearest names.
        """
        head, _, tail = name.partition(".")
        tool = self._tools.get(name) or self._tools.get(head)
        operation: Operation[Any] | None = None
        if tool is None and name in self._aliases:
            tool, operation = self._aliases[name]
        if tool is None:
            near = difflib.get_close_matches(name, [*self._tools, *self._aliases], n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else self._known()
            raise ToolError(f"There is no tool called {name!r}.", hint=hint)
        if tool.name in self._disabled:
            raise ToolError(f"The tool {tool.name} is disabled here.", hint=self._known())
        if operation is None and tail and name not in self._tools:
            operation = self.operation(tool, tail)
        if operation is None and not tool.consolidated:
            operation = tool.operations[0]
        return Resolved(tool, operation)

    def knows(self, name: str) -> bool:
        """Whether a call by this name would find a tool."""
        try:
            self.resolve(name)
        except ToolError:
            return False
        return True

    def operation(self, tool: Tool, name: str) -> Operation[Any]:
        """The tool's operation of that name; raises ``ToolError`` listing those it has."""
        for operation in tool.operations:
            if operation.name == name:
                return operation
        names = [operation.name for operation in tool.operations]
        near = difflib.get_close_matches(name, names, n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        raise ToolError(
            f"{tool.name} has no operation {name!r}.", hint=f"It has: {', '.join(names)}.{guess}"
        )

    def _operation_aliases(self) -> dict[str, tuple[Tool, Operation[Any]]]:
        """Bare operation names that mean exactly one thing and are no tool's name."""
        found: dict[str, tuple[Tool, Operation[Any]] | None] = {}
        for tool in self._tools.values():
            for operation in tool.operations if tool.consolidated else ():
                known = operation.name in found or operation.name in self._tools
                found[operation.name] = None if known else (tool, operation)
        return {name: entry for name, entry in found.items() if entry is not None}

    def _known(self) -> str:
        return f"There are: {', '.join(n for n in self._tools if n not in self._disabled)}."


def operation_key(tool: Tool, operation: Operation[Any]) -> str:
    """The name grants, decisions and events use: ``tool.operation``, or ``tool`` for a single one."""
    return f"{tool.name}.{operation.name}" if tool.consolidated else tool.name


def built_ins_first(tools: Sequence[Tool], plugins: Sequence[Tool]) -> list[Tool]:
    """The explicit list in its own order, then plug-ins by name (spec/sam.md C24)."""
    return [*tools, *sorted(plugins, key=lambda tool: tool.name)]
