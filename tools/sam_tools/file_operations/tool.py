"""The tool: its operations in the seed's order."""

from collections.abc import Iterator
from typing import Any

from sam_tools.file_operations.changes import Commits
from sam_tools.file_operations.diagnostics import Diagnosing
from sam_tools.file_operations.edits import Editing, SeveralReplacements
from sam_tools.file_operations.index_search import Indexing
from sam_tools.file_operations.moves import Moving
from sam_tools.file_operations.patches import Patching
from sam_tools.file_operations.reads import Reading
from sam_tools.file_operations.search import Recall, Searching
from sam_tools.file_operations.usages import Usages
from sam_tui.core.ports.code import EditableFiles, EditJournal, Insight
from sam_tui.core.ports.files import Search
from sam_tui.core.ports.processes.terminals import Commands
from sam_tui.core.tooling.contract import Operation, Tool


class FileOperations:
    """file_operations: read, find and change files, by the ports that can (seed 004).

    Without ``insight`` the four operations that need to understand code are left out, and without
    ``commands`` get_errors; without ``journal`` edits cannot be undone.
    """

    def __init__(
        self,
        files: EditableFiles,
        search: Search,
        *,
        journal: EditJournal | None = None,
        insight: Insight | None = None,
        commands: Commands | None = None,
    ) -> None:
        commits = Commits(files, journal)
        self._recall = Recall()
        self._reading = Reading(files)
        self._searching = Searching(search, self._recall)
        self._editing = Editing(files, commits)
        self._several = SeveralReplacements(files, commits)
        self._moving = Moving(files, commits)
        self._patching = Patching(files, commits)
        self._indexing = self._usages = self._diagnosing = None
        if insight is not None:
            self._indexing = Indexing(insight.index, search, self._recall)
            self._usages = Usages(files, search, insight.symbols, self._recall)
            if commands is not None:
                self._diagnosing = Diagnosing(files, insight.checkers, commands)

    def tool(self) -> Tool:
        """The tool, ready to register."""
        return Tool(
            "file_operations",
            "Read, find and change files. Read a file before changing it.",
            tuple(self._operations()),
            local=True,
        )

    def _operations(self) -> Iterator[Operation[Any]]:
        yield self._reading.read_file()
        yield self._reading.list_dir()
        if self._diagnosing is not None:
            yield self._diagnosing.get_errors()
        yield self._recall.get_search_results()
        yield self._searching.file_search()
        yield self._searching.grep_search()
        if self._indexing is not None and self._usages is not None:
            yield self._indexing.semantic_search()
            yield self._usages.list_usages()
            yield self._indexing.search_index()
        yield self._editing.create_file()
        yield self._editing.replace_string()
        yield self._several.multi_replace_string()
        yield self._editing.insert_edit()
        yield self._moving.rename_file()
        yield self._moving.delete_file()
        yield self._patching.apply_patch()
