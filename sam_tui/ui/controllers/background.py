"""Commands in the background: sent there by the person, listed, read, ended, brought back."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.text.plain import plain
from sam_tui.ui.controllers.context import Context, Option
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.screens.reader import Reader, whole

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.processes.background import BackgroundCommand

_OFFERED_AFTER = 2.0
"""Seconds after which the status bar offers to stop waiting for a command."""
_OFFER = "Ctrl+B: background"


@dataclass(frozen=True, slots=True)
class _Job:
    """A background command or a task, as the list shows it."""

    id: str
    command: str
    state: str
    running: bool
    output: Callable[[], str]
    end: "Callable[[], Awaitable[None]]"


class Background:
    """Background commands and tasks of the shown conversation."""

    def __init__(self, context: Context, current: CurrentConversation) -> None:
        self._context = context
        self._current = current
        self._since: float | None = None
        """When the agent began to wait for a command."""
        context.screen.status.offer_from(self._offer)
        context.runtime.background.watch(self._changed)
        current.arrived.watch(self._count)

    def release(self) -> None:
        """Let the commands that the agent, or a subagent, waits for go on in the background."""
        runtime = self._context.runtime
        released = [
            command
            for conversation in self._conversations()
            for command in (
                *runtime.background.release(conversation),
                *runtime.tasks.release(conversation),
            )
        ]
        if not released:
            self._context.notify_briefly("No command is running that could move to the background.")

    def show(self) -> None:
        """List the background commands of the conversation: read their output, end them, or have the agent
        wait for one."""
        empty = "This conversation has no commands in the background. Ctrl+B moves one there."
        self._context.pick(
            "background commands",
            [
                (Choice(one_line(job.command, 60), job.state), partial(self._act, job))
                for job in self._jobs()
            ],
            empty=empty,
        )

    # ---- one of them

    def _act(self, job: _Job) -> None:
        options: list[Option] = [(Choice("Read its output", job.id), partial(self._read, job))]
        if job.running:
            back = Choice("Bring it back", "ask the agent to wait for it")
            end = Choice("End it", "with all processes it started")
            options += [
                (back, partial(self._bring_back, job)),
                (end, lambda: self._context.app.run_worker(job.end, group="background")),
            ]
        self._context.pick(one_line(job.command, 60), options)

    def _read(self, job: _Job) -> None:
        self._context.app.push_screen(Reader(job.command, whole(job.output())))

    def _bring_back(self, job: _Job) -> None:
        area = self._context.screen.prompt.area
        words = f"Wait for {job.id} ({one_line(job.command, 60)}) and continue with its result."
        area.put(f"{area.text}\n{words}" if area.text.strip() else words)
        self._context.screen.focus_bottom()

    def _jobs(self) -> list[_Job]:
        conversation, background = self._current.id, self._context.runtime.background
        if conversation is None:
            return []
        commands = [
            _Job(
                job.id,
                job.command,
                state_of(job),
                job.running,
                lambda job=job: plain(job.output(0).text),
                partial(background.stop, job.id),
            )
            for job in background.of(conversation)
        ]
        tasks = [
            _Job(
                run.id,
                run.start.command,
                f"task {one_line(run.start.label, 30)} · {'running' if run.running else 'ended'}",
                run.running,
                lambda run=run: plain(run.output(0).text),
                run.end,
            )
            for run in self._context.runtime.tasks.of(conversation)
        ]
        return sorted([*commands, *tasks], key=lambda job: not job.running)

    # ---- texts of the bar and the transcript

    def _offer(self) -> str:
        """The hint of the status bar while the agent waits for a command; empty for the first seconds."""
        runtime = self._context.runtime
        if not any(
            runtime.background.awaited(conversation) or runtime.tasks.awaited(conversation)
            for conversation in self._conversations()
        ):
            self._since = None
            return ""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return _OFFER if now - self._since >= _OFFERED_AFTER else ""

    def _changed(self, changed: "BackgroundCommand") -> None:
        """A command went to the background or ended there: say so."""
        if not self._context.app.is_running:
            return
        tab = self._current.tab_of(changed.conversation)
        if tab is not None and not changed.running:
            words = f"In the background: {one_line(changed.command, 60)} · {state_of(changed)}"
            tab.transcript.add_notice("info", words)
        self._count()

    def _count(self) -> None:
        """Show how many commands run in the background of the displayed conversation."""
        conversation, status = self._current.id, self._context.screen.status
        commands = self._context.runtime.background.of(conversation) if conversation else ()
        count = sum(command.running for command in commands)
        status.standing.beside = f"{count} in background" if count else ""
        status.show()

    def _conversations(self) -> "list[ConversationId]":
        """The conversation on show, and those of subagents at work."""
        conversation = self._current.id
        if conversation is None:
            return []
        return [conversation, *self._context.runtime.subagents.working]


def state_of(command: "BackgroundCommand") -> str:
    """The state of a command, for people."""
    took = f"{command.seconds:.0f} s"
    if command.running:
        return f"running for {took}"
    result = command.result
    if result is None:
        return command.failure or "ended"
    if result.timed_out:
        return f"timed out after {took}"
    ending = f"signal {result.signal}" if result.exit_code is None else f"exit {result.exit_code}"
    return f"{ending} after {took}"
