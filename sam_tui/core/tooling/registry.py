"""The tools in the order in which the model sees them, and the tool that a name in a call means."""

import fnmatch
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sam_tui.core.errors import InvalidArguments, ToolError, UsageError
from sam_tui.core.tooling.contract import Operation, Tool, operation_key
from sam_tui.core.tooling.offer import Advert, Offer, example_call
from sam_tui.core.tooling.short_list import CALL, FIND, find_schema, short_list, with_search

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from sam_tui.core.tooling.arguments import Arguments

_DESCRIBED = 400
"""The most characters of a description in a list of all tools."""
SERVERS = "mcp__"
"""The prefix of names of MCP servers' tools: ``mcp__server__tool``."""
MOST_LISTED = 40
"""The most tools of servers that are listed with arguments; if there are more, they are searched."""


CLAUDE_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Agent": ("run_subagent",),
    "AskUserQuestion": ("user_collaboration",),
    "Bash": ("terminal_operations",),
    "Edit": tuple(
        f"file_operations.{name}"
        for name in ("replace_string", "multi_replace_string", "insert_edit", "apply_patch")
    ),
    "Glob": ("file_operations.file_search",),
    "Grep": ("file_operations.grep_search",),
    "LS": ("file_operations.list_dir",),
    "MultiEdit": ("file_operations.multi_replace_string",),
    "Read": ("file_operations.read_file",),
    "Task": ("run_subagent",),
    "TodoWrite": ("todo_operations",),
    "WebFetch": ("web_operations.fetch", "web_operations.scrape"),
    "WebSearch": ("web_operations.web_search", "web_operations.research"),
    "Write": ("file_operations.create_file",),
    **dict.fromkeys(
        ("BashOutput", "ExitPlanMode", "EnterPlanMode", "KillBash", "KillShell", "ListMcpResourcesTool",
         "NotebookEdit", "NotebookRead", "ReadMcpResourceTool", "Skill", "SlashCommand", "ToolSearch"),
        (),
    ),
}  # fmt: skip
"""Claude Code's tools, each with our tools or ``tool.operation`` for the same task; some have none."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A name from a call: the tool, and the operation if the name contains it."""

    tool: Tool
    operation: Operation[Any] | None


