"""What tools may be built from: the ports and core services of one runtime."""

from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.core.agent.budget import Budgets
from sam_tui.core.agent.subagents import Subagents
from sam_tui.core.authorization.containment import Workspace
from sam_tui.core.board import TodoBoard
from sam_tui.core.clock import Clock
from sam_tui.core.events import Event
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports.code import EditableFiles, EditJournal, Insight
from sam_tui.core.ports.documents import Documents
from sam_tui.core.ports.files import Search
from sam_tui.core.ports.images import ImageMaker
from sam_tui.core.ports.memory import (
    Archive,
    DocumentStore,
    KeyValueStore,
    KnowledgeStore,
    MemoryStore,
)
from sam_tui.core.ports.prompts import PromptLibrary
from sam_tui.core.ports.storage import ResultStore
from sam_tui.core.ports.tasks import TaskBook, Tasks
from sam_tui.core.ports.terminals import BackgroundCommands, Commands, Terminals
from sam_tui.core.ports.web import SerpApi, Web, WebSearch
from sam_tui.core.workflow.entrance import Entrance


@dataclass(frozen=True, slots=True)
class Remembered:
    """Everything that outlives a conversation's window."""

    memories: MemoryStore
    notes: KeyValueStore
    knowledge: KnowledgeStore
    documents: DocumentStore
    archive: Archive


@dataclass(frozen=True, slots=True)
class Online:
    """The web, and what is configured of it: None where there is no key or endpoint."""

    web: Web
    search: WebSearch
    serpapi: SerpApi | None
    images: ImageMaker | None


@dataclass(frozen=True, slots=True)
class Services:
    """Handed to ``sam_tools.build_tools``, which gives each tool only what it needs."""

    clock: Clock
    publish: Callable[[Event], None]
    files: EditableFiles
    search: Search
    commands: Commands
    terminals: Terminals
    background: BackgroundCommands
    todos: TodoBoard
    inquiries: Inquiries
    results: ResultStore
    remembered: Remembered
    prompts: PromptLibrary
    budgets: Budgets
    workspace: Workspace
    tasks: Tasks
    task_book: TaskBook
    online: Online
    documents: Documents
    insight: Insight
    journal: EditJournal
    subagents: Subagents
    workflows: Entrance
