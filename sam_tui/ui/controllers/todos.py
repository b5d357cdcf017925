"""What the person changes in the todo panel: carried out on the board, refused in words."""

from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.todo_panel import TodoEditAsked

if TYPE_CHECKING:
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
