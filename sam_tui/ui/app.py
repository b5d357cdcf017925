"""The app: puts screen, controllers and runtime together, and does nothing else."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.app import App
from textual.driver import Driver
from textual.message import Message
from textual.reactive import Reactive
from textual.timer import Timer
from textual.widgets import Input
from textual.worker import Worker

from sam_tui import __version__
from sam_tui.core.errors import SamError
from sam_tui.core.ids import ConversationId
from sam_tui.ui import messages, theme
from sam_tui.ui.action_tables.keymap import resolved_keys
from sam_tui.ui.actions import (
    ACTIONS,
    FOCUSING,
    use_keys,
)
from sam_tui.ui.activity import ActivityLine
from sam_tui.ui.controllers.current_conversation import ConversationTab, CurrentConversation
from sam_tui.ui.controllers.prompt_queue import PromptQueue
from sam_tui.ui.controllers.screen.attention import Attention
from sam_tui.ui.controllers.screen.inline import InlineScreen
from sam_tui.ui.controllers.screen.key_order import KeyArrived, KeyOrder
from sam_tui.ui.controllers.screen_actions import ScreenActions
from sam_tui.ui.controllers.window.settings import SettingActions
from sam_tui.ui.driver.cells import cells_of
from sam_tui.ui.driver.few_colours import use_few_colours
from sam_tui.ui.driver.keys import GroundTold, TerminalTold, name_alt_keys
from sam_tui.ui.driver.mouse import LeftClicked
from sam_tui.ui.driver.output import lasting
from sam_tui.ui.driver.sequences import clipboard_sequences
from sam_tui.ui.front import Front, Invocation, Starting
from sam_tui.ui.key_guard import Keyboard, Patience
from sam_tui.ui.preferences import ScreenTerms
from sam_tui.ui.screens.chat import ChatScreen, Returned, writes
from sam_tui.ui.screens.compositor import compare_layouts
from sam_tui.ui.screens.layout import SECTION, Layout
from sam_tui.ui.timers import Workers, shorten_dispatch, still_cursors
from sam_tui.ui.widgets.status_bar import Standing
from sam_tui.ui.widgets.terminal.messages import (
    RestartAsked,
    SessionChanged,
    ShellDropped,
    TerminalAsked,
)
from sam_tui.ui.widgets.terminal.panel import ShellWanted
from sam_tui.ui.widgets.todo_panel import TodoEditAsked

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime
    from sam_tui.ui.workbench import Workbench

Start = Callable[[Callable[[str], None]], Awaitable["Runtime"]]
"""Builds the runtime; calls its argument with a text for each step."""
_COLLECTED = (3_000, 10, 50)
"""The thresholds of the garbage collector, by generation; a collection of all objects is rare."""
_LEAVE_WITHIN = 20.0
"""Seconds after which the app ends even if keys that were typed before have not arrived."""


class SamApp(LeftClicked, inherit_bindings=False):
    """The workbench. The first frame is drawn before ``start`` is called.

    ``prompt`` is sent as soon as the runtime is there; ``conversation`` is continued, or one is
    offered for choice with ``CHOOSE``. Ends with the exit code of a ``SamError`` from ``start``.
    """

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "sam"
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
        terms: ScreenTerms | None = None,
    ) -> None:
        terms = terms or ScreenTerms()
        self._inline = terms.inline
        super().__init__()
        self._workers = Workers(self)
        self._settings = settings = terms.settings
        self._action_keys = resolved_keys(ACTIONS, settings.settings.keys, FOCUSING)
        use_keys(self._action_keys)
        name_alt_keys()
        compare_layouts()
        still_cursors()
        shorten_dispatch()
        self.use_command_palette = True
        self._set_looks()
        self._start = start
        self._invocation = Invocation(
            f"sam {__version__} · F1 shows keys and commands",
            ConversationId(conversation) if conversation is not None else None,
            resume,
            terms.first_run,
        )
        standing = Standing(os.environ.get("HOME", ""), workspace)
        layout = Layout.of(terms.preferences.read(SECTION))
        layout = replace(layout, inline=terms.inline, reader=terms.reader)
        self.set_class(terms.reader, "-reader")
        activity = ActivityLine()
        self.chat = ChatScreen(standing, activity, layout, self._action_keys.bindings(ACTIONS))
        self._below = InlineScreen(self, self.chat) if terms.inline else None
        self.queue = queue = PromptQueue(self.chat.prompt)
        tab = ConversationTab(1, self.chat.transcript, queue, activity, standing.figures)
        current = CurrentConversation(tab)
        self._keyboard = Keyboard(self.PATIENCE)
        self._attention = Attention(self, self._keyboard, terms)
        actions = ScreenActions(self, self.chat, current, terms.preferences)
        actions.table |= SettingActions(self, self.chat, settings, self._learn).table
        self._front = Front(
            self,
            self.chat,
            self._keyboard,
            current,
            actions,
            self.emit,
            self._attention,
            settings,
            terms.preferences,
        )
        self.runtime: Runtime | None = None
        self.phase: Starting | Workbench = Starting(self._front)
        self._prompt = prompt
        self._leaving = False
        self._order = KeyOrder(self)

    def _set_looks(self) -> None:
        """Register every look, use the person's choice or the one that fits the terminal, and make the
        style sheet."""
        for look in theme.LOOKS.values():
            self.register_theme(look.theme())
        self._ground: theme.Ground | None = theme.ground_of_environment(self._settings.environ)
        name = theme.theme_of(self._settings.settings.text("screen.theme"), self._ground)
        # Without its watcher, which would compute every style again before the first frame.
        self.set_reactive(App.theme, name)
        self.stylesheet = theme.ThemeStylesheet(self.get_css_variables())
        use_few_colours(self, self._settings.environ)

    def get_css_variables(self) -> dict[str, str]:
        """The variables of the look, computed once for each; none before the looks are registered."""
        if self.theme not in theme.LOOKS:
            return {}
        if self.theme not in theme.VARIABLES:
            theme.VARIABLES[self.theme] = super().get_css_variables()
        self.theme_variables = theme.VARIABLES[self.theme]
        return self.theme_variables

    def set_timer(self, *arguments: Any, **options: Any) -> Timer:
        """A timer that also calls when it is late. Textual's own may never call, and draws each resize."""
        timer = super().set_timer(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]
        timer._skip = False  # pyright: ignore[reportPrivateUsage]
        return timer

    def on_resize(self, event: events.Resize) -> None:
        """Draw everything again, also for an equal size: the terminal may have cut some text."""
        if (cells := cells_of(self._driver)) is not None:
            cells.forget()
        if event.size == self.size:
            self.refresh()

    def _check_resize(self) -> None:
        """Tell the screens the last of several sizes, and draw all anew if it is the one they have."""
        event = self._resize_event
        super()._check_resize()
        if event is not None and self._screen_stack and event.size == self.screen.outer_size:
            self.refresh()

    def _display(self, screen: Any, renderable: Any) -> None:
        """Write to the terminal the cells of an update that have changed."""
        if (cells := cells_of(self._driver)) is not None:
            renderable = cells.difference(renderable, self.size)
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]
        if self._below is not None:
            self._below.drawn()

    def get_driver_class(self) -> type[Driver]:
        """The driver of this system, which outlives its terminal until the app has ended."""
        driver = lasting(super().get_driver_class())
        if not self._inline:
            return driver
        from sam_tui.ui.driver.inline import inline

        return inline(driver)

    def get_default_screen(self) -> ChatScreen:
        """The screen to work in."""
        return self.chat

    def on_mount(self) -> None:
        """After the first frame, start everything that it does not need."""
        for key in ("screen.vim", "screen.reduced_motion"):
            self._follow_settings(key)
        if self._prompt:
            self.queue.add(self._prompt)
        self._settings.listeners.append(self._follow_settings)
        self._ask_ground()
        self.call_after_refresh(self.run_worker, self._begin, name="start")

    async def _begin(self) -> None:
        starting = self.phase
        assert isinstance(starting, Starting)
        try:
            self.runtime = runtime = await self._start(starting.progress)
        except SamError as error:
            from sam_tui.ui.screens.failure import FailureScreen

            await self.push_screen(FailureScreen(error))
            return
        for fault in self._action_keys.faults:
            self.chat.transcript.add_notice("warning", fault)
        # The rest of the front end comes with the runtime: it brings what no first frame needs.
        from sam_tui.ui.workbench import Workbench

        self.phase = workbench = Workbench(self._front, runtime)
        workbench.begin(self._invocation, starting.commands)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_COLLECTED)

    def _learn(self, secrets: Mapping[str, str]) -> None:
        """Have the shield mask these secrets."""
        if self.runtime is not None:
            self.runtime.executor.shield.learn(secrets)

    def _ask_ground(self) -> None:
        """Ask the terminal whether it is light or dark, where the theme follows it."""
        if self._settings.settings.text("screen.theme") == "auto":
            self.emit(theme.ASK_GROUND)

    def on_ground_told(self, event: GroundTold) -> None:
        """The terminal said whether it is light or dark: follow it, where the person set nothing else."""
        self._ground = "light" if event.light else "dark"
        self._follow_settings("screen.theme")

    def _follow_settings(self, key: str) -> None:
        """Apply a changed setting at once, if it is the theme or the handling of keys."""
        if key == "screen.theme":
            self.theme = theme.theme_of(self._settings.settings.text(key), self._ground)
        elif key == "screen.reduced_motion":
            self.chat.status.move(not self._settings.settings.switch(key))
        elif key == "screen.vim":
            self.chat.prompt.area.use_vim(self._settings.settings.switch(key))

    async def on_event(self, event: events.Event) -> None:
        """Remember when a key was pressed last: questions wait for a pause."""
        if isinstance(event, events.Key | events.Paste):
            self._keyboard.press()
            if not event.is_forwarded:
                if not self._order.waits(event):
                    await self._hand_on(event)
                return
        await super().on_event(event)

    async def _hand_on(self, event: events.Key | events.Paste) -> None:
        """Pass on a key or a paste to its widget, after the ones before it have arrived."""
        self.app_focus = True  # the person types here, so the keys go where they went before
        if self._led(event):
            return
        if isinstance(event, events.Paste) and isinstance(self.focused, Input):
            # Textual's own line takes the first of several lines and drops the others.
            event.text = " ".join(filter(None, event.text.splitlines()))
        target, only_writes = (
            self.focused or self.screen,
            self.chat.only_writes(event, self.focused),
        )
        await super().on_event(event)
        if not only_writes:
            self._order.follow(target)

    async def on_key_arrived(self, mark: KeyArrived) -> None:
        """The effects of a key have arrived: pass on the keys behind it."""
        event = self._order.arrived(mark)
        while event is not None:
            await self._hand_on(event)
            event = self._order.next()

    def _led(self, event: events.Key | events.Paste) -> bool:
        """Pass the event to the terminal or the prompt if it is for them; whether it was."""
        if self.screen is self.chat:
            if self.chat.gives(event):
                return True
            action = (
                self._action_keys.focusing.get(event.key) if isinstance(event, events.Key) else None
            )
            if (
                isinstance(event, events.Key)
                and action is not None
                and self.chat.leads_on(event.key)
            ):
                # At once: keys typed directly after it are meant for its target.
                self.action_perform(action)
                return True
            return self.chat.lead(event)
        if isinstance(event, events.Key) or writes(self.focused):
            return False
        self.chat.prompt.area.paste(event.text)
        self.notify("The pasted text is in the prompt.", markup=False)
        return True

    def on_app_focus(self) -> None:
        """The click that brought the window to the front answers nothing; its ground may have changed."""
        self._attention.focus_reported = True
        self._ask_ground()
        if isinstance(self.phase, Starting):
            return
        self.phase.inquiries.rearm()

    def watch_app_focus(self, focus: bool) -> None:
        """A dialog that opened while the window had no focus gets the focus when the person is back."""
        if focus and self.screen.focused is None:
            self.screen._update_auto_focus()  # pyright: ignore[reportPrivateUsage]

    def on_app_blur(self) -> None:
        """The window lost the focus."""
        self._attention.focus_reported = True

    @on(messages.PromptSubmitted)
    @on(messages.InquiryAnswered)
    @on(messages.ActionAsked)
    @on(messages.PictureWanted)
    @on(TerminalTold)
    @on(TodoEditAsked)
    @on(RestartAsked)
    @on(ShellWanted)
    @on(ShellDropped)
    @on(SessionChanged)
    @on(TerminalAsked)
    @on(Returned)
    @on(Worker.StateChanged)
    def pass_on(self, event: Message) -> None:
        """Pass a message of a widget, screen or worker on to the starting or the running program."""
        self.phase.receive(event)

    def leave(self, code: int) -> None:
        """End once all typed keys have arrived, or after a moment; at once when called again."""
        if self._leaving:
            self.exit(None, code)
            return
        self._leaving = True
        asyncio.get_running_loop().call_later(_LEAVE_WITHIN, self.exit, None, code)
        # Behind the keys that the terminal's thread has posted.
        self.call_later(self._leave_behind_keys, code)

    def _leave_behind_keys(self, code: int) -> None:
        widget = self.focused or self.screen
        self._order.once_arrived(widget, lambda: self.exit(None, code))

    def emit(self, sequence: str) -> None:
        """Send a control sequence to the terminal around."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def notify(self, message: str, **options: Any) -> None:
        """Show a text over the screen for a while; to people with a screen reader as a line."""
        if self.has_class("-reader"):
            self.chat.transcript.add_remark(message)
            self.chat.prompt.area.refresh()
        else:
            super().notify(message, **options)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by the terminal around, also from within tmux."""
        self._clipboard = text
        for sequence in clipboard_sequences(text):
            self.emit(sequence)

    def action_perform(self, name: str) -> None:
        """Do the action that a key is bound to."""
        self.phase.perform(name)

    async def on_unmount(self) -> None:
        """Let the turn end in order, then stop everything that runs."""
        await self.phase.close()
        if self.runtime is not None:
            await self.runtime.close()
