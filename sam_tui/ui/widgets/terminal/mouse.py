"""The mouse over a terminal: it belongs to the program that wants it, else it marks and follows links."""

from typing import TYPE_CHECKING, Literal, Protocol

from textual import events
from textual.geometry import Size

from sam_tui.ui.widgets.terminal.cells import Link
from sam_tui.ui.widgets.terminal.selection import Kind, Marking

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import MouseInput, ShownSession
    from sam_tui.ui.widgets.terminal.browser import Browser

_AGAIN_WITHIN = 0.4
"""The most seconds between the clicks of a double click."""
_WHEEL_LINES = 3
_BUTTONS: dict[int, Literal["left", "middle", "right"]] = {1: "left", 2: "middle", 3: "right"}
_KINDS: dict[int, Kind] = {1: "cells", 2: "words", 3: "lines"}
Action = Literal["press", "release", "motion"]
Wheel = Literal["wheel_up", "wheel_down", "wheel_left", "wheel_right"]


class Pointed(Protocol):
    """A view of a terminal that the mouse is over."""

    marking: Marking | None
    browser: "Browser | None"

    @property
    def size(self) -> Size: ...
    def capture_mouse(self, capture: bool = True) -> None: ...
    def release_mouse(self) -> None: ...
    def type(self, data: bytes) -> bool: ...
    def report(self, data: bytes) -> bool: ...
    def link_at(self, x: int, y: int) -> Link | None: ...
    def follow(self, link: Link) -> None: ...
    def hover(self, x: int, y: int) -> None: ...
    def mark(self, marking: Marking | None) -> None: ...
    def remark(self) -> None: ...
    def copy_marked(self) -> None: ...
    def scroll_lines(self, lines: int) -> None: ...


class Pointer:
    """The mouse over one view. Shift keeps it from the program."""

    def __init__(self, view: Pointed) -> None:
        self._view = view
        self._held: Literal["program", "mark"] | None = None
        self._clicks = 0
        self._clicked: tuple[float, int, int] = (0.0, -1, -1)
        self._block = False

    def pressed(self, session: "ShownSession", event: events.MouseDown) -> None:
        """A button went down."""
        view = self._view
        if self._wanted(session, event):
            self._held = "program"
            view.capture_mouse()
            self._tell(session, event, "press")
            return
        if event.ctrl and event.button == 1:
            if link := view.link_at(event.x, event.y):
                view.follow(link)
            return
        if event.button != 1:
            return
        then, x, y = self._clicked
        again = event.time - then < _AGAIN_WITHIN and (x, y) == (event.x, event.y)
        self._clicks = self._clicks % 3 + 1 if again else 1
        self._clicked = (event.time, event.x, event.y)
        self._block = event.meta
        self._held = "mark"
        view.capture_mouse()
        view.mark(None)
        if self._clicks > 1:
            position = (event.x, session.screen.scrollback.top + event.y)
            view.mark(Marking(session.screen, _KINDS[self._clicks], position))

    def moved(self, session: "ShownSession", event: events.MouseMove) -> None:
        """The pointer moved, with or without a button held."""
        view, screen = self._view, session.screen
        if self._held == "program":
            self._tell(session, event, "motion")
            return
        if self._held == "mark":
            beyond = min(event.y, 0) or max(0, event.y - view.size.height + 1)
            if beyond:
                view.scroll_lines(beyond)
            position = (max(0, event.x), screen.scrollback.top + event.y - beyond)
            if view.marking is None:
                kind: Kind = "block" if self._block else "cells"
                _, x, y = self._clicked
                view.mark(Marking(screen, kind, (x, screen.scrollback.top + y)))
            if view.marking is not None:
                view.marking.move(position)
                view.remark()
            return
        view.hover(event.x, event.y)
        if screen.input.mouse_mode == "motion" and self._wanted(session, event):
            self._tell(session, event, "motion")

    def released(self, session: "ShownSession", event: events.MouseUp) -> None:
        """A button went up."""
        holder, self._held = self._held, None
        if holder is None:
            return
        self._view.release_mouse()
        if holder == "program":
            self._tell(session, event, "release")
        elif self._view.marking is not None:
            self._view.copy_marked()

    def rolled(self, session: "ShownSession", event: events.MouseEvent, wheel: Wheel) -> None:
        """The wheel: to the program, as cursor keys on an alternate screen, else through the past."""
        view = self._view
        free = view.browser is None and not event.shift and session.running
        mouse_event = self._given(event, "press", wheel)
        if free and view.type(session.screen.input.mouse(mouse_event)):
            return
        if wheel in ("wheel_up", "wheel_down"):
            view.scroll_lines(-_WHEEL_LINES if wheel == "wheel_up" else _WHEEL_LINES)

    def _wanted(self, session: "ShownSession", event: events.MouseEvent) -> bool:
        if event.shift or self._view.browser is not None or not session.running:
            return False
        return session.screen.input.mouse_mode != "none"

    def _tell(self, session: "ShownSession", event: events.MouseEvent, action: Action) -> None:
        mouse_event = self._given(event, action, _BUTTONS.get(event.button))
        encoded = session.screen.input.mouse(mouse_event)
        # A click is input as a key is; that the pointer moved is none.
        (self._view.type if action == "press" else self._view.report)(encoded)

    def _given(
        self,
        event: events.MouseEvent,
        action: Action,
        button: "Literal['left', 'middle', 'right'] | Wheel | None",
    ) -> "MouseInput":
        from sam_tui.core.ports.processes.screens import MouseInput

        return MouseInput(
            action,
            button,
            event.x,
            event.y,
            shift=event.shift,
            ctrl=event.ctrl,
            alt=event.meta,
        )