class Registry:
    """The tools of a runtime. Their descriptions are the same bytes until more tools ``join``.

    A tool that is only offered is made when a call names it. ``disabled`` are names of tools; for
    those of servers also patterns, and ``mcp__server`` for all of one.
    """

    def __init__(self, tools: Sequence[Tool | Offer], *, disabled: Collection[str] = ()) -> None:
        offers = [tool if isinstance(tool, Offer) else Offer.of(tool) for tool in tools]
        self._offers = {offer.name: offer for offer in offers}
        self._disabled = frozenset(disabled)
        self._patterns = tuple(name for name in disabled if name.startswith(SERVERS))
        self._publish()
        self._own = tuple(self._offers.values())
        advert = Advert(FIND, (FIND,), find_schema(), consolidated=False)
        self._finder = Offer(advert, self._find_tools)
        self._aliases = self._operation_aliases()

    def require(self, names: Iterable[str]) -> None:
        """Raises ``UsageError`` for a name that is no tool or ``tool.operation``, except of a server's
        tool."""
        for name in names:
            head, _, operation = name.partition(".")
            offer = self._offers.get(head)
            exists = offer is not None and (not operation or operation in offer.advert.operations)
            if not exists and not name.startswith(SERVERS):
                raise UsageError(f"No tool is called {name!r}.", hint=self._nearest(name))

    def _nearest(self, name: str) -> str:
        if name in self._aliases:
            return f"Did you mean {self._aliases[name].name}.{name}?"
        offers = self._offers.values()
        whole = [f"{offer.name}.{o}" for offer in offers for o in offer.advert.operations]
        near = close_matches(name, [*self._offers, *CLAUDE_TOOLS, *whole], n=3)
        return (
            f"Did you mean {', '.join(near)}?" if near else f"There are: {', '.join(self._offers)}."
        )

    def join(self, offers: Sequence[Offer]) -> None:
        """List these offers after the program's own, in place of those that joined before."""
        joined = [o for o in offers if not any(server_names(p, o.name) for p in self._patterns)]
        names = {offer.name for offer in self._own}
        new = [offer for offer in joined if offer.name not in names]
        self._offers = {offer.name: offer for offer in (*self._own, *new)}
        self._publish()

    def _publish(self) -> None:
        self._callable = tuple(o for o in self._offers.values() if o.name not in self._disabled)
        self.offers = tuple(offer for offer in self._callable if offer.advert.listed)
        ours = [offer for offer in self.offers if not offer.name.startswith(SERVERS)]
        if len(self.offers) - len(ours) > MOST_LISTED:
            self.schemas_json = with_search(self.offers, ours)
        else:
            self.schemas_json = f"[{','.join(offer.advert.schema for offer in self.offers)}]"

    def short_schemas(self, size: int) -> str:
        """The schemas for a short context: a few tools whole, in ``size`` bytes where they can be."""
        return short_list(self.offers, size)

    def _find_tools(self) -> Tool:
        from sam_tui.core.tooling.tool_search import find_tools  # only short contexts need it

        return find_tools(self)

    @property
    def names(self) -> list[str]:
        """The names of the tools that are offered, in order."""
        return [offer.name for offer in self.offers]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are offered, each made by now."""
        return tuple(offer.tool() for offer in self.offers)

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools that are offered as functions, each whole, as data."""
        return [json.loads(offer.advert.schema) for offer in self.offers]

    @property
    def descriptions(self) -> dict[str, str]:
        """Return the purpose of each tool by every name of a call: ``tool`` and ``tool.operation``."""
        about: dict[str, str] = {}
        for offer in self._callable:
            function = json.loads(offer.advert.schema)["function"]
            parameters = function["parameters"]
            required = parameters.get("required", ())  # a server's may have neither
            names = parameters.get("properties", ())
            fields = [name if name in required else f"{name}?" for name in names]
            text = f"{function['description'][:_DESCRIBED]} Input: {', '.join(fields)}."
            about[offer.name] = text
            if offer.advert.consolidated:
                about |= {f"{offer.name}.{name}": text for name in offer.advert.operations}
        return about

    def without(self, names: Collection[str]) -> "Registry":
        """The same tools but for these; a name that is not here is not missed."""
        return Registry([offer for offer in self._callable if offer.name not in names])

    def resolve(self, name: str) -> Resolved:
        """The operation that ``tool``, ``tool.operation`` or a bare operation name means.

        Raises ``ToolError`` for an unknown or disabled one, with the nearest names.
        """
        offer, operation = self._find(name)
        tool = offer.tool()
        if operation:
            return Resolved(tool, self.operation(tool, operation))
        return Resolved(tool, None if tool.consolidated else tool.operations[0])

    def whole_name(self, name: str) -> str:
        """Return ``tool.operation`` for the bare name of an operation; any other name unchanged."""
        offer = self._aliases.get(name)
        return name if offer is None else f"{offer.name}.{name}"

    def knows(self, name: str) -> bool:
        """Whether a call by this name would find a tool."""
        if name == CALL:
            return True
        try:
            offer, operation = self._find(name)
        except ToolError:
            return False
        return not operation or operation in offer.advert.operations

    def operation(self, tool: Tool, name: str) -> Operation[Any]:
        """The operation of this name. Raises ``ToolError`` that lists the operations of the tool."""
        for operation in tool.operations:
            if operation.name == name:
                return operation
        names = [operation.name for operation in tool.operations]
        near = close_matches(name, names, n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        raise ToolError(
            f"{tool.name} has no operation {name!r}.", hint=f"It has: {', '.join(names)}.{guess}"
        )

    def chosen(self, tool: Tool, fields: Mapping[str, object]) -> Operation[Any]:
        """The operation that the arguments of a call name. Raises ``ToolError`` where they name none."""
        name = fields.get("operation")
        if not isinstance(name, str) or not name:
            names = ", ".join(operation.name for operation in tool.operations)
            hint = f"One of: {names}. Example: {example_call(tool, tool.operations[0])}"
            raise InvalidArguments(f"{tool.name} needs an `operation`.", hint=hint)
        return self.operation(tool, name)

    def _find(self, name: str) -> tuple[Offer, str]:
        """The offer that a name means, and the operation's name where it says that too."""
        head, _, tail = name.partition(".")
        offer, operation = self._offers.get(name), ""
        if name == FIND:
            offer = self._finder
        if offer is None and (offer := self._offers.get(head)) is not None:
            operation = tail
        if offer is None and name in self._aliases:
            offer, operation = self._aliases[name], name
        if offer is None:
            near = CLAUDE_TOOLS.get(name) or close_matches(
                name, [*self._offers, *self._aliases], n=3
            )
            hint = f"Did you mean {', '.join(near)}?" if near else self._known()
            raise ToolError(f"There is no tool called {name!r}.", hint=hint)
        if offer.name in self._disabled:
            raise ToolError(f"The tool {offer.name} is disabled here.", hint=self._known())
        return offer, operation

    def _operation_aliases(self) -> dict[str, Offer]:
        """Bare operation names that mean exactly one thing and are no tool's name."""
        offers_by_name: dict[str, Offer | None] = {}
        for offer in self._offers.values():
            for name in offer.advert.operations if offer.advert.consolidated else ():
                offers_by_name[name] = (
                    None if name in offers_by_name or name in self._offers else offer
                )
        return {name: offer for name, offer in offers_by_name.items() if offer is not None}

    def _known(self) -> str:
        return f"There are: {', '.join(self.names)}."


def server_names(pattern: str, name: str) -> bool:
    """Whether ``mcp__server``, a pattern or a name means a tool of a server."""
    return name.startswith(f"{pattern}__") or fnmatch.fnmatchcase(name, pattern)


def built_ins_first(
    tools: Sequence[Tool | Offer], plugins: Sequence[Tool | Offer]
) -> list[Tool | Offer]:
    """The explicit list in its own order, then plug-ins by name (spec/sam.md C24)."""
    return [*tools, *sorted(plugins, key=lambda tool: tool.name)]


def close_matches(name: str, names: Sequence[str], n: int) -> list[str]:
    """The existing names that are nearest to a misspelled one."""
    import difflib  # only mistakes need it

    return difflib.get_close_matches(name, names, n=n)


def validate_arguments(
    tool: Tool, operation: Operation[Any], fields: Mapping[str, object]
) -> "tuple[Arguments, tuple[str, ...]]":
    """The typed arguments, and the names among ``fields`` that the operation does not have.

    Raises ``InvalidArguments`` naming each wrong one, with a correct example.
    """
    # Imported here: until a call comes nothing needs pydantic.
    from pydantic import ValidationError

    from sam_tui.core.tooling.arguments import UnknownArguments

    # The arguments may name the tool and the operation: seed 004.
    routing = {"operation"} | ({"tool"} if fields.get("tool") == tool.name else set[str]())
    unknown = UnknownArguments(routing)
    try:
        return operation.arguments.model_validate(dict(fields), context=unknown), unknown.words
    except ValidationError as error:
        wrong = "; ".join(_fault(e) for e in error.errors(include_url=False, include_input=False))
        raise InvalidArguments(
            f"{operation_key(tool, operation)}: {wrong}.",
            hint=f"Example: {example_call(tool, operation)}",
        ) from None


def _fault(error: "ErrorDetails") -> str:
    from sam_tui.core.text.field_faults import fault_words  # where a call is wrong

    where = ".".join(str(part) for part in error["loc"]) or "arguments"
    words = fault_words(error)
    return f"`{where}` {words}" if error["type"] == "missing" else f"`{where}`: {words}"
