"""A tool that counts words, and a reminder, for sam-tui."""

from collections.abc import Sequence

from pydantic import Field

from sam_tui.core.accesses import Access, Read
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.services import Services
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult

LARGEST = 1_000_000


class CountArguments(Arguments):
    """What a call is given. Names and types become the schema that the model reads."""

    path: str = Field(description="the file to count")


def build_tool(services: Services) -> Tool:
    """The tool. It declares what a call touches; the guard decides on that before it runs."""

    def accesses(arguments: CountArguments) -> Sequence[Access]:
        return (Read(arguments.path, "path"),)

    async def run(arguments: CountArguments, context: ToolContext) -> ToolResult:
        # The place that the guard judged, and no other: a path that was exchanged meanwhile fails.
        data = services.files.read(context.location("path"), limit=LARGEST)
        count = len(data.decode("utf-8", "replace").split())
        return ToolResult(f"{arguments.path} has {count} words.", data={"words": count})

    operation = Operation(
        "count_words",
        "Count the words of a file.",
        CountArguments,
        run,
        lambda arguments: f"Counting: {arguments.path}",
        accesses,
    )
    return Tool("count_words", "Count the words of a file.", (operation,), consolidated=False)


class HelloReminder:
    """Stands before the model with each message of the person."""

    name = "hello"

    def content(self, view: TurnView) -> str | None:
        """What it says now; None for nothing."""
        return "Words of a file are counted by count_words." if view.new_message else None


def build_reminder(services: Services) -> HelloReminder:
    """The reminder."""
    return HelloReminder()
