"""Messages from a terminal, or a program in it, to the workbench."""

from typing import TYPE_CHECKING, Literal

from textual.message import Message

from sam_tui.ui.widgets.terminal.canvas import TerminalCanvas

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import ClipboardRequest
    from sam_tui.core.ports.processes.terminals import TerminalSession

TerminalWish = Literal[
    "clipboard", "link", "copy", "send", "pager", "editor", "bell", "title", "colours", "end"
]


class RestartAsked(Message):
    """Enter was pressed in a terminal whose program ended."""

    def __init__(self, view: TerminalCanvas) -> None:
        super().__init__()
        self.view = view


class TerminalAsked(Message):
    """A terminal, or its program, wants something of the workbench.

    ``clipboard`` comes with the request, ``link`` with the address, ``copy``, ``send``, ``pager`` and
    ``editor`` with the text (empty: the present one); ``bell``, ``title``, ``colours`` and ``end`` (of
    the command that runs) with nothing.
    """

    def __init__(
        self, view: TerminalCanvas, what: TerminalWish, value: "str | ClipboardRequest" = ""
    ) -> None:
        super().__init__()
        self.view = view
        self.what: TerminalWish = what
        self.value = value


class SessionChanged(Message):
    """A view shows another session now, or none; or the keys came or went."""

    def __init__(self, view: TerminalCanvas) -> None:
        super().__init__()
        self.view = view


class ShellDropped(Message):
    """The person closed the tab of a shell that is still there."""

    def __init__(self, session: "TerminalSession") -> None:
        super().__init__()
        self.session = session


class Relabelled(Message):
    """The label of a view changed."""


class Fitted(Message):
    """A view got its size; a new one has none before its first layout."""
