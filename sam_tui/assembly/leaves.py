"""The leaves of one runtime, each imported and made when it is first asked for."""

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sam_tui.assembly.options import DEFAULT_TIMEOUT, Options
from sam_tui.assembly.running import skill_folders, workflow_places
from sam_tui.core.agent.budget import Budgets
from sam_tui.core.agent.subagents import Subagents, Surroundings
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import Noticed
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports.model import ModelOffer
from sam_tui.core.prompt.system import guidance, system_prompt
from sam_tui.core.services import Online, Remembered
from sam_tui.core.workflow.lazy import LazyWorkflows

if not TYPE_CHECKING:
    from functools import cached_property as once
else:
    once = property  # what a protocol can be compared with
    from sam_tui.adapters.code import SqliteJournal
    from sam_tui.adapters.documents import LocalDocuments
    from sam_tui.adapters.files import LocalFiles
    from sam_tui.adapters.policy import AppFolders, SandboxPlan
    from sam_tui.adapters.prompts import FilePrompts
    from sam_tui.adapters.search import RipgrepSearch
    from sam_tui.adapters.skills import FileSkills
    from sam_tui.adapters.storage import Storage
    from sam_tui.adapters.tasks import CommandTasks, FileTaskBook
    from sam_tui.adapters.terminal.commands.background import PortedCommands
    from sam_tui.adapters.terminal.commands.piped import PipedCommands
    from sam_tui.adapters.terminal.commands.shell import ShellCommands
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.adapters.terminal.recordings.library import CastRecordings
    from sam_tui.adapters.terminal.rehearsal.rehearsal import BranchRehearsals
    from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
    from sam_tui.core.accesses import Location
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.code import Insight
    from sam_tui.core.ports.model import Embedder, Model, ModelCatalog
    from sam_tui.core.ports.policy import DecisionHistory
    from sam_tui.core.ports.processes.background import BackgroundCommand
    from sam_tui.core.ports.servers import McpServers
    from sam_tui.core.ports.storage import ConversationStore, ResultStore

T = TypeVar("T")


