"""Actions on the displayed conversation: todos, undo, subagents, mini prompts, topic, memory."""

import os
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.errors import SamError
from sam_tui.core.ids import NO_CONVERSATION, ConversationId
from sam_tui.core.text.plain import without_sequences
from sam_tui.core.todos.edits import TodoEdit
from sam_tui.core.tooling.shared_memory import entries_read, scope_in_words
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.conversations import Conversations, age
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.controllers.window.meter import context_in_words, dollars
from sam_tui.ui.plain import one_line, short_path
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.widgets.todo_panel import TodoEditAsked

if TYPE_CHECKING:
    from sam_tui.core.ports.code import JournalEntry
    from sam_tui.core.ports.memory import MemoryEntry
    from sam_tui.core.ports.prompts import Prompt
    from sam_tui.core.ports.storage import ConversationRecord, UserPrompt


_PROMPTS = 2_000
"""How many prompts of all conversations are searched, the newest first."""


class ConversationActions:
    """Lists to pick from, and edits of the todo list."""

    def __init__(
        self, context: Context, current: CurrentConversation, conversations: Conversations
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._current = current
        self._conversations = conversations

    def edit_todos(self, event: TodoEditAsked) -> None:
        """Change the list; the panel follows once the board announces it.

        The first item of a new conversation opens it. A refusal is shown.
        """
        try:
            session = self._current.session
            if session is None and event.kind == "add":
                session = self._conversations.session_for_prompt()
            if session is not None:
                edit = TodoEdit(event.kind, event.todo, event.title)
                self._runtime.todos.edit(session.conversation, edit)
        except SamError as error:
            self._context.notify(error.explain(), warning=True)

    def remember(self, text: str) -> None:
        """Keep a line of the person's for all work to come, in their own instructions."""
        path = self._runtime.remember(text)
        self._context.notice(f"Added to your instructions in {path}: {one_line(text, 80)}")

    def search_prompts(self) -> None:
        """Pick a prompt of any conversation, the newest first; it is put in to be changed and sent."""
        texts: list[str] = []

        async def load() -> Sequence[Choice]:
            newest: dict[str, UserPrompt] = {}
            for prompt in reversed(self._runtime.conversations.prompts(None, _PROMPTS)):
                newest.setdefault(prompt.text, prompt)
            texts.extend(newest)
            now, root = time.time(), self._runtime.workspace.root
            return [_prompt_choice(prompt, root, now) for prompt in newest.values()]

        def chosen(index: int) -> None:
            self._context.screen.prompt.area.put(texts[index])
            self._context.screen.focus_bottom()

        empty = "There are no prompts yet."
        self._context.pick_loaded("prompts of all conversations", load, chosen, empty=empty)

    def context(self) -> None:
        """Show the parts of the next request."""
        if self._conversation("/context") is None or self._current.session is None:
            return
        from sam_tui.ui.screens.reader import Reader, whole

        text = context_in_words(self._runtime, self._current.session)
        self._context.app.push_screen(Reader("what the model reads", whole(text)))

    def undo(self) -> None:
        """Pick a file change of this conversation and take it back."""
        conversation = self._conversation("/undo")
        if conversation is None:
            return
        options = [
            (
                Choice(
                    one_line(", ".join(entry.paths), 60),
                    f"{entry.operation} · {datetime.fromtimestamp(entry.at):%H:%M:%S}",
                ),
                partial(self._undo, conversation, entry),
            )
            for entry in self._runtime.journal.entries(conversation)
        ]
        empty = "This conversation has changed no file that can be restored."
        self._context.pick("undo a change", options, empty=empty)

    def _undo(self, conversation: ConversationId, entry: "JournalEntry") -> None:
        undone = self._runtime.journal.undo(conversation, entry.id)
        self._context.notice(f"Undone: {undone.operation} on {', '.join(undone.paths)}")

    def agents(self, when_idle: Callable[[Callable[[], None]], None]) -> None:
        """Pick a subagent of this conversation to read its messages or to cancel it.

        Reading leaves the conversation on show, so it goes through ``when_idle``.
        """
        conversation = self._conversation("/agents")
        if conversation is None:
            return
        working = self._runtime.subagents.working

        def chosen(record: "ConversationRecord") -> None:
            if record.id in self._runtime.subagents.working:
                self._ask_to_cancel(record)
            else:
                when_idle(lambda: self._conversations.open(record.id))

        options = [
            (
                Choice(
                    one_line(record.title, 60) or record.id,
                    f"{record.messages} messages{_money(record)}"
                    + (" · at work" if record.id in working else ""),
                ),
                partial(chosen, record),
            )
            for record in self._runtime.conversations.children(conversation)
        ]
        empty = "This conversation has started no subagent."
        self._context.pick("open or cancel a subagent", options, empty=empty)

    def _ask_to_cancel(self, record: "ConversationRecord") -> None:
        """Ask for confirmation before a subagent is cancelled."""
        title = one_line(record.title, 60)

        def cancel() -> None:
            if self._runtime.subagents.cancel(record.id):
                self._context.notice(f"Cancelled: {title}")

        end = Choice("Cancel it", "its changes so far stay")
        self._context.pick(title, [(Choice("Let it continue"), lambda: None), (end, cancel)])

    def prompts(self) -> None:
        """Pick a mini prompt and turn it on, or off where it is on."""
        conversation = self._conversation("/prompts")
        if conversation is None:
            return
        on = {prompt.id for prompt in self._runtime.prompts.enabled_mini(conversation)}
        options = [
            (
                Choice(
                    f"{'●' if prompt.id in on else '○'} {one_line(prompt.name, 40)}",
                    one_line(prompt.content, 80),
                ),
                partial(self._enable, conversation, prompt, prompt.id not in on),
            )
            for prompt in self._runtime.prompts.list_mini().prompts
            if prompt.active
        ]
        empty = "There is no mini prompt."
        self._context.pick("turn a mini prompt on or off", options, empty=empty)

    def _enable(self, conversation: ConversationId, prompt: "Prompt", on: bool) -> None:
        self._runtime.prompts.set_enabled(conversation, prompt.id, on)
        self._context.notice(f"{prompt.name} is {'on' if on else 'off'} here.")

    def topic(self, name: str) -> None:
        """Share the memory of a topic from now on; without a name the conversation's own again."""
        conversation = self._conversation("/topic")
        if conversation is None:
            return
        self._runtime.remembered.memories.set_topic(conversation, name.strip())
        shared = f"This conversation shares the memory of “{one_line(name, 40)}”."
        self._context.notice(shared if name.strip() else "This conversation has its own memory.")

    def memories(self) -> None:
        """Pick something that the agent reads here, to read or delete it."""
        root, remembered = self._runtime.workspace.root, self._runtime.remembered
        scope = remembered.memories.scope_of(self._current.id or NO_CONVERSATION)
        options = [
            (
                Choice(
                    one_line(without_sequences(f"{entry.key}  {entry.text}").strip(), 80),
                    f"{entry.kind} · {scope_in_words(entry.scope)}",
                ),
                partial(self._memory, entry),
            )
            for entry in entries_read(remembered.entries.entries(), scope, root)
        ]
        self._context.pick("what the agent remembers", options, empty="Nothing is remembered yet.")

    def _memory(self, entry: "MemoryEntry") -> None:
        """Ask for an action on an entry."""
        title = one_line(without_sequences(entry.key or entry.text), 60)

        def read() -> None:
            from sam_tui.ui.screens.reader import Reader, whole

            self._context.app.push_screen(Reader(title, whole(entry.text)))

        def delete() -> None:
            deleted = self._runtime.remembered.entries.delete(entry)
            self._context.notice(f"{'Deleted' if deleted else 'Already gone'}: {title}")

        ways = [(Choice("Read it"), read), (Choice("Delete it", "for good"), delete)]
        self._context.pick(title, ways)

    def _conversation(self, command: str) -> ConversationId | None:
        if self._current.id is None:
            words = f"{command} needs a conversation: send a first prompt to begin one."
            self._context.notice(words)
        return self._current.id


def _money(record: "ConversationRecord") -> str:
    """The cost of a subagent so far; empty if its price is unknown."""
    return "" if record.usage.cost is None else f" · {dollars(record.usage.cost)}"


def _prompt_choice(prompt: "UserPrompt", root: str, now: float) -> Choice:
    """A prompt as a line of the picker: when it was asked and, outside of ``root``, in which folder."""
    folder = (
        "" if prompt.workspace == root else short_path(prompt.workspace, os.path.expanduser("~"))
    )
    return Choice(prompt.text, " · ".join(part for part in (age(now - prompt.at), folder) if part))
