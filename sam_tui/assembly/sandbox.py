"""The processes of a runtime: the sandbox, and the commands, terminals and tasks that it holds."""

import os
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from sam_tui.assembly.stores import Stores, once
from sam_tui.core.events import Noticed

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.processes.background import BackgroundCommand
    from sam_tui.core.ports.processes.sandbox import ReadTerms
    from sam_tui.core.redaction.shield import Shield


class Processes(Stores):
    """The part of a runtime that starts processes. Nothing is started before it is asked for."""

    @once
    def sandbox_plan(self):
        """The plan of the sandbox, by the policy and the person's settings before the first call ran."""
        from sam_tui.adapters.policy import sandbox_plan

        self.package_sources.note()
        terms, home = self.sandbox_terms, self.folders.home
        return sandbox_plan(terms, self.guard.policy, home, local=self.layers.local)

    @once
    def sandbox(self):
        """The sandbox of commands."""
        from sam_tui.adapters.terminal.confinement.sandbox import Sandbox

        sandbox = Sandbox(self.sandbox_plan, reads=self._reads, warn=self._warn)
        return self.at_close.enter_context(closing(sandbox))

    def _reads(self) -> "ReadTerms":
        """Return what a run that begins now reads without a question."""
        from sam_tui.adapters.policy.readable_paths import free_reads
        from sam_tui.core.ports.processes.sandbox import ReadTerms

        home, policy = self.folders.home, self.guard.policy
        restricted = not policy.trusted and policy.mode != "bypass"
        return ReadTerms(home, free_reads(home, os.environ), self.workspace.roots, restricted)

    @once
    def named_reads(self):
        """Finds what a program that the person configured reads to start."""
        from sam_tui.adapters.policy.readable_paths import NamedReads

        return NamedReads(self.folders.home, self.workspace.roots)

    @once
    def package_sources(self):
        """The hosts that the person's own tools are configured to use."""
        from sam_tui.adapters.policy.tool_settings import PackageSources

        return PackageSources(lambda: self.commands, self.workspace.roots, self.folders.home)

    def _warn(self, text: str) -> None:
        self.publish(Noticed(None, "warning", text))

    @once
    def commands(self):
        """Shell commands."""
        from sam_tui.adapters.terminal.commands.shell import ShellCommands

        return ShellCommands(self.sandbox)

    @once
    def terminals(self):
        """Terminal sessions."""
        from sam_tui.adapters.terminal.holders.client import Holders
        from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals

        options = self.options
        holders = Holders(f"{options.data_dir}/terminals") if options.keeps_terminals else None
        return PtyTerminals(self.sandbox, holders)

    def leaders(self) -> Sequence[int]:
        """The processes that lead the sessions of confined commands and terminals; starts nothing."""
        commands = self.commands.leaders if self.is_made("commands") else ()
        sessions = self.terminals.leaders() if self.is_made("terminals") else ()
        return (*commands, *sessions)

    @once
    def background(self):
        """Commands that go on while the agent does something else."""
        from sam_tui.adapters.terminal.commands.background import PortedCommands

        return PortedCommands(self.commands)

    def ended_beside(self, conversation: "ConversationId") -> "Sequence[BackgroundCommand]":
        """Return the commands that ended in the background and were not read; starts nothing."""
        return self.background.unread(conversation) if self.is_made("background") else ()

    @once
    def pictures(self):
        """Decoded images for cells of the screen."""
        from sam_tui.adapters.pictures.rasters import DecodedPictures

        return DecodedPictures(lambda: self.piped)

    @once
    def piped(self):
        """Programs with pipes for input and output, such as MCP servers."""
        from sam_tui.adapters.terminal.commands.piped import PipedCommands

        return PipedCommands(self.sandbox)

    @once
    def recordings(self):
        """Recordings of terminals."""
        from sam_tui.adapters.terminal.recordings.library import CastRecordings

        def shield() -> "Shield":
            self.shield.refresh()
            return self.shield.copy()

        recordings = CastRecordings(f"{self.options.data_dir}/recordings", shield)
        return self.at_close.enter_context(closing(recordings))

    @once
    def rehearsals(self):
        """Commands on a copy of the workspace."""
        from sam_tui.adapters.terminal.rehearsal.rehearsal import BranchRehearsals

        return BranchRehearsals(self.commands, self.sandbox)

    @once
    def tasks(self):
        """The runs of build tasks."""
        from sam_tui.adapters.tasks import CommandTasks

        return CommandTasks(self.commands)

    @once
    def task_book(self):
        """Build tasks that are known."""
        from sam_tui.adapters.tasks import FileTaskBook

        return FileTaskBook(f"{self.options.data_dir}/tasks", self.workspace.root)

    async def end_processes(self) -> None:
        """End every task, command and terminal that was begun."""
        if self.is_made("tasks"):
            await self.tasks.close()
        if self.is_made("background"):
            await self.background.close_all()
        if self.is_made("terminals"):
            await self.terminals.close_all()
