"""Commands beside the conversation: sent there by the person, listed, read, ended, brought back."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, Picker

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.processes.background import BackgroundCommand
    from sam_tui.core.runtime import Runtime

_OFFERED_AFTER = 2.0
"""Seconds that a command is waited for before the bar says that one need not."""
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


class Backstage:
    """What runs beside the conversation on show."""

    def __init__(self, app: App[None], screen: ChatScreen, conversations: Conversations) -> None:
        self._app = app
        self._screen = screen
        self._conversations = conversations
        self._runtime: Runtime | None = None
        self._since: float | None = None

    def begin(self, runtime: "Runtime") -> None:
        """From here on commands can be sent there."""
        self._runtime = runtime
        self._screen.status.offer = self._offer
        runtime.background.watch(self._moved)

    def release(self) -> None:
        """Let the commands that the agent, or a subagent, waits for go on in the background."""
        runtime, conversation = self._runtime, self._conversation
        if runtime is None or conversation is None:
            self._tell("Nothing runs that could go to the background.")
            return
        commands = [
            command
            for conversation_id in (conversation, *runtime.subagents.working)
            for command in (
                *runtime.background.release(conversation_id),
                *runtime.tasks.release(conversation_id),
            )
        ]
        if not commands:
            self._tell("Nothing runs that could go to the background.")

    def show(self) -> None:
        """List them: read one's output, end it, or let the agent wait for it."""
        jobs = self._jobs()

        async def load() -> Sequence[Choice]:
            return [Choice(one_line(job.command, 60), job.state) for job in jobs]

        def chosen(index: int | None) -> None:
            if index is not None:
                self._act(jobs[index])

        empty = "Nothing of this conversation runs in the background. Ctrl+B sends a command there."
        self._app.push_screen(Picker("background commands", load, empty=empty), chosen)

    # ---- one of them

    def _act(self, job: _Job) -> None:
        choices = [Choice("Read its output", job.id)]
        if job.running:
            choices += [
                Choice("Bring it back", "ask the agent to wait for it"),
                Choice("End it", "with all that it started"),
            ]

        async def load() -> Sequence[Choice]:
            return choices

        def chosen(index: int | None) -> None:
            match index:
                case 0:
                    self._read(job)
                case 1:
                    self._bring_back(job)
                case 2:
                    self._app.run_worker(job.end, group="backstage")
                case _:
                    return

        self._app.push_screen(Picker(one_line(job.command, 60), load, empty=""), chosen)

    def _read(self, job: _Job) -> None:
        from sam_tui.ui.screens.reader import Reader, whole

        self._app.push_screen(Reader(job.command, whole(job.output())))

    def _bring_back(self, job: _Job) -> None:
        area = self._screen.prompt.area
        words = f"Wait for {job.id} ({one_line(job.command, 60)}) and go on with what it brings."
        area.put(f"{area.text}\n{words}" if area.text.strip() else words)
        self._screen.focus_bottom()

    def _jobs(self) -> list[_Job]:
        runtime, conversation = self._runtime, self._conversation
        if runtime is None or conversation is None:
            return []
        from sam_tui.core.text.plain import plain

        background = runtime.background
        jobs = [
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
        for run in runtime.tasks.of(conversation):
            state = "running" if run.running else "ended"
            jobs.append(
                _Job(
                    run.id,
                    run.start.command,
                    f"task {one_line(run.start.label, 30)} · {state}",
                    run.running,
                    lambda run=run: plain(run.output(0).text),
                    run.end,
                )
            )
        return sorted(jobs, key=lambda job: not job.running)

    # ---- what the bar and the transcript say

    def _offer(self) -> str:
        """What the bar says while the agent waits for a command; empty at first, and else."""
        runtime, conversation = self._runtime, self._conversation
        waited = (
            runtime is not None
            and conversation is not None
            and any(
                runtime.background.awaited(conversation_id)
                or runtime.tasks.awaited(conversation_id)
                for conversation_id in (conversation, *runtime.subagents.working)
            )
        )
        if not waited:
            self._since = None
            return ""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return _OFFER if now - self._since >= _OFFERED_AFTER else ""

    def _moved(self, moved: "BackgroundCommand") -> None:
        """A command came to the background, or ended there."""
        runtime, conversation = self._runtime, self._conversation
        if runtime is None or conversation is None or not self._app.is_running:
            return
        count = sum(command.running for command in runtime.background.of(conversation))
        self._screen.status.standing.beside = f"{count} in background" if count else ""
        if moved.conversation == conversation and not moved.running:
            words = f"In the background: {one_line(moved.command, 60)} · {state_of(moved)}"
            self._screen.transcript.add_notice("info", words)
        self._screen.status.show()

    @property
    def _conversation(self) -> "ConversationId | None":
        session = self._conversations.session
        return session.conversation if session is not None else None

    def _tell(self, text: str) -> None:
        self._screen.status.flash(text)


def state_of(command: "BackgroundCommand") -> str:
    """How it goes, for people."""
    took = f"{command.seconds:.0f} s"
    if command.running:
        return f"running for {took}"
    result = command.result
    if result is None:
        return command.failure or "ended"
    if result.timed_out:
        return f"ended: out of time after {took}"
    ending = f"signal {result.signal}" if result.exit_code is None else f"exit {result.exit_code}"
    return f"{ending} after {took}"
