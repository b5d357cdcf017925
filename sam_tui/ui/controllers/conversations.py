"""The displayed conversation: opening a new or a stored one."""

import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.errors import ConversationInUse, SamError, UsageError
from sam_tui.core.usage import Usage
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.current_conversation import ConversationTab, CurrentConversation
from sam_tui.ui.controllers.models import ModelChoice
from sam_tui.ui.controllers.window.meter import context_share
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.transcript import Transcript
from sam_tui.ui.widgets.status_bar import Figures
from sam_tui.ui.widgets.todo_panel import done_of

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.messages import Message
    from sam_tui.core.ports.storage import ConversationRecord
    from sam_tui.core.runtime import Opening

_UNFINISHED = "The last turn did not finish: your next message continues from here."
_UNSENT = "The queued prompts were not sent before the program ended: Up brings them back."
_WATCH = Choice("Watch", "watch it; nothing is written")
_FORK = Choice("Fork", "continue in a copy with the same history")
_TAKE_OVER = Choice("Take over", "the other program is notified and stops writing")
"""The choice for a conversation that another program has open."""
_READ_ALONG = (
    "You are watching this conversation. /fork continues in a copy, /takeover takes it over."
)
_LISTED = 100
_PREVIEWED = 5
"""How many messages of a conversation its preview shows."""
_WHO = {"user": "you:", "assistant": "agent:"}


def age(seconds: float) -> str:
    """Return how long ago that is, roughly: ``3 min ago``."""
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


def _warn(transcript: Transcript, messages: "Sequence[Message]", queued: Sequence[str]) -> None:
    """Report an unfinished turn and unsent prompts of a conversation."""
    last = next((m.kind for m in reversed(messages) if m.kind != "reminder"), "")
    if last in ("user", "tool"):
        transcript.add_remark(_UNFINISHED)
    if queued:
        transcript.add_remark(_UNSENT)


