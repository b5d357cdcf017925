"""Which conversation is on show: a new one, or one continued."""

import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.worker import Worker

from sam_tui.core.errors import ConversationInUse, SamError, UsageError
from sam_tui.core.usage import Usage
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.controllers.models import ModelChoice
from sam_tui.ui.controllers.prompt_queue import PromptQueue
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.widgets.todo_panel import done_of

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.messages import Message
    from sam_tui.core.ports.storage import ConversationRecord
    from sam_tui.core.runtime import Opening

_UNFINISHED = "The last turn did not come to its end: what you send next goes on from here."
_UNSENT = "What waits above the prompt was not sent before the program ended: Up brings it back."
_WATCH = Choice("Watch", "read along; nothing is written")
_FORK = Choice("Fork", "go on in a copy with the same history")
_TAKE_OVER = Choice("Take over", "the other program is told, and writes nothing more")
"""What can be done with a conversation that another program has open."""
_READ_ALONG = "You read this conversation along. /fork goes on in a copy, /takeover takes it over."
_GROUP = "writer"
_LISTED = 100
_PREVIEWED = 5
"""Messages shown of a conversation before it is opened."""
_WHO = {"user": "you:", "assistant": "agent:"}


def age(seconds: float) -> str:
    """How long ago, roughly: ``3 min ago``."""
    if seconds < 60:
        return "just now"
    for limit, unit, name in ((3600, 60, "min"), (86_400, 3600, "h"), (float("inf"), 86_400, "d")):
        if seconds < limit:
            return f"{int(seconds // unit)} {name} ago"
    return ""


def record_choice(record: "ConversationRecord", now: float) -> Choice:
    """A stored conversation as a line of the picker."""
    title = one_line(record.title, 60) or str(record.id)
    return Choice(title, f"{age(now - record.updated_at)} · {record.messages} messages")


