"""get_search_results: what the last search of a conversation found, once more and in full."""

from collections import OrderedDict

from sam_tools.file_operations.arguments import GetSearchResults
from sam_tui.core.ids import ConversationId
from sam_tui.core.tooling.contract import Operation, ToolContext, ToolResult

_MOST_CONVERSATIONS = 64


class Recall:
    """The last search of each conversation; the longest unused one is forgotten first."""

    def __init__(self) -> None:
        self._last: OrderedDict[ConversationId, tuple[str, ToolResult]] = OrderedDict()

    def keep(self, operation: str, result: ToolResult, context: ToolContext) -> ToolResult:
        """Remember a result, and give it back."""
        self._last[context.conversation] = operation, result
        self._last.move_to_end(context.conversation)
        if len(self._last) > _MOST_CONVERSATIONS:
            self._last.popitem(last=False)
        return result

    def get_search_results(self) -> Operation[GetSearchResults]:
        """The operation ``get_search_results``."""
        return Operation(
            "get_search_results",
            "the last search again, in full",
            GetSearchResults,
            self._recall,
            lambda _: "Getting search results",
            inline_limit=48_000,
        )

    async def _recall(self, _: GetSearchResults, context: ToolContext) -> ToolResult:
        if context.conversation not in self._last:
            return ToolResult(
                "Nothing was searched for yet.", data={"operation": "", "results": {}}
            )
        operation, result = self._last[context.conversation]
        data = {"operation": operation, "results": dict(result.data)}
        return ToolResult(f"Last search: {operation}\n{result.text}", data=data)
