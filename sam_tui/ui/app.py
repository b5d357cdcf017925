"""The app: puts screen, controllers and runtime together, and does nothing else."""

import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.reactive import Reactive
from textual.worker import Worker

from sam_tui.core.errors import SamError
from sam_tui.core.ids import ConversationId
from sam_tui.core.text import charsets
from sam_tui.ui import slash, theme
from sam_tui.ui.actions import TO_TERMINAL
from sam_tui.ui.activity import ActivityLine
from sam_tui.ui.controllers.authorization import Oversight
from sam_tui.ui.controllers.background import Backstage
from sam_tui.ui.controllers.completion import Mentions
from sam_tui.ui.controllers.conversation_actions import LibraryController, TodoController
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.controllers.models import Models
from sam_tui.ui.controllers.servers import Servers
from sam_tui.ui.controllers.terminals.actions import TerminalDeeds
from sam_tui.ui.controllers.terminals.recordings import RecordingDesk
from sam_tui.ui.controllers.terminals.requests import Requests
from sam_tui.ui.controllers.terminals.shells import ShellController
from sam_tui.ui.controllers.terminals.status import Watching
from sam_tui.ui.controllers.turns import GROUP, TurnController
from sam_tui.ui.controllers.workflows import Runs
from sam_tui.ui.driver import clipboard
from sam_tui.ui.driver.keys import tell_alt
from sam_tui.ui.driver.output import lasting
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.messages import ActionAsked, InquiryAnswered, LeavingAsked, PromptSubmitted
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import ChatScreen, writes
from sam_tui.ui.screens.failure import FailureScreen
from sam_tui.ui.theme import ThemeStylesheet
from sam_tui.ui.widgets.status_bar import Standing
from sam_tui.ui.widgets.terminal.messages import RestartAsked, SessionChanged, TerminalAsked
from sam_tui.ui.widgets.terminal.panel import ShellWanted
from sam_tui.ui.widgets.terminal.view import TerminalView
from sam_tui.ui.widgets.todo_panel import TodoEditAsked
from sam_tui.ui.workbench import ActionProvider, Controllers, Desk

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime
    from sam_tui.ui.controllers.inquiries import InquiryRow

Start = Callable[[Callable[[str], None]], Awaitable["Runtime"]]
"""Builds the runtime, telling in words how far it is."""
_LEAVE_WITHIN = 20.0
"""Seconds for keys that were typed before the end to arrive."""


