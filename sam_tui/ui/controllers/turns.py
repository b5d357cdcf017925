"""Turns: started one after the other, queued while one runs, cancelled."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.worker import Worker

from sam_tui.core.errors import SamError
from sam_tui.ui.controllers.context import Context, ended
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.controllers.current_conversation import ConversationTab, CurrentConversation
from sam_tui.ui.controllers.models import ModelChoice

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.events import TurnFinished


class TurnRunner:
    """Sends the prompts of one tab in order, and stores each until the conversation contains it."""

    def __init__(
        self,
        context: Context,
        tab: ConversationTab,
        current: CurrentConversation,
        conversations: Conversations,
        models: ModelChoice,
    ) -> None:
        self._app = context.app
        self._screen = context.screen
        self._tab = tab
        self._current = current
        self._conversations = conversations
        self._queue = tab.queue
        self._worker: Worker[TurnFinished | None] | None = None
        self._cancelled: object = None
        """The worker that was cancelled last."""
        self._begun = self._closed = False
        self._started: list[str] = []
        """The prompts of the turn that has just begun, until they are stored."""
        tab.queue.changed.watch(self._keep)
        models.chosen.watch(self.pump)  # prompts may have waited for a model

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._worker is not None and not self._worker.is_finished

    def owns(self, worker: Worker[object]) -> bool:
        """Whether a worker runs, or ran, the newest turn."""
        return worker is self._worker

    def steer(self) -> None:
        """Tell the prompt whether a turn runs, if this conversation is displayed."""
        if self._current.tab is self._tab:
            self._screen.prompt.area.steer(self.running)

    def submit(self, text: str, *, later: bool = False) -> None:
        """Deliver this prompt at the running turn's next step, or run it once nothing else runs.

        ``later`` lets it wait for the turn's end in any case.
        """
        self._queue.add(text, later=later)
        self.pump()

    def pump(self) -> None:
        """Start the next turn if a prompt waits and no turn is running."""
        waits = self._queue.waiting or self._queue.later
        session = self._ready() if waits and not (self.running or self._closed) else None
        if session is None:
            self._keep()
            return
        text = (self._queue.waiting or self._queue.later)[0]
        self._started = [text]
        self._queue.take_first()
        self._begun = False
        self._worker = self._app.run_worker(
            self._run(session, text), name="turn", group=f"turn {self._tab.number}", exclusive=True
        )
        self.steer()

    def _steering(self) -> Iterator[str]:
        """The waiting prompts, which the running turn takes between two steps, one after the other."""
        while self._queue.waiting:
            self._started.append(self._queue.waiting[0])
            yield self._queue.take_first()

    def stored(self) -> None:
        """The prompt of the running turn is part of the conversation now."""
        if self._started:
            self._started = []
            self._keep()

    def _keep(self) -> None:
        """Store the waiting and the just begun prompts, so that a crash does not lose them."""
        self._conversations.keep_queued(self._tab, [*self._started, *self._queue.all])

    def _ready(self) -> "Session | None":
        """The session to run in; if none opens, None: the error is shown, the prompts go back."""
        try:
            return self._conversations.session_for_prompt(self._tab)
        except SamError as error:
            self._tab.transcript.add_error(error)
            self._queue.take_back()
            return None

    async def _run(self, session: "Session", text: str) -> "TurnFinished | None":
        self._begun = True
        try:
            return await session.run(text, self._steering)
        except SamError as error:
            self._tab.transcript.add_error(error)
            self._remember(text)
            return None

    def _remember(self, text: str) -> None:
        """Add a prompt that failed to the earlier prompts of its conversation."""
        if self._current.tab is self._tab:
            self._screen.prompt.area.remember(text)
        else:
            self._tab.past.append(text)

    def end(self) -> None:
        """The worker has ended, with or without a report of the turn: start the next turn."""
        if not self.running and not self._closed:
            self._started = []
            self.steer()
            self._tab.activity.end()
            self._screen.status.show()
            self.pump()

    def cancel(self, *, once: bool = False) -> bool:
        """Cancel the running turn; queued prompts return to the prompt line. False if idle.

        With ``once`` False also for a turn that is being cancelled: its commands may take their time.
        """
        if not self.running or self._worker is None:
            return False
        if once and self._cancelled is self._worker:
            return False
        self._cancelled = self._worker
        if not self._begun:
            self._queue.waiting[:0], self._started = self._started, []
        self._queue.take_back()
        self._tab.activity.turn_to("cancelling")
        self._screen.status.show()
        self._worker.cancel()
        return True

    def retire(self) -> None:
        """Start no more turns."""
        self._closed = True

    async def close(self) -> None:
        """Cancel, and wait until the turn has ended in order. The waiting prompts stay stored."""
        self.retire()
        if self._worker is None or self._worker.is_finished:
            return
        self._worker.cancel()
        await ended(self._worker)
