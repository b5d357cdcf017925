"""Every action by its name, and what it does."""

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from textual.app import App
from textual.command import DiscoveryHit, Hit, Hits, Provider

from sam_tui.core.errors import SamError
from sam_tui.ui import programs, theme
from sam_tui.ui.actions import ACTIONS, MODES, WorkbenchAction
from sam_tui.ui.controllers.authorization import Oversight
from sam_tui.ui.controllers.background import Backstage
from sam_tui.ui.controllers.conversation_actions import LibraryController, TodoController
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.controllers.models import Models
from sam_tui.ui.controllers.servers import Servers
from sam_tui.ui.controllers.turns import TurnController
from sam_tui.ui.controllers.workflows import Runs
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, HelpScreen, Picker
from sam_tui.ui.slash import SlashCommand
from sam_tui.ui.timers import after

if TYPE_CHECKING:
    from sam_tui.core.authorization.policy.policy import PermissionMode
    from sam_tui.core.runtime import Runtime


_AGAIN_WITHIN = 2.0
_ROUND: tuple["PermissionMode", ...] = ("ask", "accept-edits", "plan")
_MODES: dict[str, "PermissionMode"] = {
    "ask": "ask",
    "plan": "plan",
    "accept-edits": "accept-edits",
    "auto": "auto",
}


async def _mode_choices() -> list[Choice]:
    return [Choice(name, MODES[name]) for name in _MODES]


@dataclass(frozen=True, slots=True)
class Controllers:
    """Who does the work."""

    turns: TurnController
    conversations: Conversations
    models: Models
    shelf: LibraryController
    todos: TodoController
    runs: Runs
    oversight: Oversight
    backstage: Backstage
    servers: Servers