class SamApp(App[None], inherit_bindings=False):
    """The workbench. The first frame is drawn before ``start`` is called.

    ``prompt`` is sent as soon as the runtime is there; ``conversation`` is continued, or one is
    offered for choice with ``resume``. Ends with the exit code of a ``SamError`` from ``start``.
    """

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "sam"
    COMMANDS = {ActionProvider}  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = False  # its own binding would be taken from programs in the terminal
    PAUSE_GC_ON_SCROLL = True
    PATIENCE = Patience()
    ansi_theme_dark = Reactive(theme.ANSI_DARK, init=False)
    ansi_theme_light = Reactive(theme.ANSI_LIGHT, init=False)

    def __init__(
        self,
        start: Start,
        *,
        workspace: str,
        prompt: str = "",
        conversation: str | None = None,
        resume: bool = False,
        version: str,
    ) -> None:
        super().__init__()
        tell_alt()
        self.use_command_palette = True
        self._set_looks()
        self.runtime: Runtime | None = None
        self.last_key = self.PATIENCE.clock() - self.PATIENCE.hush
        standing = Standing(os.environ.get("HOME", ""), workspace)
        self._greeting = f"sam {version} · F1 shows keys and commands"
        self.chat = ChatScreen(standing, ActivityLine())
        self.conversations = Conversations(self, self.chat)
        self.turns = TurnController(self, self.chat, self.conversations)
        self.models = Models(self, self.chat, self.conversations, self.PATIENCE)
        self.conversations.ask_for_model = self.models.choose
        self.conversations.waiting = self.turns.hold
        self.models.chosen = self.turns.pump
        self.shell = ShellController(self, self.chat)
        self.requests = Requests(self, self.chat, self.emit)
        self.shelf = LibraryController(self, self.chat, self.conversations)
        self.todos = TodoController(self, self.chat, self.conversations)
        self.runs = Runs(self, self.chat, self.conversations)
        self.oversight = Oversight(self, self.chat, self.PATIENCE)
        self.backstage = Backstage(self, self.chat, self.conversations)
        self.servers = Servers(self)
        self.mentions = Mentions(self, self.chat)
        controllers = Controllers(
            self.turns,
            self.conversations,
            self.models,
            self.shelf,
            self.todos,
            self.runs,
            self.oversight,
            self.backstage,
            self.servers,
        )
        self.recordings = RecordingDesk(self, self.chat)
        self.watching = Watching(self.chat)
        terminal_actions = TerminalDeeds(self.chat, self.shell, self.requests, self.recordings)
        self.desk = Desk(self, self.chat, controllers, terminal_actions.all)
        self.inquiries: InquiryRow | None = None
        self._start = start
        self._prompt = prompt
        self._leaving = False
        self._keys = 0
        """How many keys and pastes came."""
        self._first = (conversation, resume)

    def _set_looks(self) -> None:
        """Both looks, the dark one first, and a style sheet for them."""
        self.register_theme(theme.DARK)
        self.register_theme(theme.LIGHT)
        # Without its watcher, which has every style worked out anew before the first frame.
        self.set_reactive(App.theme, theme.DARK.name)
        self.stylesheet = ThemeStylesheet(self.get_css_variables())

    def get_driver_class(self) -> type[Driver]:
        """The driver of this system, which outlives its terminal until the app has ended."""
        return lasting(super().get_driver_class())

    def get_default_screen(self) -> ChatScreen:
        """The screen to work in."""
        return self.chat

    def on_mount(self) -> None:
        """Once the first frame is out, start what it does not need."""
        if self._prompt:
            self.turns.submit(self._prompt)
        self.call_after_refresh(self.run_worker, self._begin, name="start")

    async def _begin(self) -> None:
        try:
            runtime = await self._start(self._progress)
        except SamError as error:
            await self.push_screen(FailureScreen(error))
            return
        self.runtime = runtime
        self._connect(runtime)
        self.chat.transcript.add_notice("info", self._greeting)
        drawn_to = sys.__stderr__
        if drawn_to is not None and not charsets.holds_marks(drawn_to.encoding):
            self.chat.transcript.add_notice("warning", charsets.WARNING)
        self.oversight.begin(runtime)
        conversation, resume = self._first
        if conversation is not None:
            self.conversations.open(ConversationId(conversation))
        elif resume:
            self.conversations.choose()
        if runtime.model is None:
            self.models.choose()
        elif not self.turns.queue and not resume:
            self.oversight.ask_again()
        self.chat.status.activity.end()
        self.chat.status.show()
        self.turns.pump()
        gc.collect()
        gc.freeze()

    def _connect(self, runtime: "Runtime") -> None:
        # Imported here: they bring the events and with them pydantic, which no first frame needs.
        from sam_tui.ui.bridge import Bridge
        from sam_tui.ui.controllers.inquiries import InquiryRow, Keyboard

        self.inquiries = InquiryRow(
            self.chat, Keyboard(self.PATIENCE, lambda: self.last_key, self._call)
        )
        bridge = Bridge(self.chat, self.inquiries, runtime.terminals, self.batch_update)
        self.chat.run_worker(bridge.run(runtime.bus.subscribe()), name="bridge")
        self.conversations.begin(runtime, bridge)
        self.models.begin(runtime)
        self.todos.begin(runtime)
        self.desk.begin(runtime)
        self.shelf.begin(runtime)
        self.runs.begin(runtime)
        self.backstage.begin(runtime)
        self.servers.begin(runtime)
        self.mentions.begin(runtime)
        bridge.workflow_moved = lambda _: self.runs.moved()
        bridge.message_stored = self.turns.stored
        self.chat.status.standing.sandbox = runtime.commands.expected.kind
        self.requests.begin(runtime)
        self.recordings.begin(runtime)
        self.shell.begin(runtime)

    def _progress(self, words: str) -> None:
        self.chat.status.activity.starting = one_line(words, 80) or "starting"
        self.chat.status.show()

    def _call(self) -> None:
        """Ring for somebody who looks elsewhere."""
        if not self.app_focus:
            self.bell()

    async def on_event(self, event: events.Event) -> None:
        """Remember when a key was pressed last: questions wait for a pause."""
        if isinstance(event, events.Key | events.Paste):
            self.last_key = self.PATIENCE.clock()
            self._keys += 1
            if not event.is_forwarded and self._led(event):
                return
        elif isinstance(event, events.MouseEvent) and self._over_removed(event):
            return
        await super().on_event(event)

    def _over_removed(self, event: events.MouseEvent) -> bool:
        """Whether the mouse is over a widget that is still drawn, but was removed.

        Textual looks for the widget around it to mark text in, and finds none: that ends the program.
        """
        if event.is_forwarded:
            return False
        widget, _ = self.screen.get_widget_and_offset_at(event.x, event.y)
        return widget is not None and widget.parent is None

    def _led(self, event: events.Key | events.Paste) -> bool:
        """Whether it went to the terminal or the prompt already: none is lost for being typed elsewhere."""
        if self.screen is self.chat:
            if self.chat.gives(event):
                return True
            action = TO_TERMINAL.get(event.key) if isinstance(event, events.Key) else None
            if action is not None and self.chat.leads_on:
                # At once: what is typed right behind it is meant for the terminal.
                self.desk.perform(action)
                return True
            return self.chat.lead(event)
        if isinstance(event, events.Key) or writes(self.focused):
            return False
        self.chat.prompt.area.insert(event.text)
        self.notify("What was pasted stands in the prompt.", markup=False)
        return True

    def on_app_focus(self) -> None:
        """The click that brought the window to the front answers nothing."""
        if self.inquiries is not None:
            self.inquiries.rearm()

    def on_returned(self) -> None:
        """A dialog went away: a question may show again, but hears nothing at first."""
        if self.inquiries is not None:
            self.inquiries.rearm()
            self.inquiries.consider()

    def on_prompt_submitted(self, event: PromptSubmitted) -> None:
        """A slash command, or a prompt."""
        command = slash.parse(event.text)
        if command is not None:
            self.desk.obey(command)
        else:
            self.oversight.look()
            self.desk.submit(event.text)

    def on_inquiry_answered(self, event: InquiryAnswered) -> None:
        """Pass the answer on; one that came too late changes nothing."""
        if self.runtime is not None:
            self.runtime.inquiries.answer(event.inquiry, event.answer)

    def on_action_asked(self, event: ActionAsked) -> None:
        """A widget asks for an action."""
        self.desk.perform(event.name, event.argument)

    def on_todo_edit_asked(self, event: TodoEditAsked) -> None:
        """The person changes the todo list."""
        self.todos.carry_out(event)

    def on_restart_asked(self, event: RestartAsked) -> None:
        """The shell ended and the person wants another."""
        self.shell.restart(event.view)

    def on_shell_wanted(self, event: ShellWanted) -> None:
        """A shell's tab is seen for the first time."""
        self.shell.want(event.view)

    def on_session_changed(self, event: SessionChanged) -> None:
        """A terminal shows another session, or is looked at."""
        if isinstance(event.view, TerminalView):
            self.watching.follow(event.view)

    def on_terminal_asked(self, event: TerminalAsked) -> None:
        """A terminal wants something of the workbench."""
        self.requests.handle(event)

    def leave(self, code: int) -> None:
        """End once what was typed has arrived, or did not in time; asked again at once."""
        if self._leaving:
            self.exit(None, code)
            return
        self._leaving = True
        asyncio.get_running_loop().call_later(_LEAVE_WITHIN, self.exit, None, code)
        self._follow_keys(code)

    def _follow_keys(self, code: int) -> None:
        """Go the way of a key: on to what has the focus, and up from there with what it sends."""
        keys = self._keys

        def last_key() -> None:
            focus = self.focused or self.screen
            focus.call_later(focus.post_message, LeavingAsked(code, keys))

        self.call_later(last_key)

    def on_leaving_asked(self, event: LeavingAsked) -> None:
        """Everything typed is here, unless more came meanwhile."""
        if event.keys == self._keys:
            self.exit(None, event.code)
        else:
            self._follow_keys(event.code)

    def emit(self, sequence: str) -> None:
        """Send a control sequence to the terminal around."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by the terminal around, also from within tmux."""
        self._clipboard = text
        for sequence in clipboard.sequences(text):
            self.emit(sequence)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A turn ended: the next may begin."""
        worker = cast("Worker[object]", event.worker)  # pyright: ignore[reportUnknownMemberType]
        if worker.group == GROUP and worker.is_finished:
            self.oversight.look()
            self.turns.ended()

    def action_perform(self, name: str) -> None:
        """What every key binding leads to."""
        self.desk.perform(name)

    async def on_unmount(self) -> None:
        """Let the turn put things in order, then end what runs."""
        self.requests.close()
        self.shell.end()
        await self.turns.close()
        await self.runs.close()
        if self.runtime is not None:
            await self.runtime.close()
