"""Lists under the prompt, gone through by key or mouse while one types: commands, and files."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from sam_tui.ui.actions import WorkbenchAction, keys_of
from sam_tui.ui.plain import visible_line

_ROWS, _ROWS_LOW = 10, 6
_LOW = 30
"""On a screen with fewer rows the list is shorter."""

T = TypeVar("T")

Row = Callable[[T, Sequence[T], bool], Content]
"""Draws an entry; the last argument says whether it is marked."""


class HintTaken(Message):
    """An entry was clicked."""

    def __init__(self, entry: object) -> None:
        super().__init__()
        self.entry = entry


class HintMenu(Static, Generic[T]):
    """Shows some of the entries, each drawn by ``row``, and below them ``about`` the marked one.

    It comes below ``area`` with its first entries.
    """

    def __init__(
        self, area: Widget, row: Row[T], about: Callable[[T], str] = lambda _: "", *, id: str
    ) -> None:
        super().__init__(markup=False, id=id, classes="hints")
        self._area = area
        self._row = row
        self._about = about
        self.display = False
        self.moved = False
        """Whether the person marked an entry; the first is marked at the beginning."""
        self._entries: Sequence[T] = ()
        self._at = 0
        self._top = 0

    @property
    def marked(self) -> T | None:
        """The entry that is marked, while there is a list."""
        return self._entries[self._at] if self.display and self._entries else None

    def offer(self, entries: Sequence[T]) -> None:
        """Show these entries, the first of them marked; none closes the list.

        A closed list that stays closed is not drawn again, because that lays out the whole screen.
        """
        if not entries and not self._entries:
            return
        if not self.is_attached and isinstance(self._area.parent, Widget):
            self._area.parent.mount(self, after=self._area)
        if list(entries) != list(self._entries):
            self._entries, self._at, self._top, self.moved = entries, 0, 0, False
        self.display = bool(entries)
        self._draw()

    def close(self) -> None:
        """Take the list away until something else is typed."""
        self.offer(())

    def move(self, by: int) -> None:
        """Mark another, around the ends."""
        self.moved = True
        self._at = (self._at + by) % max(1, len(self._entries))
        self._draw()
        if self._entries:
            from sam_tui.ui.widgets.choice_list import say_marked  # no first frame has a list

            entry = self._entries[self._at]
            words = f"{self._row(entry, [entry], True).plain}. {self._about(entry)}"
            say_marked(self, self._at, len(self._entries), words)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Mark the next entry."""
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Mark the previous entry."""
        event.stop()
        self.move(-1)

    def on_click(self, event: events.Click) -> None:
        """Take the entry on the clicked row."""
        event.stop()
        at = self._top + event.y
        if 0 <= event.y < self._room and at < len(self._entries):
            self.post_message(HintTaken(self._entries[at]))

    @property
    def _room(self) -> int:
        return _ROWS_LOW if self.screen.size.height < _LOW else _ROWS

    def _draw(self) -> None:
        entries, room = self._entries, self._room
        if not entries:
            self.update("")
            return
        self._top = min(max(self._top, self._at - room + 1), self._at)
        visible = entries[self._top : self._top + room]
        lines: list[Content] = []
        for number, entry in enumerate(visible, self._top):
            marked = number == self._at
            mark = ("▸ " if marked else "  ", "$primary")
            lines.append(Content.assemble(mark, self._row(entry, visible, marked)))
        # Always as many rows while there is more than has room, so that nothing jumps.
        if len(entries) > room:
            footer = f"{self._at + 1} of {len(entries)} · ↑↓ and Enter"
            lines.append(Content(footer).stylize("$text-disabled"))
        about = self._about(entries[self._at])
        if about:
            lines.append(Content(about).stylize("$text-muted"))
        self.update(Content("\n").join(lines))


class FileMenu(HintMenu[str]):
    """Paths in the workspace, the name of each in front of its folder."""

    def __init__(self, area: Widget) -> None:
        super().__init__(area, _file_row, id="file-hints")


def _file_row(path: str, entries: Sequence[str], marked: bool) -> Content:
    is_resource = path.count(":") > 1  # SERVER:SCHEME:REST
    folder, _, name = ("", "", path) if is_resource else path.rpartition("/")
    return Content.assemble(
        (visible_line(name), "bold $primary" if marked else "$primary"),
        (f"  {visible_line(folder)}", "$text-muted"),
    )


_WIDEST = 18
"""The most columns to which commands are padded before their titles."""


class SlashMenu(HintMenu[WorkbenchAction]):
    """Commands with title and keys, and below them the whole effect of the marked one."""

    def __init__(self, area: Widget) -> None:
        super().__init__(area, _command_row, lambda action: action.help, id="hints")


def _command_row(
    action: WorkbenchAction, actions: Sequence[WorkbenchAction], marked: bool
) -> Content:
    width = min(_WIDEST, max(len(_command(action)) for action in actions))
    keys = f"  {keys_of(action)}".rstrip()
    return Content.assemble(
        (f"{_command(action):<{width}}  ", "bold $primary" if marked else "$primary"),
        (action.title, "$foreground" if marked else "$text-muted"),
        (keys, "$text-disabled"),
    )


def _command(action: WorkbenchAction) -> str:
    return f"/{action.slash} {action.argument}".strip()
