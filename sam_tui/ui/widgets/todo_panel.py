"""The todo list of the conversation, live, and the keys by which the person changes it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widgets import Static

from sam_tui.ui.messages import ActionAsked, ColumnChanged
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from sam_tui.core.todos.edits import EditKind
    from sam_tui.core.todos.item import Todo

_GLYPHS = {"not-started": "○", "in-progress": "◐", "completed": "✓", "blocked": "✗"}
_STYLES = {
    "not-started": "$foreground",
    "in-progress": "bold $accent",
    "completed": "$text-muted",
    "blocked": "$error",
}
_MARKS = {"low": "", "medium": "", "high": " !", "critical": " !!"}


class TodoEditAsked(Message):
    """The person wants the list changed; ``todo`` is the id it is about, 0 for a new one."""

    def __init__(self, kind: "EditKind", todo: int = 0, title: str = "") -> None:
        super().__init__()
        self.kind: EditKind = kind
        self.todo = todo
        self.title = title


def done_of(items: "Sequence[Todo]") -> tuple[int, int]:
    """The number of completed items, and of all items."""
    return sum(item.status == "completed" for item in items), len(items)


def todo_line(item: "Todo", *, selected: bool = False) -> Content:
    """An item: glyph, title, urgency, progress; below it the reason of a blocked or the subtasks of a
    running one."""
    style = _STYLES[item.status]
    progress = (
        f" {item.progress:.0%}"
        if item.progress is not None and item.status == "in-progress"
        else ""
    )
    done, parts = sum(part.status == "completed" for part in item.subtasks), len(item.subtasks)
    line = Content.assemble(
        (f"{_GLYPHS[item.status]} ", style),
        (one_line(item.title), style),
        (_MARKS[item.priority], "$warning"),
        (progress, "$accent"),
        (f" {done}/{parts}" if parts else "", "$text-muted"),
    )
    if selected:
        line = line.stylize("reverse")
    if item.status == "blocked" and item.blocked_reason:
        return line.append(Content(f"\n  {one_line(item.blocked_reason)}").stylize("$text-muted"))
    if item.status == "in-progress":
        for part in item.subtasks:
            words = f"\n  {_GLYPHS[part.status]} {one_line(part.title)}"
            line = line.append(Content(words).stylize("$text-muted"))
    return line


class TodoPanel(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Shows the items in their order; the border counts them.

    While focused it posts ``TodoEditAsked`` for the person's keys; the list shows the effect when
    it changes. Selection and a title being typed stay with their item when others change.
    """

    def __init__(self) -> None:
        super().__init__(id="todos")
        self._above = Static(markup=False)
        self._below = Static(markup=False)
        self._editor = LineInput(self._written, id="todo-title")
        self._editor.compact = True
        self._editor.cursor_blink = False
        self._editor.display = False
        self.border_title = Content("todos")
        self.items: tuple[Todo, ...] = ()
        self.selected: int | None = None
        """The id of the item that keys act on."""
        self._editing: int | None = None
        """The id of the item whose title is being written; 0 for a new one."""
        self._armed: int | None = None
        """The completed item that a second d removes."""
        self._await_new = False
        self._keys: Mapping[str, Callable[[], object]] = {
            "up": lambda: self._go(-1),
            "down": lambda: self._go(1),
            "home": lambda: self._go(-len(self.items)),
            "end": lambda: self._go(len(self.items)),
            "space": lambda: self._ask("cycle"),
            "e": self._retitle,
            "a": self._add,
            "d": self._remove,
            "J": lambda: self._ask("down"),
            "K": lambda: self._ask("up"),
            "escape": self._leave,
        }

    def compose(self) -> ComposeResult:
        """The items above and below the title being written, which comes with the first one."""
        yield self._above
        yield self._below

    def on_mount(self) -> None:
        """Show that the list is empty."""
        self.show(())

    @property
    def filled(self) -> bool:
        """Whether there is anything to do, or was."""
        return bool(self.items)

    def show(self, items: "Sequence[Todo]") -> None:
        """Replace the list, and keep in view what the person looks at, else the item in progress."""
        before = [item.id for item in self.items]
        self.items = tuple(items)
        if bool(before) != self.filled:
            self.post_message(ColumnChanged())
        self._select_among([item.id for item in items], before)
        self._draw()
        running = next((item.id for item in items if item.status == "in-progress"), None)
        self._keep_in_view(self.selected if self._has_keys else running)

    def _select_among(self, ids: list[int], before: list[int]) -> None:
        """Keep the selection, or take the neighbour of an item that went, or an awaited new one."""
        new = [id_ for id_ in ids if id_ not in before]
        if self._await_new and new:
            self.selected, self._await_new = new[-1], False
        elif self.selected not in ids:
            self.selected = _neighbour(self.selected, before, ids)
        if self._armed not in ids:
            self._armed = None
        if self._editing and self._editing not in ids:
            self._end_edit()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show which item the keys are about; without them nothing is about to be removed any more."""
        super().watch_has_focus(has_focus)
        if not has_focus:
            self._armed = None
        elif self._editing is not None:
            self.screen.set_focus(self._editor)
        self._draw()
        if has_focus:
            self._keep_in_view(self.selected)

    def takes(self, key: str) -> bool:
        """Handle a key of the list at once: the next key may be for a title."""
        if self._editing is not None:
            return False
        if key in self._keys:
            armed, self._armed = self._armed, None
            if key == "d":
                self._armed = armed
            if key != "escape" or armed is None:
                self._keys[key]()
            self._draw()
            return True
        return False

    def on_key(self, event: events.Key) -> None:
        """Handle Esc while a title is written: the title stays unchanged."""
        if self._editing is not None and event.key == "escape":
            event.stop()
            event.prevent_default()
            self._end_edit()
            self.screen.set_focus(self)

    def _written(self, value: str) -> None:
        """The title is complete: ask for the change, unless it is empty."""
        title, editing = value.strip(), self._editing
        self._end_edit()
        self.screen.set_focus(self)
        if not title or editing is None:
            return
        self._await_new = editing == 0
        self.post_message(TodoEditAsked("retitle" if editing else "add", editing, title))

    def on_input_changed(self, event: LineInput.Changed) -> None:
        """Stop the event at this panel."""
        event.stop()

    @property
    def _has_keys(self) -> bool:
        return self.has_focus or self._editor.has_focus

    def _go(self, by: int) -> None:
        ids = [item.id for item in self.items]
        if self.selected in ids:
            at = ids.index(self.selected) + by
            self.selected = ids[max(0, min(at, len(ids) - 1))]
            self._keep_in_view(self.selected)

    def _ask(self, kind: 'Literal["cycle", "remove", "up", "down"]') -> None:
        if self.selected is not None:
            self.post_message(TodoEditAsked(kind, self.selected))

    def _remove(self) -> None:
        item = self._item(self.selected)
        if item is None:
            return
        if item.status == "completed" and self._armed != item.id:
            self._armed = item.id
            return
        self._armed = None
        self._ask("remove")

    def _retitle(self) -> None:
        item = self._item(self.selected)
        if item is not None:
            self._edit(item.id, item.title)

    def _add(self) -> None:
        self._edit(0, "")

    def _leave(self) -> None:
        # At once: keys typed directly after it are not for the list.
        self.screen.set_focus(None)
        self.post_message(ActionAsked("leave_todos"))

    def _edit(self, id_: int, title: str) -> None:
        from sam_tui.core.todos.rules import MAX_TITLE

        self._editing = id_
        if not self._editor.is_attached:
            self.mount(self._editor, after=self._above)
        self._editor.max_length = MAX_TITLE
        self._editor.value = title
        self._editor.cursor_position = len(title)
        self._editor.display = True
        self.screen.set_focus(self._editor)
        self._draw()
        self.call_after_refresh(self._editor.scroll_visible, animate=False)

    def _end_edit(self) -> None:
        self._editing = None
        self._editor.display = False
        self._draw()

    def _item(self, id_: int | None) -> "Todo | None":
        return next((item for item in self.items if item.id == id_), None)

    def _lines(self) -> list[Content]:
        marked = self.selected if self.has_focus and self._editing is None else None
        return [todo_line(item, selected=item.id == marked) for item in self.items]

    def _draw(self) -> None:
        lines, cut = self._lines(), len(self.items)
        if self._editing:
            cut = next(i for i, item in enumerate(self.items) if item.id == self._editing)
        below = lines[cut + 1 :]
        if not lines and self._editing is None:
            words = "Nothing to do yet." + (" Press a to add." if self.has_focus else "")
            lines = [Content(words).stylize("$text-muted")]
            cut = 1
        self._above.update(Content("\n").join(lines[:cut]))
        self._above.display = cut > 0
        self._below.update(Content("\n").join(below))
        self._below.display = bool(below)
        self.border_subtitle = Content(self._subtitle())

    def _subtitle(self) -> str:
        if self._editing is not None:
            return "Enter saves · Esc cancels"
        if self._armed is not None:
            return "done: d again removes it"
        done, total = done_of(self.items)
        return f"{done} of {total} done" if total else ""

    def _keep_in_view(self, id_: int | None) -> None:
        width = self.scrollable_content_region.width
        top = 0
        for item, line in zip(self.items, self._lines(), strict=True):
            height = line.get_height({}, width) if width else 1
            if item.id == id_:
                self.scroll_to_region(Region(0, top, max(1, width), height), animate=False)
                return
            top += height


def _neighbour(id_: int | None, before: list[int], ids: list[int]) -> int | None:
    """The present item that is nearest to where a removed one was."""
    at = before.index(id_) if id_ in before else 0
    return ids[min(at, len(ids) - 1)] if ids else None
