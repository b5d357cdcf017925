"""Upkeep of the store: what definition files changed, and what ended long ago."""

from dataclasses import replace

from sam_tui.core.ports.workflows import KnownFile, WorkflowStore
from sam_tui.core.workflow.definitions.catalog import WorkflowCatalog
from sam_tui.core.workflow.execution.case import ENDED
from sam_tui.core.workflow.views import SyncReport


def sync(store: WorkflowStore, catalog: WorkflowCatalog, now: float) -> SyncReport:
    """Compare the definition files with what was known, and remember them."""
    recorded = {file.path: file for file in store.reader.known_files()}
    added: list[str] = []
    updated: list[str] = []
    unchanged: list[str] = []
    seen: set[str] = set()
    with store.unit() as unit:
        for name, file in catalog.files():
            before = recorded.get(file.path)
            absent = before is None or before.missing_at is not None
            same = before is not None and before.sha256 == file.sha256
            (added if absent else unchanged if same else updated).append(name)
            seen.add(file.path)
            unit.save_file(KnownFile(file.origin, file.kind, file.path, name, file.sha256, None))
        missing = [f for path, f in recorded.items() if path not in seen and f.missing_at is None]
        for file in missing:
            unit.save_file(replace(file, missing_at=now))
    return SyncReport(
        tuple(added),
        tuple(updated),
        tuple(unchanged),
        tuple(file.name for file in missing),
        catalog.problems(),
    )


def prune(store: WorkflowStore, before: float) -> int:
    """Delete executions that ended before a time; how many."""
    count = 0
    for state in sorted(ENDED):
        for row in store.reader.executions(state=state, limit=100_000):
            if row.completed_at is not None and row.completed_at < before:
                with store.unit() as unit:
                    unit.delete_execution(row.id)
                count += 1
    return count
