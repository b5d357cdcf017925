"""The commands that fit what was typed after a slash: a list that is gone through by key or mouse."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from sam_tui.ui.actions import Action, spelled_all

_ROWS, _ROWS_LOW = 10, 6
_WIDEST = 18
"""Columns of commands after which the titles begin, but for longer ones."""
_LOW = 30
"""Rows of the screen below which the list is shorter."""


class CommandTaken(Message):
    """A command was clicked."""

    def __init__(self, action: Action) -> None:
        super().__init__()
        self.action = action


class SlashMenu(Static):
    """Shows a window on the list, and below it what the marked one does, whole."""

    def __init__(self) -> None:
        super().__init__(markup=False, id="hints")
        self.display = False
        self.moved = False
        """Whether the person marked one, rather than the first being so by itself."""
        self._actions: Sequence[Action] = ()
        self._at = 0
        self._top = 0

    @property
    def marked(self) -> Action | None:
        """The command that is marked, while there is a list."""
        return self._actions[self._at] if self.display and self._actions else None

    def offer(self, actions: Sequence[Action]) -> None:
        """Show these, the first of them marked; none takes the list away."""
        if list(actions) != list(self._actions):
            self._actions, self._at, self._top, self.moved = actions, 0, 0, False
        self.display = bool(actions)
        self._draw()

    def close(self) -> None:
        """Take the list away until something else is typed."""
        self.offer(())

    def move(self, by: int) -> None:
        """Mark another, around the ends."""
        self.moved = True
        self._at = (self._at + by) % max(1, len(self._actions))
        self._draw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The next one."""
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The one before."""
        event.stop()
        self.move(-1)

    def on_click(self, event: events.Click) -> None:
        """Take the one on that row."""
        event.stop()
        at = self._top + event.y
        if 0 <= event.y < self._room and at < len(self._actions):
            self.post_message(CommandTaken(self._actions[at]))

    @property
    def _room(self) -> int:
        return _ROWS_LOW if self.screen.size.height < _LOW else _ROWS

    def _draw(self) -> None:
        actions, room = self._actions, self._room
        if not actions:
            self.update("")
            return
        self._top = min(max(self._top, self._at - room + 1), self._at)
        shown = actions[self._top : self._top + room]
        width = min(_WIDEST, max(len(_typed(action)) for action in actions))
        lines = [self._row(action, width) for action in shown]
        # Always as many rows while there is more than has room, so that nothing jumps.
        if len(actions) > room:
            place = f"{self._at + 1} of {len(actions)} · ↑↓ and Enter"
            lines.append(Content(place).stylize("$text-disabled"))
        lines.append(Content(actions[self._at].help).stylize("$text-muted"))
        self.update(Content("\n").join(lines))

    def _row(self, action: Action, width: int) -> Content:
        marked = action is self._actions[self._at]
        keys = f"  {spelled_all(action.keys)}" if action.keys else ""
        return Content.assemble(
            ("▸ " if marked else "  ", "$primary"),
            (f"{_typed(action):<{width}}  ", "bold $primary" if marked else "$primary"),
            (action.title, "$foreground" if marked else "$text-muted"),
            (keys, "$text-disabled"),
        )


def _typed(action: Action) -> str:
    return f"/{action.slash} {action.argument}".strip()
