"""What tools may be built from: the ports and core services of one runtime."""

from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.core.agent.subagents import Subagents
from sam_tui.core.board import TodoBoard
from sam_tui.core.events import Event
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports import Commands, Files, ResultStore, Search, Terminals


@dataclass(frozen=True, slots=True)
class Services:
    """Handed to ``sam_tools.build_tools``, which gives each tool only what it needs."""

    files: Files
    search: Search
    commands: Commands
    terminals: Terminals
    todos: TodoBoard
    inquiries: Inquiries
    results: ResultStore
    subagents: Subagents
    publish: Callable[[Event], None]
