"""The parts that exist from the first frame on, and the program while it starts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import App
from textual.message import Message

from sam_tui.settings.user import UserSettings
from sam_tui.ui import slash
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.controllers.screen.attention import Attention
from sam_tui.ui.controllers.screen_actions import ScreenActions
from sam_tui.ui.key_guard import Keyboard
from sam_tui.ui.messages import ActionAsked, PromptSubmitted
from sam_tui.ui.plain import one_line
from sam_tui.ui.preferences import Preferences
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.slash import SlashCommand

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId


CHOOSE = "?"
"""Stands for a conversation that the person picks from a list."""


@dataclass(frozen=True, slots=True)
class Front:
    """The parts of the workbench that need no runtime."""

    app: App[None]
    screen: ChatScreen
    keyboard: Keyboard
    current: CurrentConversation
    actions: ScreenActions
    emit: Callable[[str], None]
    """Sends a control sequence to the terminal in which the workbench runs."""
    attention: Attention
    settings: UserSettings
    preferences: Preferences


@dataclass(frozen=True, slots=True)
class Invocation:
    """The program's first view: a conversation, or the list of them with ``resume``."""

    greeting: str
    conversation: "ConversationId | None" = None
    resume: bool = False
    first: bool = False
    """Whether no data of an earlier run exist."""


class Starting:
    """The workbench before its runtime exists: prompts and commands typed meanwhile are queued."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self.commands: list[SlashCommand] = []
        """Typed commands that wait for the runtime, in the order in which they were typed."""

    def progress(self, words: str) -> None:
        """Say how far the start is."""
        status = self._front.screen.status
        status.activity.starting = one_line(words, 80) or "starting"
        status.show()

    def perform(self, name: str, argument: str = "") -> None:
        """Do an action that needs only the screen; say of any other that it has to wait."""
        action = self._front.actions.table.get(name)
        if action is not None:
            action(argument)
        else:
            self._front.screen.status.flash("Not yet: still starting")

    def receive(self, event: Message) -> None:
        """Queue the person's input; a program that has not started yet gets no other messages."""
        match event:
            case ActionAsked():
                self.perform(event.name, event.argument)
            case PromptSubmitted():
                self._take(event.text)
            case _:
                return

    def _take(self, text: str) -> None:
        command = slash.parse(text)
        if command is None:
            self._front.screen.transcript.jump_to_end()
            self._front.current.tab.queue.add(text)
        elif command.action is not None and command.action.name in self._front.actions.table:
            self.perform(command.action.name, command.argument)
        else:
            self.commands.append(command)

    async def close(self) -> None:
        """Do nothing: nothing runs yet."""
