"""The stores of a runtime: its database, files, code, prompts, skills, documents, workflows."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from sam_tui.assembly.configuration import Configuration
from sam_tui.assembly.options import Options
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ports.prompts import DefinitionKind, DefinitionListing
from sam_tui.core.redaction.settings_files import SettingsFiles, secrets_of_environment
from sam_tui.core.redaction.shield import Shield
from sam_tui.core.services import Remembered
from sam_tui.core.workflow.lazy import DATABASE, LazyWorkflows

if TYPE_CHECKING:
    from sam_tui.core.accesses import Location
    from sam_tui.core.ports.policy import BundleFolder


class once(property):  # noqa: N801 # a decorator, as property is
    """A property that the first that asks for it makes."""

    def __init__(self, make: Callable[[Any], object]) -> None:
        super().__init__(make)
        self._make = make

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        if instance is None:
            return self
        parts: dict[str, Any] = instance.__dict__
        name = self._make.__name__
        if name not in parts:
            parts[name] = self._make(instance)
        return parts[name]


class Stores(Configuration):
    """The part of a runtime that needs no process. Secrets are known before anything else.

    Each part is made when it is first asked for, and released with the rest.
    """

    def __init__(self, options: Options, environ: Mapping[str, str]) -> None:
        super().__init__(options, environ)
        self.at_close = ExitStack()
        self.clock = SystemClock()
        self.bus = Bus()
        self.publish = self.bus.publish
        secrets = {**secrets_of_environment(self.environ), "api-key": self.options.api_key}
        self.shield = Shield(secrets, source=SettingsFiles(self.workspace.root).changed)
        self.shield.refresh()

    def is_made(self, part: str) -> bool:
        """Whether a part was asked for; to look at it makes none."""
        return part in vars(self)

    def release(self) -> None:
        """Release the parts that were made, the newest first."""
        self.at_close.close()

    @once
    def storage(self):
        """Every store of the conversations' database."""
        from sam_tui.adapters.storage import open_storage

        options = self.options
        storage = open_storage(
            options.data_dir, now=self.clock.now, embedder=self._embedder, program=options.program,
            reads=options.reads,
        )  # fmt: skip
        return self.at_close.enter_context(closing(storage))

    @once
    def todos(self) -> TodoBoard:
        """The todo lists."""
        return TodoBoard(self.storage.todos, self.bus, self.clock)

    @property
    def results(self):
        """Results that were too long for the conversation."""
        return self.storage.results

    @property
    def conversations(self):
        """The stored conversations."""
        return self.storage.conversations

    @property
    def notices(self):
        """The program's messages to the person in each conversation."""
        return self.storage.notices

    @property
    def calls(self):
        """The log of requests to models and their answers."""
        return self.storage.calls

    @property
    def sessions(self):
        """The conversations as a list that people keep."""
        return self.storage.catalog

    @once
    def conversation_files(self):
        """Conversations as files, out and in."""
        from sam_tui.adapters.exchange import LocalConversationFiles

        return LocalConversationFiles(self.shield.redact)

    @property
    def decisions(self):
        """The log of decisions."""
        return self.storage.decisions

    @property
    def remembered(self) -> Remembered:
        """The stores whose content outlives a conversation's context."""
        db = self.storage
        stores = (db.memories, db.notes, db.knowledge, db.documents, db.archive)
        return Remembered(*stores, db.memory_entries)

    @once
    def prompts(self):
        """Prompts as files: built-in, the person's and, where it is trusted, the folder's."""
        from sam_tui.adapters.prompts import FilePrompts

        folder = f"{self.options.data_dir}/prompts"
        return FilePrompts(folder, self.workspace.root, self.storage.choices, self.trust.vouches)

    @once
    def skills(self):
        """Skills: the person's and, where it is trusted, the folder's."""
        from sam_tui.adapters.skills import FileSkills

        return FileSkills(
            self.folders.config_dir,
            self.trust,
            files=self.files,
            clean=self.shield.redact,
            bundles=self.bundles,
        )

    def bundles(self) -> "Sequence[BundleFolder]":
        """The bundles in use; their modules are loaded only after one was added."""
        return self._bundles.counting() if self.extensions.has_bundles else ()

    @once
    def _bundles(self):
        from sam_tui.adapters.bundles import BundleStore
        from sam_tui.adapters.bundles.store import pinned_digests

        return BundleStore(self.folders.config_dir, lambda: pinned_digests(self.trust))

    def remember(self, text: str) -> str:
        """Add a line to the person's own instructions; returns their path. Raises ``StorageError``."""
        from sam_tui.adapters.instructions.files import add_note

        return add_note(self.folders.config_dir, text)

    def definitions(self, kind: "DefinitionKind") -> "DefinitionListing":
        """The commands, agents or rules of files; their reader is loaded where there is a folder."""
        if self.extensions.has_definitions(kind) or self.extensions.has_bundles:
            return self._definitions.listing(kind)
        return DefinitionListing()

    @once
    def _definitions(self):
        from sam_tui.adapters.skills.definitions import DefinitionSources, FileDefinitions

        personal, redact = self.extensions.own_definitions, self.shield.redact
        sources = DefinitionSources(personal, self.files, self.trust, redact, self.bundles)
        return FileDefinitions(sources)

    @once
    def has_skills(self) -> bool:
        """Whether there are folders for skills at the start."""
        return self.extensions.has_skills

    @once
    def _embedder(self):
        from sam_tui.adapters.llm.embedding import embedder_from

        return embedder_from(self.environ, self.shield.redact)

    @once
    def files(self):
        """The file system, no link followed."""
        from sam_tui.adapters.files import LocalFiles

        buffers = self.options.buffers
        if buffers is None:
            return LocalFiles()
        from sam_tui.adapters.files.buffered import BufferedFiles

        return BufferedFiles(buffers, _commands_run)

    @once
    def search(self):
        """ripgrep."""
        from sam_tui.adapters.search import RipgrepSearch

        return RipgrepSearch(search_filter=self._readable)

    def _readable(self, folder: "Location") -> "Callable[[str], bool]":
        """Returns which files of a folder a search may show."""
        from sam_tui.core.authorization.policy.search_filter import search_filter

        return search_filter(self.guard.policy, folder)

    @once
    def journal(self):
        """Edits that can be undone."""
        from sam_tui.adapters.code import SqliteJournal

        journal = SqliteJournal(self.options.data_dir, self.files)
        return self.at_close.enter_context(closing(journal))

    @once
    def checkpoints(self):
        """The checkpoints of the workspace's files before each change."""
        from sam_tui.adapters.checkpoints import CheckpointLimits, GitCheckpoints
        from sam_tui.adapters.files import LocalFiles

        # Of the person's own file: no project says how long the way back is open.
        limits = self.layers.user.limits
        checkpoints = GitCheckpoints(
            self.options.data_dir,
            self.workspace.root,
            LocalFiles(),  # files on disk, even if an editor has changes of them
            search_path=self.environ.get("PATH", os.defpath),
            limits=CheckpointLimits.of(
                limits.checkpoint_days,
                limits.checkpoint_megabytes,
                limits.checkpoint_file_megabytes,
            ),
        )
        return self.at_close.enter_context(closing(checkpoints))

    @once
    def insight(self):
        """The index, symbols and checkers of the workspace."""
        from sam_tui.adapters.code import open_insight

        data, root = self.options.data_dir, self.workspace.root
        insight = open_insight(data, root, self.files, self.search, embedder=self._embedder)
        self.at_close.callback(insight.index.close)
        return insight

    @once
    def documents(self):
        """Documents of many formats, in and out."""
        from sam_tui.adapters.documents import LocalDocuments

        return LocalDocuments()

    def save_task_file(self, path: str, text: str) -> None:
        """Write a file of a task below ``saved_tasks`` in the data folder. Raises ``OSError``."""
        from sam_tui.adapters.workflows import save_file

        save_file(f"{self.options.data_dir}/saved_tasks/{path}", text)

    @once
    def fleets(self):
        """The fleets of the data folder."""
        from sam_tui.adapters.fleet.records import Fleets

        return Fleets(self.options.data_dir)

    @once
    def workflows(self) -> LazyWorkflows:
        """Runs of workflows: their store is not looked at before the first is used."""
        folders, root, vouches = self.folders, self.workspace.root, self.trust.vouches

        def adapter():
            from sam_tui.adapters import workflows

            return workflows

        workflows = LazyWorkflows(
            lambda: adapter().open_workflows(folders.data_dir),
            lambda: adapter().DefinitionFiles(folders.config_dir, root, vouches=vouches),
            lambda: os.path.exists(os.path.join(folders.data_dir, DATABASE)),
            self.clock,
            self.bus,
            lambda: self.registry.descriptions,
        )
        return self.at_close.enter_context(closing(workflows))


def _commands_run() -> bool:
    from sam_tui.adapters.terminal.confinement.processes import commands_run

    return commands_run()