class Desk:
    """Carries out actions. ``perform`` knows every action of the table that is not local."""

    def __init__(
        self,
        app: App[None],
        screen: ChatScreen,
        controllers: Controllers,
        more: Mapping[str, Callable[[str], object]],
    ) -> None:
        self._app = app
        self._screen = screen
        self._turns = controllers.turns
        self._conversations = controllers.conversations
        self._runtime: Runtime | None = None
        self._quit_armed = False
        self._deeds: dict[str, Callable[[str], object]] = {
            "help": lambda _: app.push_screen(HelpScreen()),
            "cancel": lambda _: self._cancel(),
            "edit_prompt": lambda _: app.run_worker(self._edit_prompt(), group="reader"),
            "interrupt": lambda _: self._interrupt(),
            "new": lambda _: self._when_idle(controllers.conversations.new),
            "resume": lambda _: self._when_idle(controllers.conversations.choose),
            "fork": lambda _: self._when_idle(controllers.conversations.fork),
            "take_over": lambda _: controllers.conversations.take_over(),
            "model": lambda name: self._when_idle(lambda: controllers.models.choose(name)),
            "next_mode": lambda _: self._next_mode(),
            "mode": self._mode,
            "trust": lambda _: controllers.oversight.trust(),
            "audit": lambda _: controllers.oversight.audit(),
            "servers": lambda _: controllers.servers.show(),
            "undo": lambda _: self._when_idle(controllers.shelf.undo),
            "agents": lambda _: controllers.shelf.agents(self._when_idle),
            "prompts": lambda _: controllers.shelf.prompts(),
            "topic": controllers.shelf.topic,
            "workflow": controllers.runs.open,
            "background": lambda _: controllers.backstage.release(),
            "jobs": lambda _: controllers.backstage.show(),
            "clear": lambda _: screen.transcript.clear(),
            "copy": lambda _: self._copy(),
            "side": lambda _: screen.show_side(not screen.side_shown),
            "todos": lambda _: self._todos(),
            "edit_todos": lambda _: controllers.todos.go(),
            "leave_terminal": lambda _: screen.leave_terminal(),
            "page_up": lambda _: screen.transcript.action_page_up(),
            "page_down": lambda _: screen.transcript.action_page_down(),
            "bottom": lambda _: screen.transcript.jump_to_end(),
            "theme": lambda _: setattr(app, "theme", theme.other(app.theme)),
            "palette": lambda _: app.action_command_palette(),
            "unqueue": lambda _: controllers.turns.take_last(),
            "suspend": lambda _: self._suspend(),
            "quit": lambda _: app.exit(),
            **more,
        }

    @property
    def names(self) -> frozenset[str]:
        """All that can be performed."""
        return frozenset(self._deeds)

    def begin(self, runtime: "Runtime") -> None:
        """From here on modes can be changed."""
        self._runtime = runtime
        self._screen.status.standing.mode = runtime.mode
        self._screen.prompt.area.more = self._skills

    def _suspend(self) -> None:
        """Stop like any other program, where a shell can have it go on."""
        if os.getpgrp() == os.getsid(0):
            self._screen.transcript.add_notice(
                "warning", "No shell started this: nothing to go to."
            )
            return
        # All of the group, as the terminal does it: a launcher such as “uv run” is the shell's job.
        os.killpg(os.getpgrp(), signal.SIGTSTP)

    def perform(self, name: str, argument: str = "") -> None:
        """Do it. A name that is not an action's does nothing; what cannot be done is said."""
        action = self._deeds.get(name)
        if action is None:
            return
        try:
            action(argument)
        except SamError as error:
            self._screen.transcript.add_error(error)

    def obey(self, command: SlashCommand) -> None:
        """Do what a slash command asks; one that does not exist stays in the prompt to be mended."""
        if command.action is None and self._names_a_skill(command):
            self.submit(f"/{command.name} {command.argument}".rstrip())
            return
        if command.action is None:
            area = self._screen.prompt.area
            if not area.text:
                area.put(f"/{command.name} {command.argument}".rstrip())
            self._notice(
                f"There is no command /{one_line(command.name, 40)}. F1 lists them all.", "warning"
            )
            return
        self.perform(command.action.name, command.argument)

    def _skills(self) -> list[WorkbenchAction]:
        """The skills there are, to be called like commands."""
        parts = self._runtime.parts if self._runtime is not None else None
        if parts is None or not parts.has_skills:
            return []
        return [
            WorkbenchAction(
                skill.name, "Skill", one_line(skill.description, 200), (), skill.name, "WORDS"
            )
            for skill in parts.skills.listing().skills
        ]

    def _names_a_skill(self, command: SlashCommand) -> bool:
        typed = f"/{command.name}"
        return self._runtime is not None and self._runtime.engine.worded(typed) != typed

    def submit(self, text: str) -> None:
        """A prompt: it runs, or waits its turn."""
        self._screen.transcript.jump_to_end()
        self._turns.submit(text)

    def palette(self) -> list[tuple[str, str, Callable[[], None]]]:
        """(title, help, what it does) of everything the palette offers."""
        return [
            (action.title, action.help, lambda name=action.name: self.perform(name))
            for action in ACTIONS
            if action.listed
            and not action.local
            and action.name not in ("palette", "cancel", "interrupt")
        ]

    # ---- the deeds that are longer than a line

    def _cancel(self) -> None:
        if not self._turns.cancel() and not self._turns.take_back():
            self._screen.focus_bottom()

    def _interrupt(self) -> None:
        screen, area = self._screen, self._screen.prompt.area
        selected = screen.get_selected_text()
        if selected:
            self._app.copy_to_clipboard(selected)
            screen.clear_selection()
        elif self._turns.cancel():
            return
        elif area.text:
            area.remember(area.text)
            area.put("")
        elif self._quit_armed:
            self._app.exit()
        else:
            self._quit_armed = True
            screen.status.say("Press Ctrl+C again to quit")
            after(screen, _AGAIN_WITHIN, self._disarm)

    async def _edit_prompt(self) -> None:
        area = self._screen.prompt.area
        text, trouble = await programs.edit(self._app, area.text)
        if trouble:
            self._screen.transcript.add_notice("warning", trouble)
        else:
            area.put(text.rstrip("\n"))
            self._screen.focus_bottom()

    def _disarm(self) -> None:
        self._quit_armed = False
        self._screen.status.say("")

    def _when_idle(self, action: Callable[[], None]) -> None:
        if self._turns.running:
            self._notice("A turn is running: Esc cancels it first.", "warning")
        else:
            action()

    def _mode(self, argument: str) -> None:
        mode = _MODES.get(argument.lower())
        if mode is None:
            self._app.push_screen(
                Picker("permission mode", _mode_choices, empty=""), self._picked_mode
            )
        else:
            self._use_mode(mode)

    def _picked_mode(self, index: int | None) -> None:
        if index is not None:
            self._use_mode(_MODES[list(_MODES)[index]])

    def _next_mode(self) -> None:
        if self._runtime is not None:
            now = self._runtime.mode
            at = _ROUND.index(now) if now in _ROUND else -1
            self._use_mode(_ROUND[(at + 1) % len(_ROUND)])

    def _use_mode(self, mode: "PermissionMode") -> None:
        if self._runtime is not None:
            self._runtime.use_mode(mode)
            self._screen.status.standing.mode = mode
            self._screen.status.show()

    def _copy(self) -> None:
        text = self._conversations.last_answer()
        if text:
            self._app.copy_to_clipboard(text)
        self._notice("Copied." if text else "There is no answer to copy yet.", "info")

    def _todos(self) -> None:
        screen = self._screen
        if not screen.side_shown:
            screen.show_side(True)
            screen.remove_class("-no-todos")
        else:
            screen.toggle_class("-no-todos")

    def _notice(self, text: str, level: str) -> None:
        severity = "warning" if level == "warning" else "information"
        self._app.notify(text, severity=severity, markup=False)


class HasDesk(Protocol):
    """An app whose actions can be searched."""

    desk: Desk


class ActionProvider(Provider):
    """Finds actions by their titles and helps."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for title, about, run in cast("HasDesk", self.app).desk.palette():
            yield DiscoveryHit(title, run, help=about)

    async def search(self, query: str) -> Hits:
        """Those that fit."""
        matcher = self.matcher(query)
        for title, about, run in cast("HasDesk", self.app).desk.palette():
            score = max(matcher.match(title), matcher.match(about) / 2)
            if score > 0:
                yield Hit(score, matcher.highlight(title), run, help=about)
