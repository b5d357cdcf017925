"""The one way by which edits reach the disk: kept for undoing first, then made as a whole."""

from collections.abc import Sequence

from sam_tui.core.errors import StorageError, ToolError
from sam_tui.core.ports.code import EditableFiles, EditJournal, EditStep
from sam_tui.core.tooling.contract import ToolContext


class Commits:
    """Makes edits. Without a journal nothing is kept."""

    def __init__(self, files: EditableFiles, journal: EditJournal | None) -> None:
        self._files = files
        self._journal = journal

    def make(self, operation: str, steps: Sequence[EditStep], context: ToolContext) -> str:
        """All steps or none; returns a remark for the model, empty when the edit can be undone.

        Call it on the loop's own thread: once a call is cancelled, nothing of it is written later.
        """
        entry, remark = self._keep(operation, steps, context)
        try:
            self._files.apply(steps)
        except ToolError:
            self._discard(entry)
            raise
        return remark

    def _keep(
        self, operation: str, steps: Sequence[EditStep], context: ToolContext
    ) -> tuple[int | None, str]:
        if self._journal is None:
            return None, ""
        try:
            entry = self._journal.record(context.conversation, context.call, operation, steps)
        except StorageError as error:
            return None, f"\n(It cannot be undone: {error})"
        return entry, "" if entry is not None else "\n(It cannot be undone: too large, or no file)"

    def _discard(self, entry: int | None) -> None:
        if self._journal is None or entry is None:
            return
        try:
            self._journal.discard(entry)
        except StorageError:
            return  # undoing it finds that the files are not as it says, and refuses
