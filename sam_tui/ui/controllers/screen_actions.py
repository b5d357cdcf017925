"""The actions that need only the screen: they work from the first frame on."""

import os
from collections.abc import Callable

from textual.app import App

from sam_tui.process import stop_group
from sam_tui.ui import programs
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.controllers.screen.layout import LayoutActions
from sam_tui.ui.controllers.terminals.tabs import Tabs
from sam_tui.ui.driver.cells import draw_again
from sam_tui.ui.driver.mouse import capture_mouse
from sam_tui.ui.preferences import Preferences
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.timers import after
from sam_tui.ui.widgets.terminal.view import TerminalView

_AGAIN_WITHIN = 2.0
"""Seconds in which a second Ctrl+C quits."""


class ScreenActions:
    """Shows, hides, scrolls, and moves the focus. ``table`` has a function for each action's name."""

    def __init__(
        self,
        app: App[None],
        screen: ChatScreen,
        current: CurrentConversation,
        preferences: Preferences,
    ) -> None:
        self._app = app
        self._screen = screen
        self._current = current
        self._quit_armed = self._rewind_armed = False
        self._captures_mouse = True
        self._side_for_todos = False
        """Whether the side column opened only because the person went to the todos."""
        self.table: dict[str, Callable[[str], object]] = {
            "help": lambda _: self._help(),
            "cancel": lambda _: self.cancel(),
            "edit_prompt": lambda _: app.run_worker(self._edit_prompt(), group="reader"),
            "interrupt": lambda _: self.interrupt(),
            "clear": lambda _: screen.transcript.clear(),
            **LayoutActions(app, screen, preferences).actions,
            "todos": lambda _: self._todos(),
            "edit_todos": lambda _: self._edit_todos(),
            "leave_todos": lambda _: self._leave_todos(),
            "terminal": lambda _: self._terminal(),
            "leave_terminal": lambda _: screen.leave_terminal(),
            "zoom": lambda _: screen.zoom(),
            "look_back": lambda _: self._look_back(),
            **Tabs(app, screen).actions,
            "search": screen.search,
            "leave_search": lambda _: screen.leave_search(),
            "page_up": lambda _: screen.transcript.action_page_up(),
            "page_down": lambda _: screen.transcript.action_page_down(),
            "mouse": lambda _: self._mouse(),
            "top": lambda _: screen.transcript.action_scroll_home(),
            "bottom": lambda _: screen.transcript.jump_to_end(),
            "redraw": lambda _: draw_again(app),
            "palette": lambda _: self._palette(),
            "unqueue": lambda _: current.tab.queue.take_last(),
            "suspend": lambda _: self._suspend(),
            "quit": lambda _: app.exit(),
        }

    def cancel(
        self,
        cancel_turn: Callable[[], bool] = lambda: False,
        rewind: Callable[[], None] = lambda: None,
    ) -> None:
        """Cancel the turn, else take queued prompts back, else focus the prompt; twice there: rewind."""
        screen = self._screen
        if cancel_turn() or self._current.tab.queue.take_back():
            return
        if screen.focused is not screen.prompt.area or screen.prompt.area.text:
            screen.focus_bottom()
        elif self._rewind_armed:
            self._disarm()
            rewind()
        else:
            self._rewind_armed = True
            screen.status.say("Press Esc again to go back to a message")
            after(screen, _AGAIN_WITHIN, self._disarm)

    def interrupt(self, cancel_turn: Callable[[], bool] = lambda: False) -> None:
        """Copy the selection, else cancel the turn, else clear the prompt; twice ends the program."""
        screen, area = self._screen, self._screen.prompt.area
        selected = screen.get_selected_text()
        if selected:
            self._app.copy_to_clipboard(selected)
            screen.clear_selection()
        elif cancel_turn():
            return
        elif area.text:
            area.remember(area.whole)
            area.put("")
        elif self._quit_armed:
            self._app.exit()
        else:
            self._quit_armed = True
            screen.status.say("Press Ctrl+C again to quit")
            after(screen, _AGAIN_WITHIN, self._disarm)

    def _disarm(self) -> None:
        self._quit_armed = self._rewind_armed = False
        self._screen.status.say("")

    def _palette(self) -> None:
        from sam_tui.ui.widgets.palette import ActionPalette

        if not isinstance(self._app.screen, ActionPalette):
            self._app.push_screen(ActionPalette())

    def _mouse(self) -> None:
        """Give the mouse to the terminal around, or take it back."""
        self._captures_mouse = not self._captures_mouse
        capture_mouse(self._app, on=self._captures_mouse)
        words = (
            "on"
            if self._captures_mouse
            else ("off: the outer terminal selects; F9 turns it on again")
        )
        self._screen.status.flash(f"Mouse {words}")

    def _help(self) -> None:
        from sam_tui.ui.screens.dialogs import HelpScreen  # no first frame shows it

        self._app.push_screen(HelpScreen())

    async def _edit_prompt(self) -> None:
        area = self._screen.prompt.area
        text, trouble = await programs.edit(self._app, area.whole)
        if trouble:
            self._screen.transcript.add_notice("warning", trouble)
        else:
            area.put(text.rstrip("\n"))
            self._screen.focus_bottom()

    def _suspend(self) -> None:
        """Stop the process like other programs, so that a shell can continue it."""
        if os.getpgrp() == os.getsid(0):
            words = "No shell started sam-tui, so there is none to return to."
            self._screen.transcript.add_notice("warning", words)
            return
        stop_group()

    # ---- the side column

    def _todos(self) -> None:
        screen = self._screen
        if not screen.side_shown:
            screen.show_side(True)
            screen.remove_class("-no-todos")
        else:
            screen.toggle_class("-no-todos")

    def _edit_todos(self) -> None:
        """Focus the todo list, and show it if it is hidden; or leave it, and hide it again."""
        screen = self._screen
        if screen.focused is not None and screen.todos in screen.focused.ancestors_with_self:
            screen.set_focus(None)
            self._leave_todos()
            return
        self._side_for_todos = not screen.side_shown
        if self._side_for_todos:
            screen.show_side(True)
        screen.remove_class("-no-todos")
        screen.set_focus(screen.todos)

    def _leave_todos(self) -> None:
        """Hide the list if it was shown for this; the focus moves on, unless it has moved already."""
        screen = self._screen
        if self._side_for_todos:
            screen.show_side(False)
        self._side_for_todos = False
        if screen.focused is None:
            screen.focus_bottom()

    def _terminal(self) -> None:
        screen = self._screen
        if isinstance(screen.focused, TerminalView):
            screen.focus_bottom()
            return
        screen.show_side(True)
        screen.set_focus(screen.terminals.current)

    def _look_back(self) -> None:
        self._screen.show_side(True)
        view = self._screen.terminals.current
        self._screen.set_focus(view)
        view.look_back(True)
