"""Turns: started one after the other, queued while one runs, cancelled."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import App
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from sam_tui.core.errors import SamError
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.screens.chat import ChatScreen

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.events import TurnFinished

GROUP = "turn"
_CLOSE_WITHIN = 10.0


class TurnController:
    """Prompts wait here until they are stored as part of the conversation, and are kept till then."""

    def __init__(self, app: App[None], screen: ChatScreen, conversations: Conversations) -> None:
        self._app = app
        self._screen = screen
        self._conversations = conversations
        self._worker: Worker[TurnFinished | None] | None = None
        self._closed = False
        self._started = ""
        """The prompt of the turn that has just begun; empty once it is stored."""
        self._held: list[str] = []
        """Prompts of an earlier run of the program: they are never sent unasked."""
        self.queue: list[str] = []

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._worker is not None and not self._worker.is_finished

    def submit(self, text: str) -> None:
        """Run this prompt as soon as nothing else runs."""
        self.queue.append(text)
        self.pump()

    def pump(self) -> None:
        """Start the next turn if there is one and it can start."""
        session = self._ready() if self.queue and not self.running else None
        if session is not None:
            self._started = self.queue.pop(0)
        self._changed()
        if session is not None:
            self._worker = self._app.run_worker(
                self._run(session, self._started), name="turn", group=GROUP, exclusive=True
            )

    def hold(self, prompts: Sequence[str]) -> None:
        """Show prompts that were never sent, and wait for the person to take them back."""
        self._held = list(prompts)
        self._changed()

    def stored(self) -> None:
        """The prompt of the running turn is part of the conversation now."""
        if self._started:
            self._started = ""
            self._changed()

    def _changed(self) -> None:
        """Show what waits, and keep it."""
        waiting = [*self._held, *self.queue]
        self._screen.prompt.show_queue(waiting)
        self._conversations.keep_queued([self._started, *waiting] if self._started else waiting)

    def _ready(self) -> "Session | None":
        """The session to run in. Where none can be opened that is said, and nothing typed is lost."""
        try:
            return self._conversations.session_for_prompt()
        except SamError as error:
            self._screen.transcript.add_error(error)
            self.take_back()
            return None

    async def _run(self, session: "Session", text: str) -> "TurnFinished | None":
        try:
            return await session.run(text)
        except SamError as error:
            self._screen.transcript.add_error(error)
            self._screen.prompt.area.remember(text)
            return None

    def ended(self) -> None:
        """The worker is done: whatever it did not live to say, the turn is over."""
        if not self.running and not self._closed:
            self._started = ""
            self._screen.status.activity.end()
            self._screen.status.show()
            self.pump()

    def cancel(self) -> bool:
        """Cancel the running turn; what was queued comes back to the prompt. False when idle."""
        if not self.running or self._worker is None:
            return False
        self.take_back()
        self._screen.status.activity.turn_to("cancelling")
        self._screen.status.show()
        self._worker.cancel()
        return True

    def take_back(self) -> bool:
        """Put everything queued back into the prompt, before what is written there."""
        waiting = [*self._held, *self.queue]
        if not waiting:
            return False
        area = self._screen.prompt.area
        area.put("\n".join([*waiting, area.text] if area.text else waiting))
        self._held, self.queue = [], []
        self._changed()
        return True

    def take_last(self) -> None:
        """Put the prompt queued last back into the prompt, to be edited."""
        waiting = self.queue or self._held
        if waiting:
            self._screen.prompt.area.put(waiting.pop())
            self._changed()

    async def close(self) -> None:
        """Cancel, and wait until the turn has put everything in order. What waits stays kept."""
        self._closed = True
        if self._worker is None or self._worker.is_finished:
            return
        self._worker.cancel()
        try:
            async with asyncio.timeout(_CLOSE_WITHIN):
                await self._worker.wait()
        except (WorkerCancelled, WorkerFailed, TimeoutError):
            return
