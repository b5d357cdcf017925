"""Upkeep of the store: what definition files changed, what ended long ago, and whether it works."""

from dataclasses import replace

from sam_tui.core.clock import Clock
from sam_tui.core.errors import StorageError
from sam_tui.core.ports.workflows import KnownFile, WorkflowStore
from sam_tui.core.workflow.definitions.catalog import WorkflowCatalog
from sam_tui.core.workflow.definitions.model import sha256
from sam_tui.core.workflow.execution.case import ENDED
from sam_tui.core.workflow.views import SyncReport

DAY = 86_400.0


class StoreUpkeep:
    """Compares definition files with the store, and prunes it."""

    def __init__(self, store: WorkflowStore, catalog: WorkflowCatalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    def sync(self) -> SyncReport:
        """Compare the definition files with what was known, remember them, and say what differs."""
        recorded = {file.path: file for file in self._store.reader.known_files()}
        names: dict[str, list[str]] = {"added": [], "updated": [], "unchanged": []}
        present: set[str] = set()
        with self._store.unit() as unit:
            for name, file in self._catalog.files():
                names[_difference(recorded.get(file.path), file.sha256)].append(name)
                present.add(file.path)
                unit.save_file(KnownFile(file.origin, file.kind, file.path, name, file.sha256))
            missing = [
                f for path, f in recorded.items() if path not in present and f.missing_at is None
            ]
            for file in missing:
                unit.save_file(replace(file, missing_at=self._clock.now()))
        return SyncReport(
            added=tuple(names["added"]),
            updated=tuple(names["updated"]),
            unchanged=tuple(names["unchanged"]),
            missing=tuple(file.name for file in missing),
            problems=self._catalog.problems(),
        )

    def prune(self, older_than: float = DAY) -> int:
        """Delete executions that ended longer ago than that many seconds; how many."""
        before = self._clock.now() - older_than
        old = [
            row.id
            for state in sorted(ENDED)
            for row in self._store.reader.executions(state=state, limit=100_000)
            if row.completed_at is not None and row.completed_at < before
        ]
        for execution in old:
            with self._store.unit() as unit:
                unit.delete_execution(execution)
        return len(old)

    def check(self) -> None:
        """Write to the store and read it back. Raises ``StorageError`` where that fails."""
        text = "a store that can be written"
        with self._store.unit() as unit:
            unit.pin(sha256(text), text)
        if self._store.reader.pinned(sha256(text)) != text:
            raise StorageError("The store did not return what was written.")


def _difference(before: KnownFile | None, digest: str) -> str:
    if before is None or before.missing_at is not None:
        return "added"
    return "unchanged" if before.sha256 == digest else "updated"
