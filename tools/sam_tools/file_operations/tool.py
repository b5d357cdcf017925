"""The tool: its operations in the seed's order."""

from sam_tools.file_operations.commits import Commits
from sam_tools.file_operations.editing import Editing
from sam_tools.file_operations.moving import Moving
from sam_tools.file_operations.patching import Patching
from sam_tools.file_operations.reading import Reading
from sam_tools.file_operations.searching import Searching
from sam_tools.file_operations.several import SeveralReplacements
from sam_tui.core.ports import Search
from sam_tui.core.ports.code import EditableFiles, EditJournal
from sam_tui.core.tooling.contract import Tool


class FileOperations:
    """file_operations: read, find and change files, by the two ports that can (seed 004)."""

    def __init__(
        self, files: EditableFiles, search: Search, *, journal: EditJournal | None = None
    ) -> None:
        commits = Commits(files, journal)
        self._reading = Reading(files)
        self._searching = Searching(search)
        self._editing = Editing(files, commits)
        self._several = SeveralReplacements(files, commits)
        self._moving = Moving(files, commits)
        self._patching = Patching(files, commits)

    def tool(self) -> Tool:
        """The tool, ready to register."""
        return Tool(
            "file_operations",
            "Read, find and change files. Read a file before changing it.",
            (
                self._reading.read_file(),
                self._reading.list_dir(),
                self._searching.file_search(),
                self._searching.grep_search(),
                self._editing.create_file(),
                self._editing.replace_string(),
                self._several.multi_replace_string(),
                self._editing.insert_edit(),
                self._moving.rename_file(),
                self._moving.delete_file(),
                self._patching.apply_patch(),
            ),
        )
