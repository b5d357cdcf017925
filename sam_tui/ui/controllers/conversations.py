"""Which conversation is on show: a new one, or one continued."""

import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from textual.app import App
from textual.worker import Worker

from sam_tui.core.errors import ConversationInUse, SamError, UsageError
from sam_tui.core.usage import Usage
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, Picker
from sam_tui.ui.widgets.todo_panel import done_of

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.messages import Message
    from sam_tui.core.ports.storage import ConversationRecord
    from sam_tui.core.runtime import Opening, Runtime

_UNFINISHED = "The last turn did not come to its end: what you send next goes on from here."
_UNSENT = "What waits above the prompt was not sent before the program ended: Up brings it back."
_WAYS: "dict[Opening | None, Choice]" = {
    None: Choice("Watch", "read along; nothing is written"),
    "fork": Choice("Fork", "go on in a copy with the same history"),
    "take over": Choice("Take over", "the other program is told, and writes nothing more"),
}
"""What can be done with a conversation that another program has open."""
_READ_ALONG = "You read this conversation along. /fork goes on in a copy, /takeover takes it over."
_GROUP = "writer"
_LISTED = 100
_RECALLED = 200
"""Prompts of earlier conversations that Up goes back to."""


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


class ConversationView(Protocol):
    """Who needs to know which conversation is on show."""

    conversation: "ConversationId | None"


