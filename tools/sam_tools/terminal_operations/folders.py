"""create_directory: a folder and those above it, through the guarded file port."""

from sam_tools.terminal_operations.answers import json_result
from sam_tools.terminal_operations.arguments import CreateDirectory
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import Files
from sam_tui.core.tooling.contract import ToolContext, ToolResult


class FolderHand:
    """Makes folders where the guard allowed it."""

    def __init__(self, files: Files | None) -> None:
        self._files = files

    async def create(self, arguments: CreateDirectory, context: ToolContext) -> ToolResult:
        """Make it; one that is there already is no error."""
        if self._files is None:
            raise ToolError("Folders cannot be made here.")
        where = context.location("dirPath")
        created = self._files.make_directory(where)
        return json_result({
            "success": True,
            "path": where.display_path,
            "created": created,
            "message": "The folder was made." if created else "The folder was there already.",
        })
