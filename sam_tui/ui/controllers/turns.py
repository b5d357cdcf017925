"""Turns: started one after the other, queued while one runs, cancelled."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from sam_tui.core.errors import SamError
from sam_tui.ui.screens.chat import ChatScreen

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.events import TurnFinished

GROUP = "turn"
_CLOSE_WITHIN = 10.0


class Turns:
    """``session`` gives what a prompt is to be run in, or None while that cannot be yet."""

    def __init__(
        self, app: App[None], screen: ChatScreen, session: Callable[[], "Session | None"]
    ) -> None:
        self._app = app
        self._screen = screen
        self._session = session
        self._worker: Worker[TurnFinished | None] | None = None
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
            text = self.queue.pop(0)
            self._worker = self._app.run_worker(
                self._run(session, text), name="turn", group=GROUP, exclusive=True
            )
        self._screen.prompt.show_queue(self.queue)

    def _ready(self) -> "Session | None":
        """The session to run in. Where none can be opened that is said, and nothing typed is lost."""
        try:
            return self._session()
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
        if not self.running:
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
        if not self.queue:
            return False
        area = self._screen.prompt.area
        texts = [*self.queue, area.text] if area.text else self.queue
        area.put("\n".join(texts))
        self.queue = []
        self._screen.prompt.show_queue(self.queue)
        return True

    def take_last(self) -> None:
        """Put the prompt queued last back into the prompt, to be edited."""
        if self.queue:
            self._screen.prompt.area.put(self.queue.pop())
            self._screen.prompt.show_queue(self.queue)

    async def close(self) -> None:
        """Cancel, and wait until the turn has put everything in order."""
        self.queue = []
        if self._worker is None or self._worker.is_finished:
            return
        self._worker.cancel()
        try:
            async with asyncio.timeout(_CLOSE_WITHIN):
                await self._worker.wait()
        except (WorkerCancelled, WorkerFailed, TimeoutError):
            return