class Conversations:
    """Opens sessions. A conversation comes to be with its first prompt, not before."""

    def __init__(self, app: App[None], screen: ChatScreen) -> None:
        self._app = app
        self._screen = screen
        self._runtime: Runtime | None = None
        self._shown: ConversationView | None = None
        self.session: Session | None = None
        self._worker: Worker[None] | None = None
        """Reads along, or looks whether another program took the conversation over."""
        self._watched: ConversationId | None = None
        """The conversation on show that another program writes to."""
        self._queued: list[str] = []
        """The prompts that are kept for the conversation on show."""
        self.ask_for_model: Callable[[], None] = lambda: None
        self.changed: Callable[[], None] = lambda: None
        """Called when another conversation is on show."""
        self.waiting: Callable[[Sequence[str]], None] = lambda _: None
        """Told the prompts of the conversation on show that were never sent."""

    def begin(self, runtime: "Runtime", view: ConversationView) -> None:
        """From here on there is something to open sessions with."""
        self._runtime, self._shown = runtime, view
        self._screen.prompt.area.earlier = lambda: self._asked_before(runtime)

    def _asked_before(self, runtime: "Runtime") -> Sequence[str]:
        try:
            return runtime.conversations.prompts(runtime.workspace.root, _RECALLED)
        except SamError as error:
            self._screen.transcript.add_error(error)
            return ()

    def session_for_prompt(self) -> "Session | None":
        """The session a prompt runs in, made if needed; None before the start or without a model."""
        if self._runtime is None:
            return None
        if self._watched is not None:
            raise UsageError(_READ_ALONG)
        if self._runtime.model is None:
            self.ask_for_model()
            return None
        if self.session is None:
            self._take(self._runtime.open_session())
        return self.session

    def new(self) -> None:
        """Begin anew; the old conversation stays stored."""
        self._leave()
        if self._shown is not None:
            self._shown.conversation = None
        self._empty()
        self.waiting(())
        self.changed()

    def open(self, conversation: "ConversationId", how: "Opening" = "continue") -> None:
        """Continue a stored conversation. What cannot be opened is said in the transcript.

        For one that another program has open the person chooses what to do.
        """
        if self._runtime is None:
            return
        try:
            session = self._runtime.open_session(conversation, how=how)
            conversation = session.conversation
            record = self._runtime.conversations.find(conversation)
            todos = self._runtime.todos.items(conversation)
            messages = self._runtime.conversations.everything(conversation)
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
        screen.transcript.load(messages)
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
        self.waiting(queued)
        self._app.run_worker(
            self._resume_terminal(self._runtime, conversation),
            name="resume terminal",
            group="resume-terminal",
            exclusive=True,
        )

    def fork(self) -> None:
        """Go on in a copy of the conversation on show."""
        current = self._watched or (self.session.conversation if self.session else None)
        if current is not None:
            self.open(current, "fork")

    def take_over(self) -> None:
        """Write to the conversation that is read along."""
        if self._watched is not None:
            self.open(self._watched, "take over")

    def _offer(self, conversation: "ConversationId", error: ConversationInUse) -> None:
        """Another program has it: watch, fork or take over."""

        async def load() -> Sequence[Choice]:
            return list(_WAYS.values())

        def chosen(index: int | None) -> None:
            how = list(_WAYS)[index] if index is not None else None
            if how is not None:
                self.open(conversation, how)
            elif index is not None:
                self._watch(conversation, _READ_ALONG)

        self._app.push_screen(Picker("open elsewhere", load, empty="", hint=str(error)), chosen)

    def _watch(self, conversation: "ConversationId", why: str) -> None:
        """Show a conversation as another program goes on with it."""
        self._leave()
        self._watched = conversation
        if self._shown is not None:
            self._shown.conversation = None
        self._empty()
        self.waiting(())
        self.changed()
        self._follow(partial(self._read_along, conversation, why))

    async def _read_along(self, conversation: "ConversationId", why: str) -> None:
        from sam_tui.core.agent.lease import followed

        assert self._runtime is not None
        read: list[Message] = []
        try:
            async for messages in followed(self._runtime.conversations, conversation):
                read += messages
                self._screen.transcript.load(read)
                self._screen.transcript.add_notice("info", why)
                self._screen.todos.show(self._runtime.todos.items(conversation))
        except SamError as error:
            self._screen.transcript.add_error(error)

    async def _stay_writer(self, conversation: "ConversationId") -> None:
        """Once another program takes the conversation over, read along."""
        from sam_tui.core.agent.lease import taken_over

        assert self._runtime is not None
        try:
            lost = await taken_over(self._runtime.conversations, conversation)
        except SamError as error:
            self._screen.transcript.add_error(error)
            return
        self._app.call_later(self._watch, conversation, f"{lost}\n{_READ_ALONG}")

    def _follow(self, work: "Callable[[], Coroutine[None, None, None]]") -> None:
        self._worker = self._app.run_worker(work, name=_GROUP, group=_GROUP, exclusive=True)

    def _leave(self) -> None:
        """Others may write to the conversation that was on show."""
        if self._worker is not None:
            self._worker.cancel()
        session, self.session, self._watched = self.session, None, None
        if session is not None:
            try:
                session.close()
            except SamError as error:
                self._screen.transcript.add_error(error)

    async def _resume_terminal(self, runtime: "Runtime", conversation: "ConversationId") -> None:
        """The agent's terminal of this conversation may have outlived the program."""
        session = await runtime.terminals.resume(conversation)
        current = self.session is not None and self.session.conversation == conversation
        if session is not None and current:
            self._screen.terminals.show_agent(session)

    def choose(self) -> None:
        """Let the person pick one of this workspace's conversations."""
        runtime = self._runtime
        if runtime is None:
            return
        listed: list[ConversationRecord] = []

        async def load() -> Sequence[Choice]:
            records = runtime.conversations.recent(runtime.workspace.root, _LISTED)
            listed.extend(records)
            return [record_choice(record, time.time()) for record in listed]

        def chosen(index: int | None) -> None:
            if index is not None:
                self.open(listed[index].id)

        empty = "No conversation of this workspace is stored yet."
        self._app.push_screen(Picker("continue a conversation", load, empty=empty), chosen)

    def keep_queued(self, prompts: Sequence[str]) -> None:
        """Keep the prompts that wait, for whoever opens the conversation after a crash."""
        if self._runtime is None or self.session is None or prompts == self._queued:
            return
        self._queued = list(prompts)
        try:
            self._runtime.conversations.keep_queued(self.session.conversation, prompts)
        except SamError as error:
            self._screen.transcript.add_error(error)

    def last_answer(self) -> str:
        """The newest answer of the model, as it wrote it; empty when there is none."""
        messages = self.session.messages if self.session is not None else ()
        answers = (m.text for m in reversed(messages) if m.kind == "assistant" and m.text)
        return next(answers, "")

    def _take(self, session: "Session") -> None:
        if self.session is None or self.session.conversation != session.conversation:
            self._leave()
        self.session, self._queued, self._watched = session, [], None
        self._follow(partial(self._stay_writer, session.conversation))
        if self._shown is not None:
            self._shown.conversation = session.conversation
        self.changed()

    def _empty(self) -> None:
        screen = self._screen
        screen.transcript.clear()
        screen.todos.show(())
        screen.terminals.forget_agent()
        screen.prompt.area.begin_past(())
        screen.status.standing.todos = (0, 0)
        screen.status.standing.usage = Usage()
        screen.status.show()