class Leaves:
    """The ``Services`` of a runtime, and what else its parts are made of."""

    def __init__(
        self,
        options: Options,
        environ: Mapping[str, str],
        workspace: Workspace,
        folders: "AppFolders",
        *,
        trusted: Callable[[], bool],
    ) -> None:
        self._options = options
        self._environ = environ
        self._places = folders
        self._trusts = trusted
        self._closing = contextlib.ExitStack()
        self.clock = SystemClock()
        self.bus = Bus()
        self.publish = self.bus.publish
        self.workspace = workspace
        self.inquiries = Inquiries(
            self.bus, self.clock, attended=options.attended, responder=options.responder
        )
        self.budgets = Budgets()
        self.vouches: Callable[[str, bytes], bool] = lambda _, __: False
        """Whether a file of the workspace, by its name, holds what the person trusted."""
        self.clean: Callable[[str], str] = lambda text: text
        """Takes secrets out of a text."""
        self.sandbox_plan: Callable[[], SandboxPlan] | None = None
        """How policy has commands held; asked when the first of them is."""
        self.restricts_reads: Callable[[], bool] = lambda: False
        """Whether what commands read outside is asked."""
        self.servers: McpServers | None = None
        """The servers whose tools the agent may call."""
        self.local_servers: tuple[str, ...] = ()
        """``host:port`` of what the web tools may reach besides the public internet."""
        self.sieve: Callable[[Location], Callable[[str], bool]] = lambda _: lambda _: False
        """What of a folder a search may show; nothing while there is no guard."""

    # What is kept

    @once
    def storage(self) -> "Storage":
        """Every store of the conversations' database."""
        from sam_tui.adapters.storage import open_storage

        data, program = self._options.data_dir, self._options.program
        storage = open_storage(data, now=self.clock.now, embedder=self._embedder, program=program)
        return self._closed(storage, storage.close)

    @once
    def todos(self) -> TodoBoard:
        """The todo lists."""
        return TodoBoard(self.storage.todos, self.bus, self.clock)

    @once
    def results(self) -> "ResultStore":
        """Results that were too long for the conversation."""
        return self.storage.results

    @once
    def conversations(self) -> "ConversationStore":
        """What was said."""
        return self.storage.conversations

    @once
    def decisions(self) -> "DecisionHistory":
        """What was decided."""
        return self.storage.decisions

    @once
    def remembered(self) -> Remembered:
        """Everything that outlives a conversation's window."""
        db = self.storage
        return Remembered(db.memories, db.notes, db.knowledge, db.documents, db.archive)

    @once
    def prompts(self) -> "FilePrompts":
        """Prompts as files: built-in, the person's and, where it is trusted, the folder's."""
        from sam_tui.adapters.prompts import FilePrompts

        folder = f"{self._options.data_dir}/prompts"
        return FilePrompts(folder, self.workspace.root, self.storage.choices, self.vouches)

    @once
    def skills(self) -> "FileSkills":
        """Skills: the person's and, where it is trusted, the folder's."""
        from sam_tui.adapters.skills import FileSkills

        return FileSkills(
            self._places.config_dir,
            self.workspace.root,
            files=self.files,
            trusted=self._trusts,
            vouches=self.vouches,
            clean=lambda text: self.clean(text),
        )

    @once
    def has_skills(self) -> bool:
        """Whether there are folders for skills at the start."""
        return any(map(os.path.isdir, skill_folders(self._places.config_dir, self.workspace.root)))

    @once
    def _embedder(self) -> "Embedder | None":
        from sam_tui.adapters.llm.embedding import embedder_from

        return embedder_from(self._environ, lambda text: self.clean(text))

    # Files and code

    @once
    def files(self) -> "LocalFiles":
        """The file system, no link followed."""
        from sam_tui.adapters.files import LocalFiles

        return LocalFiles()

    @once
    def search(self) -> "RipgrepSearch":
        """ripgrep."""
        from sam_tui.adapters.search import RipgrepSearch

        return RipgrepSearch(sieve=lambda where: self.sieve(where))

    @once
    def journal(self) -> "SqliteJournal":
        """Edits that can be undone."""
        from sam_tui.adapters.code import SqliteJournal

        journal = SqliteJournal(self._options.data_dir, self.files)
        return self._closed(journal, journal.close)

    @once
    def insight(self) -> "Insight":
        """What is known about the code of the workspace."""
        from sam_tui.adapters.code import open_insight

        insight = open_insight(
            self._options.data_dir,
            self.workspace.root,
            self.files,
            self.search,
            embedder=self._embedder,
        )
        return self._closed(insight, insight.index.close)

    @once
    def documents(self) -> "LocalDocuments":
        """Documents of many formats, in and out."""
        from sam_tui.adapters.documents import LocalDocuments

        return LocalDocuments()

    # Processes

    @once
    def sandbox(self) -> "Sandbox":
        """What holds commands."""
        from sam_tui.adapters.policy import SandboxPlan
        from sam_tui.adapters.policy.readable_paths import free_reads
        from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
        from sam_tui.core.ports.processes.sandbox import ReadTerms

        plan = self.sandbox_plan() if self.sandbox_plan else SandboxPlan()
        sandbox = Sandbox(
            kind=plan.kind, secrets=plan.secrets, opened=plan.opened, caches=plan.caches
        )
        sandbox.hold_network(plan.network, plan.hosts)
        sandbox.redirect(plan.redirected)
        sandbox.pass_variables(plan.passed)
        home = self._places.home
        sandbox.reads = lambda: ReadTerms(  # what is there when a run begins
            home, free_reads(home, os.environ), self.workspace.roots, self.restricts_reads()
        )
        sandbox.limit(plan.limits)

        sandbox.misses.tell = lambda text: self.publish(Noticed(None, "warning", text))
        return self._closed(sandbox, sandbox.close)

    @once
    def commands(self) -> "ShellCommands":
        """Shell commands."""
        from sam_tui.adapters.terminal.commands.shell import ShellCommands

        return ShellCommands(self.sandbox)

    @once
    def terminals(self) -> "PtyTerminals":
        """Terminal sessions."""
        from sam_tui.adapters.terminal.holders.client import Holders
        from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals

        folder = f"{self._options.data_dir}/terminals"
        holders = Holders(folder) if self._options.keeps_terminals else None
        return PtyTerminals(self.sandbox, holders)

    def leaders(self) -> "Sequence[int]":
        """The processes that lead the sessions of confined commands and terminals; starts nothing."""
        commands = self.commands.leaders if "commands" in vars(self) else ()
        sessions = self.terminals.leaders() if "terminals" in vars(self) else ()
        return (*commands, *sessions)

    @once
    def background(self) -> "PortedCommands":
        """Commands that go on while the agent does something else."""
        from sam_tui.adapters.terminal.commands.background import PortedCommands

        return PortedCommands(self.commands)

    @once
    def piped(self) -> "PipedCommands":
        """Programs that are spoken to, such as MCP servers."""
        from sam_tui.adapters.terminal.commands.piped import PipedCommands

        return PipedCommands(self.sandbox)

    def ended_beside(self, conversation: "ConversationId") -> "Sequence[BackgroundCommand]":
        """What ended in the background and was not read; asking starts nothing."""
        return self.background.unread(conversation) if "background" in vars(self) else ()

    @once
    def recordings(self) -> "CastRecordings":
        """Recordings of terminals."""
        from sam_tui.adapters.terminal.recordings.library import CastRecordings

        folder = f"{self._options.data_dir}/recordings"
        recordings = CastRecordings(folder, self._environ, self.workspace.root)
        return self._closed(recordings, recordings.close)

    @once
    def rehearsals(self) -> "BranchRehearsals":
        """Commands on a copy of the workspace."""
        from sam_tui.adapters.terminal.rehearsal.rehearsal import BranchRehearsals

        return BranchRehearsals(self.commands, self.sandbox)

    @once
    def tasks(self) -> "CommandTasks":
        """Build tasks that run."""
        from sam_tui.adapters.tasks import CommandTasks

        return CommandTasks(self.commands)

    @once
    def task_book(self) -> "FileTaskBook":
        """Build tasks that are known."""
        from sam_tui.adapters.tasks import FileTaskBook

        return FileTaskBook(f"{self._options.data_dir}/tasks", self.workspace.root)

    # Models and the web

    @once
    def catalog(self) -> "ModelCatalog":
        """What models there are to choose from."""
        from sam_tui.adapters.llm.catalog import ProviderCatalog
        from sam_tui.adapters.llm.choice import Wish

        options = self._options
        timeout = options.request_timeout or DEFAULT_TIMEOUT
        wish = Wish(options.model, options.api_base, options.api_key, options.provider, timeout)
        return ProviderCatalog(self._environ, wish=wish)

    @once
    def online(self) -> Online:
        """The web as the environment configures it; what is not public only where it is named."""
        from sam_tui.adapters.images import EndpointImages, image_settings
        from sam_tui.adapters.web import GuardedWeb, search_from, serpapi_from

        local = frozenset(self.local_servers)
        web, environ = GuardedWeb(clock=self.clock, allowed=local), self._environ
        settings, images = image_settings(environ), None
        if settings is not None:
            images = EndpointImages(GuardedWeb(allowed=local | {settings.origin}), settings)
        return Online(web, search_from(web, environ), serpapi_from(web, environ), images)

    @property
    def online_extras(self) -> bool:
        """Whether the environment may name an image endpoint or a SerpApi key."""
        return any(name.startswith(("SAM_TUI_IMAGE_", "SERPAPI_")) for name in self._environ)

    @once
    def subagents(self) -> Subagents:
        """Errands that run beside the conversation."""
        surroundings = Surroundings(
            self.open_model,
            self.model_host,
            lambda prompt: system_prompt(guidance(self.prompts, prompt), self.workspace),
            self.storage.memories.set_topic,
        )
        return Subagents(self.storage.conversations, self.budgets, surroundings)

    @once
    def workflows(self) -> LazyWorkflows:
        """Runs of workflows: their store is not looked at before the first is used."""
        folders = workflow_places(self._places, self.workspace.root, self.vouches)
        workflows = LazyWorkflows(folders, self.clock, self.bus)
        return self._closed(workflows, workflows.close)

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables of the program."""
        return self._environ

    @property
    def default_model(self) -> str:
        """The model that was asked for."""
        return self._options.model

    def open_model(self, name: str, options: Mapping[str, Any] | None = None) -> "Model":
        """The model of that name, reached as the person asked for theirs. Raises ``SamError``."""
        return self.catalog.open(ModelOffer(name, name, ""), options=options)

    def model_host(self, name: str) -> str:
        """Where requests to that model would go, or to the one asked for where no name is given."""
        name = name or self.default_model
        return self.catalog.host(ModelOffer(name, name, "")) if name else ""

    # The end

    async def end_processes(self) -> None:
        """End every task, command and terminal that was begun."""
        made_parts = vars(self)
        if self.servers is not None:
            await self.servers.close()
        if "tasks" in made_parts:
            await self.tasks.close()
        if "background" in made_parts:
            await self.background.close_all()
        if "terminals" in made_parts:
            await self.terminals.close_all()

    def close(self) -> None:
        """Release what was made, the newest first."""
        self._closing.close()

    def at_close(self, release: Callable[[], None]) -> None:
        """Have something released with the rest."""
        self._closing.callback(release)

    def _closed(self, leaf: T, release: Callable[[], None]) -> T:
        self.at_close(release)
        return leaf