class Conversations:
    """Opens sessions. A conversation begins to exist with its first prompt."""

    def __init__(self, context: Context, current: CurrentConversation, models: ModelChoice) -> None:
        self._context = context
        self._runtime = context.runtime
        self._screen = context.screen
        self._current = current
        self._models = models
        current.arrived.watch(self._arrive)
        self.store_notices(current.tab)

    def store_notices(self, tab: ConversationTab) -> None:
        """Store the notices of a tab's transcript from now on with the conversation that it has then."""

        def store(level: str, text: str) -> None:
            if tab.session is not None:
                # A notice that a full disk refuses was shown anyway.
                with contextlib.suppress(SamError):
                    self._runtime.notices.add(tab.session.conversation, level, text)

        tab.transcript.notice_stores.append(store)

    def session_for_prompt(self, tab: ConversationTab | None = None) -> "Session | None":
        """The session a prompt runs in, made if needed; None while there is no model."""
        tab = tab or self._current.tab
        if tab.watched is not None:
            raise UsageError(_READ_ALONG)
        if self._runtime.model is None:
            self._models.choose()
            return None
        if tab.session is None:
            self._take(tab, self._runtime.open_session())
        return tab.session

    def new(self) -> None:
        """Begin anew; the old conversation stays stored."""
        tab = self._current.tab
        self.leave(tab)
        self._empty(tab)
        tab.queue.hold(())

    def open(
        self,
        conversation: "ConversationId",
        how: "Opening" = "continue",
        *,
        at: int | None = None,
    ) -> None:
        """Continue a stored conversation, or a copy of it that ends ``at`` a message.

        The transcript reports a conversation that cannot be opened. If another program has it open, the
        person chooses what to do; if another tab has it, that tab is displayed.
        """
        tab, other = self._current.tab, self._current.tab_of(conversation)
        if how != "fork" and other not in (None, tab):
            self._current.switch(other)
            return
        try:
            session = self._runtime.open_session(conversation, how=how, at=at)
            conversation = session.conversation
            record = self._runtime.conversations.find(conversation)
            todos = self._runtime.todos.items(conversation)
            messages = self._runtime.conversations.everything(conversation)
            display = self._runtime.conversations.call_displays(conversation)
            notices = self._runtime.notices.load(conversation)
            queued = self._runtime.conversations.queued(conversation)
        except ConversationInUse as error:
            self._offer(conversation, error)
            return
        except SamError as error:
            tab.transcript.add_error(error)
            return
        self._empty(tab)
        self._take(tab, session)
        screen = self._screen
        tab.transcript.load(messages, display, notices)
        _warn(tab.transcript, messages, queued)
        screen.todos.show(todos)
        tab.figures.todos = done_of(todos)
        tab.figures.context = context_share(self._runtime, session, Usage())
        if record is not None:
            tab.figures.usage, tab.title = record.usage, record.title
        screen.prompt.area.begin_past([m.text for m in messages if m.kind == "user"])
        screen.status.show()
        tab.stored_queue = list(queued)
        tab.queue.hold(queued)
        self._show_terminal(conversation)

    def _show_terminal(self, conversation: "ConversationId") -> None:
        self._context.app.run_worker(
            self._resume_terminal(conversation),
            name="resume terminal",
            group="resume-terminal",
            exclusive=True,
        )

    def _arrive(self) -> None:
        """Another tab is displayed: show its todos and its agent's terminal."""
        screen, conversation = self._screen, self._current.tab.conversation
        screen.terminals.forget_agent()
        if conversation is None:
            screen.todos.show(())
            return
        self._context.attempt(lambda: screen.todos.show(self._runtime.todos.items(conversation)))
        self._show_terminal(conversation)

    @property
    def on_show(self) -> "ConversationId | None":
        """The displayed conversation, with any writer."""
        return self._current.tab.conversation

    def take_over(self) -> None:
        """Write to the conversation that is read along."""
        if (watched := self._current.tab.watched) is not None:
            self.open(watched, "take over")
        else:
            self._context.notify_briefly("No other program writes to this conversation.")

    def _offer(self, conversation: "ConversationId", error: ConversationInUse) -> None:
        """Another program has it: watch, fork or take over."""
        ways: dict[Choice, Callable[[], object]] = {
            _WATCH: lambda: self._watch(self._current.tab, conversation, _READ_ALONG),
            _FORK: lambda: self.open(conversation, "fork"),
            _TAKE_OVER: lambda: self.open(conversation, "take over"),
        }
        self._context.pick("open elsewhere", list(ways.items()), hint=str(error))

    def _watch(self, tab: ConversationTab, conversation: "ConversationId", why: str) -> None:
        """Show a conversation read-only while another program continues it."""
        self.leave(tab)
        tab.watched = conversation
        self._empty(tab)
        tab.queue.hold(())
        self._follow(tab, partial(self._read_along, tab, conversation, why))

    async def _read_along(
        self, tab: ConversationTab, conversation: "ConversationId", why: str
    ) -> None:
        from sam_tui.core.agent.lease import histories

        store = self._runtime.conversations
        try:
            async for history in histories(store, conversation):
                notices = self._runtime.notices.load(conversation)
                tab.transcript.load(history, store.call_displays(conversation), notices)
                tab.transcript.add_remark(why)
                if tab is self._current.tab:
                    self._screen.todos.show(self._runtime.todos.items(conversation))
        except SamError as error:
            tab.transcript.add_error(error)

    async def _stay_writer(self, tab: ConversationTab, conversation: "ConversationId") -> None:
        """Once another program takes the conversation over, read along."""
        from sam_tui.core.agent.lease import taken_over

        try:
            lost = await taken_over(self._runtime.conversations, conversation)
        except SamError as error:
            tab.transcript.add_error(error)
            return
        self._context.app.call_later(self._watch, tab, conversation, f"{lost}\n{_READ_ALONG}")

    def _follow(
        self, tab: ConversationTab, work: "Callable[[], Coroutine[None, None, None]]"
    ) -> None:
        group = f"writer {tab.number}"
        tab.follower = self._context.app.run_worker(work, name=group, group=group, exclusive=True)

    def leave(self, tab: ConversationTab) -> None:
        """Release the lease of a tab's conversation, so that others may write to it."""
        if tab.follower is not None:
            tab.follower.cancel()
        session, tab.watched = tab.session, None
        self._current.show(None, tab)
        if session is not None:
            self._context.attempt(session.close)

    async def _resume_terminal(self, conversation: "ConversationId") -> None:
        """Show the agent's terminal of this conversation, if it outlived an earlier program."""
        session = await self._runtime.terminals.resume(conversation)
        if session is not None and self._current.id == conversation:
            self._screen.terminals.show_agent(session)

    def choose(self, title: str = "") -> None:
        """Let the person pick a conversation of this workspace; one with exactly this ``title`` is opened
        at once, any other words narrow the list."""
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

        picker = self._context.pick_loaded(
            "continue a conversation",
            load,
            chosen,
            empty="No conversation of this workspace is stored yet.",
            preview=lambda index: self._preview(listed[index]),
        )
        picker.type(title)

    def _preview(self, record: "ConversationRecord") -> list[str]:
        """Return the end of a conversation, in few lines."""
        try:
            messages = self._runtime.sessions.last_words(record.id, _PREVIEWED)
        except SamError as error:
            return [error.explain()]
        return ["", *(one_line(f"{_WHO[m.kind]} {m.text}", 160) for m in messages)]

    def keep_queued(self, tab: ConversationTab, prompts: Sequence[str]) -> None:
        """Store the waiting prompts, so that a crash does not lose them."""
        session = tab.session
        if session is None or prompts == tab.stored_queue:
            return
        tab.stored_queue = list(prompts)
        self._context.attempt(
            lambda: self._runtime.conversations.keep_queued(session.conversation, prompts)
        )

    def _take(self, tab: ConversationTab, session: "Session") -> None:
        if tab.session is None or tab.session.conversation != session.conversation:
            self.leave(tab)
        tab.stored_queue, tab.watched = [], None
        self._current.show(session, tab)
        self._follow(tab, partial(self._stay_writer, tab, session.conversation))

    def _empty(self, tab: ConversationTab) -> None:
        tab.transcript.clear()
        tab.title, tab.past, tab.figures = "", [], Figures()
        if tab is not self._current.tab:
            return
        screen = self._screen
        screen.todos.show(())
        screen.terminals.forget_agent()
        screen.prompt.area.begin_past(())
        screen.status.standing.figures = tab.figures
        screen.status.show()