class Conversations:
    """Opens sessions. A conversation comes to be with its first prompt, not before."""

    def __init__(
        self,
        context: Context,
        current: CurrentConversation,
        models: ModelChoice,
        queue: PromptQueue,
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._screen = context.screen
        self._current = current
        self._models = models
        self._queue = queue
        self._worker: Worker[None] | None = None
        """Reads along, or looks whether another program took the conversation over."""
        self._watched: ConversationId | None = None
        """The conversation on show that another program writes to."""
        self._queued: list[str] = []
        """The prompts that are kept for the conversation on show."""

    def session_for_prompt(self) -> "Session | None":
        """The session a prompt runs in, made if needed; None while there is no model."""
        if self._watched is not None:
            raise UsageError(_READ_ALONG)
        if self._runtime.model is None:
            self._models.choose()
            return None
        if self._current.session is None:
            self._take(self._runtime.open_session())
        return self._current.session

    def new(self) -> None:
        """Begin anew; the old conversation stays stored."""
        self._leave()
        self._empty()
        self._queue.hold(())

    def open(
        self,
        conversation: "ConversationId",
        how: "Opening" = "continue",
        *,
        at: int | None = None,
    ) -> None:
        """Continue a stored conversation, or a copy of it that ends ``at`` a message.

        What cannot be opened is said in the transcript.

        For one that another program has open the person chooses what to do.
        """
        try:
            session = self._runtime.open_session(conversation, how=how, at=at)
            conversation = session.conversation
            record = self._runtime.conversations.find(conversation)
            todos = self._runtime.todos.items(conversation)
            messages = self._runtime.conversations.everything(conversation)
            display = self._runtime.conversations.call_displays(conversation)
            queued = self._runtime.conversations.queued(conversation)
        except ConversationInUse as error:
            self._offer(conversation, error)
            return
        except SamError as error:
            self._screen.transcript.add_error(error)
            return
        self._empty()
        self._take(session)
        screen = self._screen
        screen.transcript.load(messages, display)
        last = next((m.kind for m in reversed(messages) if m.kind != "reminder"), "")
        if last in ("user", "tool"):
            screen.transcript.add_notice("info", _UNFINISHED)
        if queued:
            screen.transcript.add_notice("info", _UNSENT)
        screen.todos.show(todos)
        screen.status.standing.todos = done_of(todos)
        screen.status.standing.usage = record.usage if record is not None else Usage()
        screen.prompt.area.begin_past([m.text for m in messages if m.kind == "user"])
        screen.status.show()
        self._queued = list(queued)
        self._queue.hold(queued)
        self._context.app.run_worker(
            self._resume_terminal(conversation),
            name="resume terminal",
            group="resume-terminal",
            exclusive=True,
        )

    @property
    def on_show(self) -> "ConversationId | None":
        """The conversation on show, whoever writes to it."""
        return self._watched or self._current.id

    def take_over(self) -> None:
        """Write to the conversation that is read along."""
        if self._watched is not None:
            self.open(self._watched, "take over")

    def _offer(self, conversation: "ConversationId", error: ConversationInUse) -> None:
        """Another program has it: watch, fork or take over."""
        ways: dict[Choice, Callable[[], object]] = {
            _WATCH: lambda: self._watch(conversation, _READ_ALONG),
            _FORK: lambda: self.open(conversation, "fork"),
            _TAKE_OVER: lambda: self.open(conversation, "take over"),
        }
        self._context.pick("open elsewhere", list(ways.items()), hint=str(error))

    def _watch(self, conversation: "ConversationId", why: str) -> None:
        """Show a conversation as another program goes on with it."""
        self._leave()
        self._watched = conversation
        self._empty()
        self._queue.hold(())
        self._follow(partial(self._read_along, conversation, why))

    async def _read_along(self, conversation: "ConversationId", why: str) -> None:
        from sam_tui.core.agent.lease import followed

        read: list[Message] = []
        try:
            async for messages in followed(self._runtime.conversations, conversation):
                read += messages
                self._screen.transcript.load(
                    read, self._runtime.conversations.call_displays(conversation)
                )
                self._screen.transcript.add_notice("info", why)
                self._screen.todos.show(self._runtime.todos.items(conversation))
        except SamError as error:
            self._screen.transcript.add_error(error)

    async def _stay_writer(self, conversation: "ConversationId") -> None:
        """Once another program takes the conversation over, read along."""
        from sam_tui.core.agent.lease import taken_over

        try:
            lost = await taken_over(self._runtime.conversations, conversation)
        except SamError as error:
            self._screen.transcript.add_error(error)
            return
        self._context.app.call_later(self._watch, conversation, f"{lost}\n{_READ_ALONG}")

    def _follow(self, work: "Callable[[], Coroutine[None, None, None]]") -> None:
        self._worker = self._context.app.run_worker(work, name=_GROUP, group=_GROUP, exclusive=True)

    def _leave(self) -> None:
        """Others may write to the conversation that was on show."""
        if self._worker is not None:
            self._worker.cancel()
        session, self._watched = self._current.session, None
        self._current.show(None)
        if session is not None:
            self._context.attempt(session.close)

    async def _resume_terminal(self, conversation: "ConversationId") -> None:
        """The agent's terminal of this conversation may have outlived the program."""
        session = await self._runtime.terminals.resume(conversation)
        if session is not None and self._current.id == conversation:
            self._screen.terminals.show_agent(session)

    def choose(self, title: str = "") -> None:
        """Let the person pick one of this workspace's conversations; one of that ``title`` is opened."""
        runtime = self._runtime
        recent = runtime.conversations.recent(runtime.workspace.root, _LISTED) if title else ()
        if entry := next((r for r in recent if one_line(r.title, 80) == title), None):
            self.open(entry.id)
            return
        listed: list[ConversationRecord] = []

        async def load() -> Sequence[Choice]:
            listed.extend(runtime.conversations.recent(runtime.workspace.root, _LISTED))
            return [record_choice(record, time.time()) for record in listed]

        def chosen(index: int) -> None:
            self.open(listed[index].id)

        self._context.pick_loaded(
            "continue a conversation",
            load,
            chosen,
            empty="No conversation of this workspace is stored yet.",
            preview=lambda index: self._preview(listed[index]),
        )

    def _preview(self, record: "ConversationRecord") -> list[str]:
        """How a conversation ends, in few lines."""
        try:
            messages = self._runtime.sessions.last_words(record.id, _PREVIEWED)
        except SamError as error:
            return [error.explain()]
        return ["", *(one_line(f"{_WHO[m.kind]} {m.text}", 160) for m in messages)]

    def keep_queued(self, prompts: Sequence[str]) -> None:
        """Keep the prompts that wait, for whoever opens the conversation after a crash."""
        conversation = self._current.id
        if conversation is None or prompts == self._queued:
            return
        self._queued = list(prompts)
        self._context.attempt(
            lambda: self._runtime.conversations.keep_queued(conversation, prompts)
        )

    def _take(self, session: "Session") -> None:
        if self._current.id != session.conversation:
            self._leave()
        self._queued, self._watched = [], None
        self._current.show(session)
        self._follow(partial(self._stay_writer, session.conversation))

    def _empty(self) -> None:
        screen = self._screen
        screen.transcript.clear()
        screen.todos.show(())
        screen.terminals.forget_agent()
        screen.prompt.area.begin_past(())
        screen.status.standing.todos = (0, 0)
        standing = screen.status.standing
        standing.usage, standing.context, standing.cache = Usage(), "", ""
        screen.status.show()
