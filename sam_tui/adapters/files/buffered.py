"""Files as an editor has them open: what is typed there and not saved is read, and never written over."""

from collections.abc import Sequence
from dataclasses import replace

from sam_tui.adapters.files.local import LocalFiles
from sam_tui.core.accesses import Location
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditStep, Move, Snapshot
from sam_tui.core.ports.files import EditorBuffers
from sam_tui.core.text.plain import printable

_LARGEST = 10_000_000
"""Bytes of a file whose buffer is asked for."""


class BufferedFiles(LocalFiles):
    """Asks the editor about a file of the workspace when the agent reads it or plans an edit of it.

    What is secret by its name is never asked for. Where the editor does not answer, the disk counts.
    """

    def __init__(self, buffers: EditorBuffers) -> None:
        self._buffers = buffers
        self._secrets = Secrets("")
        self._unsaved: set[str] = set()
        """Files whose buffer was another than the file when it was last looked at."""

    def snapshot(self, where: Location, *, limit: int) -> Snapshot:
        """As on the disk, with the text that the editor has of it."""
        snapshot = super().snapshot(where, limit=limit)
        if not (self._buffers.reachable and self._is_shared(where, snapshot)):
            return snapshot
        try:
            text = snapshot.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return snapshot
        buffer = self._buffers.read(where.real)
        if buffer is None or _same(buffer, text):
            self._unsaved.discard(where.real)
            return snapshot
        self._unsaved.add(where.real)
        return replace(snapshot, data=buffer.encode("utf-8", "replace")[:limit])

    def apply(self, steps: Sequence[EditStep]) -> None:
        """All changes, unless one is of a file with unsaved changes."""
        for step in steps:
            self._insist_saved(step.source if isinstance(step, Move) else step.where)
        super().apply(steps)

    def write(self, where: Location, data: bytes, *, replace: bool) -> None:
        """As on the disk."""
        self._insist_saved(where)
        super().write(where, data, replace=replace)

    def delete(self, where: Location) -> None:
        """As on the disk."""
        self._insist_saved(where)
        super().delete(where)

    def _is_shared(self, where: Location, snapshot: Snapshot) -> bool:
        if where.root is None or not snapshot.whole or snapshot.stamp.size > _LARGEST:
            return False
        return not self._secrets.named(where.real, inside=True)

    def _insist_saved(self, where: Location) -> None:
        if where.real in self._unsaved:
            raise ToolError(
                f"{printable(where.display_path)} has changes in the editor that are not saved.",
                hint="Have the person save or drop them, then read it and edit it again.",
            )


def _same(buffer: str, text: str) -> bool:
    """Whether both say the same; editors have line ends and a byte order mark of their own."""
    return _plain(buffer) == _plain(text)


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
