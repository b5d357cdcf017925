"""The parts that tools are built from: ports and core services of one runtime; reports of plug-ins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sam_tui.core.agent.budget import Budgets
    from sam_tui.core.agent.subagents import Subagents
    from sam_tui.core.authorization.paths.containment import Workspace
    from sam_tui.core.board import TodoBoard
    from sam_tui.core.clock import Clock
    from sam_tui.core.events import Event
    from sam_tui.core.inquiries import Inquiries
    from sam_tui.core.ports.code import EditableFiles, EditJournal, Insight
    from sam_tui.core.ports.documents import Documents
    from sam_tui.core.ports.files import Search
    from sam_tui.core.ports.memory import (
        Archive,
        DocumentStore,
        KeyValueStore,
        KnowledgeStore,
        MemoryEntries,
        MemoryStore,
    )
    from sam_tui.core.ports.processes.background import BackgroundCommands
    from sam_tui.core.ports.processes.rehearsal import Rehearsals
    from sam_tui.core.ports.processes.tasks import TaskBook, Tasks
    from sam_tui.core.ports.processes.terminals import Commands, Terminals
    from sam_tui.core.ports.prompts import DefinitionKind, DefinitionListing, PromptLibrary, Skills
    from sam_tui.core.ports.storage import ResultStore
    from sam_tui.core.ports.web import ImageMaker, SerpApi, Web, WebSearch
    from sam_tui.core.workflow.lazy import LazyWorkflows


API = 1
"""The version of the contract that plug-ins are written to: ``core.tooling.contract`` and Reminder."""


@dataclass(frozen=True, slots=True)
class PluginReport:
    """An entry point: its distribution, and its tools or reminders, or its fault.

    ``group`` is ``sam_tui.tools`` or ``sam_tui.reminders``; ``names`` are of the tools or reminders
    it gave. ``api`` is the contract it was written to, None where it could not be asked.
    """

    group: str
    entry: str
    distribution: str
    version: str
    api: int | None
    names: tuple[str, ...] = ()
    fault: str = ""

    @property
    def warning(self) -> str:
        """Its fault in a sentence; empty without one."""
        where = f"{self.entry} of {self.distribution} {self.version}"
        return f"broken plug-in: {where}: {self.fault}" if self.fault else ""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stores whose content outlives a conversation's context."""

    memories: MemoryStore
    notes: KeyValueStore
    knowledge: KnowledgeStore
    documents: DocumentStore
    archive: Archive
    entries: MemoryEntries


@dataclass(frozen=True, slots=True)
class Online:
    """The web and the services configured for it: None where a key or an endpoint is missing."""

    web: Web
    search: WebSearch
    serpapi: SerpApi | None
    images: ImageMaker | None
    api_tables: Callable[[], Sequence[str]]
    """The person's own Markdown tables of public APIs, as files have them."""


class Services(Protocol):
    """The parts that tools are built from; ``sam_tools.offers`` gives each tool its own.

    Each is made when it is first asked for: a run that reads no document imports no reader of them.
    """

    clock: Clock
    publish: Callable[[Event], None]
    inquiries: Inquiries
    budgets: Budgets
    workspace: Workspace

    @property
    def files(self) -> EditableFiles: ...
    @property
    def search(self) -> Search: ...
    @property
    def commands(self) -> Commands: ...
    @property
    def terminals(self) -> Terminals: ...
    @property
    def background(self) -> BackgroundCommands: ...
    @property
    def rehearsals(self) -> Rehearsals: ...
    @property
    def todos(self) -> TodoBoard: ...
    @property
    def results(self) -> ResultStore: ...
    @property
    def remembered(self) -> Remembered: ...
    @property
    def prompts(self) -> PromptLibrary: ...
    @property
    def tasks(self) -> Tasks: ...
    @property
    def task_book(self) -> TaskBook: ...
    @property
    def online(self) -> Online: ...
    @property
    def online_extras(self) -> bool:
        """Whether ``online`` may have more than the web and a search: a look at it is worth it."""
        ...

    @property
    def documents(self) -> Documents: ...
    @property
    def skills(self) -> Skills: ...
    def definitions(self, kind: DefinitionKind) -> DefinitionListing:
        """Return the commands, agents or rules that files define now."""
        ...

    @property
    def has_skills(self) -> bool:
        """Whether any folder for skills exists; without one no text mentions skills."""
        ...

    @property
    def insight(self) -> Insight: ...
    @property
    def journal(self) -> EditJournal: ...
    @property
    def subagents(self) -> Subagents: ...
    @property
    def workflows(self) -> LazyWorkflows: ...
    @property
    def default_model(self) -> str:
        """The configured model, for work outside of turns; may be empty."""
        ...
