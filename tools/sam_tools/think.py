"""A place for the model to think in the open before it acts (seed 004, think)."""

from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from sam_tui.core.display import Text
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult

_GIST_LENGTH = 100


def _not_empty(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty", "is empty: write down what you think")
    return text


def _tool_names(value: object) -> object:
    """A list of names, or nothing at all: a list with anything else in it is ignored."""
    if not isinstance(value, (list, tuple)):
        return ()
    names = [one_line(name) for name in cast("list[Any]", value) if isinstance(name, str)]
    return tuple(filter(None, names)) if len(names) == len(cast("list[object]", value)) else ()


class Thoughts(Arguments):
    """The arguments of ``think``."""

    thoughts: Annotated[str, AfterValidator(_not_empty)]
    requested_tools: Annotated[tuple[str, ...], BeforeValidator(_tool_names)] = Field(
        default=(), description="names of tools wanted next"
    )


class Think:
    """think: hands the thoughts back, so that they stand in the conversation, and does nothing."""

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "think", "think before acting", Thoughts, self._think, lambda a: f"Thinking: {_gist(a)}"
        )
        return Tool(
            "think",
            "Think a step through before acting: weigh ways, plan, check a conclusion. It changes and"
            " finds out nothing, so act on the thought next.",
            (operation,),
            consolidated=False,
        )

    async def _think(self, arguments: Thoughts, context: ToolContext) -> ToolResult:
        context.emit(_gist(arguments))
        text = arguments.thoughts
        if arguments.requested_tools:
            text += f"\n\nTOOL_REQUEST: {', '.join(arguments.requested_tools)}"
        return ToolResult(text, display=(Text(arguments.thoughts),))


def _gist(arguments: Thoughts) -> str:
    return one_line(arguments.thoughts)[:_GIST_LENGTH]
