"""The builder of all model requests, streamed or not: system prompt, tools, history."""

from collections.abc import Callable, Sequence
from typing import Protocol

from sam_tui.core.board import TodoBoard
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message, ReminderMessage
from sam_tui.core.ports.model import ModelRequest
from sam_tui.core.prompt.reminders import Injectors, TurnView, due_reminders
from sam_tui.core.prompt.tally import Tally


class Conversation(Protocol):
    """The data of a conversation that reminders are computed from."""

    @property
    def conversation(self) -> ConversationId: ...
    @property
    def messages(self) -> Sequence[Message]: ...
    @property
    def tally(self) -> Tally: ...


class RequestBuilder:
    """Builds every request of a runtime, so that each extends the one before it."""

    def __init__(
        self,
        system: str,
        tools_json: str,
        injectors: Injectors,
        board: TodoBoard,
        *,
        short_system: Callable[[], str] | None = None,
    ) -> None:
        self._system = system
        self._tools_json = tools_json
        self.injectors = injectors
        self._board = board
        self._short_system = short_system

    def narrowed(self, tools_json: str, *, system: str = "") -> "RequestBuilder":
        """The same reminders with other tools and, unless ``system`` is empty, another system prompt."""
        return RequestBuilder(
            system or self._system,
            tools_json,
            self.injectors,
            self._board,
            short_system=None if system else self._short_system,
        )

    @property
    def system(self) -> str:
        """The system prompt."""
        return self._system

    @property
    def short_system(self) -> str:
        """The system prompt for a short context; the same one where there is no other."""
        return self._short_system() if self._short_system is not None else self._system

    @property
    def tools_json(self) -> str:
        """The schemas of the tools."""
        return self._tools_json

    @property
    def fixed_text(self) -> str:
        """The beginning of every request: system prompt and tools."""
        return self._system + self._tools_json

    def build(self, messages: Sequence[Message]) -> ModelRequest:
        """The request for the present history."""
        return ModelRequest(self._system, self._tools_json, messages)

    def reminders(self, history: Conversation, *, new_message: bool) -> list[ReminderMessage]:
        """Return the reminders to append to the history before the next request."""
        view = TurnView(
            history.conversation,
            history.messages,
            self._board.items(history.conversation),
            self._board.now(),
            new_message,
            history.tally,
        )
        injectors = self.injectors
        return due_reminders(
            injectors.reminders,
            view,
            new_message=new_message,
            clean=injectors.clean,
            choices=injectors.choices.chosen(history.conversation),
        )
