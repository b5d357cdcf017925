"""A tool as it is advertised, made only when it is called: most turns call two of sixteen."""

from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.core.tooling.contract import Tool


@dataclass(frozen=True, slots=True)
class Advert:
    """What the model is told of a tool. ``schema`` is canonical JSON, an OpenAI-style function.

    ``operations`` are their names in order, one alone where the tool is not consolidated.
    """

    name: str
    operations: tuple[str, ...]
    schema: str
    consolidated: bool = True


def advert_of(tool: Tool) -> Advert:
    """The advert of a tool that is there, from the models that parse its calls."""
    from sam_tui.core.tooling.schema import canonical, tool_schema  # an advert at hand needs none

    names = tuple(operation.name for operation in tool.operations)
    return Advert(tool.name, names, canonical(tool_schema(tool)), tool.consolidated)


class Offer:
    """An advert and how to make the tool that it promises. It is made once."""

    def __init__(self, advert: Advert, make: Callable[[], Tool]) -> None:
        self.advert = advert
        self._make = make
        self._tool: Tool | None = None

    @classmethod
    def of(cls, tool: Tool) -> "Offer":
        """A tool that is there already."""
        return cls(advert_of(tool), lambda: tool)

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.advert.name

    def tool(self) -> Tool:
        """The tool itself."""
        if self._tool is None:
            self._tool = self._make()
        return self._tool
