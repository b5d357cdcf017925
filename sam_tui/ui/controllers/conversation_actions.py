"""What belongs to a conversation beside its words: changes to undo, subagents to read, prompts."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, Picker
from sam_tui.ui.widgets.todo_panel import TodoEditAsked

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.storage import ConversationRecord
    from sam_tui.core.runtime import Runtime


class TodoController:
    """Edits the list of the conversation on show; the panel follows when the board tells of it."""

    def __init__(self, app: App[None], screen: ChatScreen, conversations: Conversations) -> None:
        self._app = app
        self._screen = screen
        self._conversations = conversations
        self._runtime: Runtime | None = None
        self._opened_side = False

    def begin(self, runtime: "Runtime") -> None:
        """From here on there is a board."""
        self._runtime = runtime

    def go(self) -> None:
        """Give the keys to the list, shown if it was not; or back, and hide what was shown for it."""
        screen = self._screen
        if screen.todos.has_focus_within:
            screen.focus_bottom()
            if self._opened_side and screen.narrow:
                screen.show_side(False)
            self._opened_side = False
            return
        self._opened_side = not screen.side_shown
        screen.show_side(True)
        screen.remove_class("-no-todos")
        screen.todos.focus()

    def carry_out(self, event: TodoEditAsked) -> None:
        """Change the list. The first item of a new conversation opens it."""
        from sam_tui.core.todos.edits import TodoEdit

        try:
            session = self._conversations.session
            if session is None and event.kind == "add":
                session = self._conversations.session_for_prompt()
            if session is None or self._runtime is None:
                return
            self._runtime.todos.edit(
                session.conversation, TodoEdit(event.kind, event.todo, event.title)
            )
        except SamError as error:
            self._app.notify(error.explain(), severity="warning", markup=False)


class LibraryController:
    """Lists to pick from, each for the conversation on show."""

    def __init__(self, app: App[None], screen: ChatScreen, conversations: Conversations) -> None:
        self._app = app
        self._screen = screen
        self._conversations = conversations
        self._runtime: Runtime | None = None

    def begin(self, runtime: "Runtime") -> None:
        """From here on there is something to list."""
        self._runtime = runtime

    def undo(self) -> None:
        """Pick a file change of this conversation and take it back."""
        runtime, conversation = self._runtime, self._conversation("/undo")
        if runtime is None or conversation is None:
            return
        entries = runtime.journal.entries(conversation)

        async def load() -> Sequence[Choice]:
            return [
                Choice(
                    one_line(", ".join(entry.paths), 60),
                    f"{entry.operation} · {datetime.fromtimestamp(entry.at):%H:%M:%S}",
                )
                for entry in entries
            ]

        def chosen(index: int | None) -> None:
            if index is None:
                return
            try:
                entry = runtime.journal.undo(conversation, entries[index].id)
            except SamError as error:
                self._tell("error", error.explain())
                return
            self._tell("info", f"Undone: {entry.operation} on {', '.join(entry.paths)}")

        empty = "This conversation has changed no file that can be put back."
        self._app.push_screen(Picker("undo a change", load, empty=empty), chosen)

    def agents(self, when_idle: Callable[[Callable[[], None]], None]) -> None:
        """Pick a subagent of this conversation: read what it did, or cancel one that is at work.

        Reading leaves the conversation on show, so it goes through ``when_idle``.
        """
        runtime, conversation = self._runtime, self._conversation("/agents")
        if runtime is None or conversation is None:
            return
        records = runtime.conversations.children(conversation)

        async def load() -> Sequence[Choice]:
            working = runtime.subagents.working
            return [
                Choice(
                    one_line(record.title, 60) or record.id,
                    f"{record.messages} messages" + (" · at work" if record.id in working else ""),
                )
                for record in records
            ]

        def chosen(index: int | None) -> None:
            if index is None:
                return
            if records[index].id in runtime.subagents.working:
                self._cancel_agent(runtime, records[index])
            else:
                when_idle(lambda: self._conversations.open(records[index].id))

        empty = "This conversation has sent no subagent."
        self._app.push_screen(Picker("open or cancel a subagent", load, empty=empty), chosen)

    def _cancel_agent(self, runtime: "Runtime", record: "ConversationRecord") -> None:
        """Ask once more; what it did so far stays, and whoever sent it goes on without it."""

        async def load() -> Sequence[Choice]:
            return [Choice("Let it work"), Choice("Cancel it", "what it did so far stays")]

        def chosen(index: int | None) -> None:
            if index == 1 and runtime.subagents.cancel(record.id):
                self._tell("info", f"Cancelled: {one_line(record.title, 60)}")

        self._app.push_screen(Picker(one_line(record.title, 60), load, empty=""), chosen)

    def prompts(self) -> None:
        """Pick a mini prompt and turn it on, or off where it is on."""
        runtime, conversation = self._runtime, self._conversation("/prompts")
        if runtime is None or conversation is None:
            return
        listed = [prompt for prompt in runtime.prompts.list_mini().prompts if prompt.active]
        on = {prompt.id for prompt in runtime.prompts.enabled_mini(conversation)}

        async def load() -> Sequence[Choice]:
            return [
                Choice(
                    f"{'●' if p.id in on else '○'} {one_line(p.name, 40)}", one_line(p.content, 80)
                )
                for p in listed
            ]

        def chosen(index: int | None) -> None:
            if index is None:
                return
            prompt = listed[index]
            try:
                runtime.prompts.set_enabled(conversation, prompt.id, prompt.id not in on)
            except SamError as error:
                self._tell("error", error.explain())
                return
            self._tell("info", f"{prompt.name} is {'off' if prompt.id in on else 'on'} here.")

        empty = "There is no mini prompt."
        self._app.push_screen(Picker("turn a mini prompt on or off", load, empty=empty), chosen)

    def topic(self, name: str) -> None:
        """Share the memory of a topic from now on; without a name the conversation's own again."""
        runtime, conversation = self._runtime, self._conversation("/topic")
        if runtime is None or conversation is None:
            return
        runtime.memories.set_topic(conversation, name.strip())
        notice = f"This conversation shares the memory of “{one_line(name, 40)}”."
        self._tell("info", notice if name.strip() else "This conversation has its own memory.")

    def _conversation(self, command: str) -> "ConversationId | None":
        session = self._conversations.session
        if session is None:
            self._tell(
                "info", f"{command} is about a conversation: send a first prompt to begin one."
            )
            return None
        return session.conversation

    def _tell(self, level: str, text: str) -> None:
        self._screen.transcript.add_notice(level, text)
