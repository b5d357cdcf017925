"""The two terminals of the side column: the person's shell and the agent's."""

from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher

from sam_tui.ui.widgets.terminal_view import TerminalView

if TYPE_CHECKING:
    from sam_tui.core.ports.terminals import TerminalSession

Which = Literal["shell", "agent"]


class ShellWanted(Message):
    """The person looks at the shell tab, and no shell runs."""


class TerminalPanel(Vertical):
    """Shows one of the two; the border names both."""

    def __init__(self) -> None:
        super().__init__(id="terminals")
        self.shell = TerminalView(waiting="Your shell opens here.", restartable=True, id="shell")
        self.agent = TerminalView(
            waiting="The agent has opened no terminal.", restartable=False, id="agent"
        )
        self.shown: Which = "shell"
        self._switcher = ContentSwitcher(self.shell, self.agent, initial="shell")

    @property
    def current(self) -> TerminalView:
        """The view on show."""
        return self.shell if self.shown == "shell" else self.agent

    def compose(self) -> ComposeResult:
        """Both views, one visible."""
        yield self._switcher

    def on_mount(self) -> None:
        """Name the tabs."""
        self._title_tabs()

    def on_resize(self, event: events.Resize) -> None:
        """Once there is room for a shell there should be one."""
        if event.size.height > 2 and self.shown == "shell" and self.shell.session is None:
            self.post_message(ShellWanted())

    def on_click(self, event: events.Click) -> None:
        """A click on the border's names switches."""
        if event.y == 0:
            self.switch()

    def switch(self, to: "Which | None" = None) -> None:
        """Show the other one, or the one named; the focus goes along."""
        focused = self.current.has_focus
        self.shown = to or ("agent" if self.shown == "shell" else "shell")
        self._switcher.current = self.shown
        self._title_tabs()
        if focused:
            self.current.focus()
        if self.shown == "shell" and self.shell.session is None:
            self.post_message(ShellWanted())

    def show_agent(self, session: "TerminalSession") -> None:
        """The agent opened a terminal: show it, unless the person is typing into the shell."""
        self.agent.attach(session)
        if not self.shell.has_focus:
            self.switch("agent")
        self._title_tabs()

    def forget_agent(self) -> None:
        """Another conversation: its terminal is not this one's."""
        self.agent.detach()
        self.agent.refresh()
        if self.shown == "agent":
            self.switch("shell")
        self._title_tabs()

    def on_relabelled(self) -> None:
        """The view on show speaks for the border."""
        self.border_subtitle = Content(self.current.label)

    def _title_tabs(self) -> None:
        self.border_subtitle = Content(self.current.label)
        names = [
            (f" {name} ", "reverse" if name == self.shown else "$text-muted")
            for name in ("shell", "agent")
            if name == "shell" or self.agent.session is not None or self.shown == "agent"
        ]
        self.border_title = Content.assemble(*names)
