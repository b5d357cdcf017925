"""Code of a workspace: search index, symbols, checkers, and a journal of edits for undo."""

from pathlib import Path

from sam_tui.adapters.code.checkers import WorkspaceCheckers
from sam_tui.adapters.code.index import SqliteCodeIndex, forget_damaged
from sam_tui.adapters.code.journal import SqliteJournal
from sam_tui.adapters.code.usages import TreeSitterSymbols
from sam_tui.core.ports.code import Insight
from sam_tui.core.ports.files import Files, Search
from sam_tui.core.ports.model import Embedder

__all__ = [
    "SqliteCodeIndex",
    "SqliteJournal",
    "TreeSitterSymbols",
    "WorkspaceCheckers",
    "forget_damaged",
    "open_insight",
]


def open_insight(
    data_dir: str | Path,
    root: str,
    files: Files,
    search: Search,
    *,
    embedder: Embedder | None = None,
) -> Insight:
    """Return the index, symbols and checkers of a workspace; ``root`` is its real path.

    Nothing is read or written before it is used. ``insight.index.close()`` closes the index.
    """
    index = SqliteCodeIndex(data_dir, files, search, embedder=embedder)
    return Insight(index, TreeSitterSymbols(), WorkspaceCheckers(root))
