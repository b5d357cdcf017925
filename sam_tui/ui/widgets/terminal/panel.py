"""The terminals of the side column, as tabs: the person's shells, and the agent's sessions."""

from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher

from sam_tui.ui.messages import ActionAsked, ColumnChanged
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.terminal.view import TerminalView

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.recordings import FollowedOutput, Playback
    from sam_tui.core.ports.processes.terminals import TerminalSession
    from sam_tui.ui.widgets.terminal.replay import CommandView, ReplayView

MOST_TABS = 20
_NAME = 16
_BESIDE = 4
"""The cells of the border beside its text."""
_BADGE = 8
"""The least columns for the reason why the person has the terminal."""
_TITLE_AT = 3
"""The column of the border's title: after the corner, a line and a space."""
_NEWS_MARKS = {"output": "•", "bell": "!"}
_WITH_KEYS, _WITHOUT_KEYS = "$background on $primary", "$foreground on $border-blurred"
_CLOSE, _NEW = "×", " + "


class ShellWanted(Message):
    """The person looks at a shell's tab, and no shell runs in it."""

    def __init__(self, view: TerminalView) -> None:
        super().__init__()
        self.view = view


View = TypeVar("View", bound=TerminalView)


class TerminalPanel(Vertical):
    """Shows one of its tabs; their names stand in the border, where a click chooses one.

    ``shell`` is the first of the person's, ``agent`` the agent's own; more come and go. The agent's
    is a tab as long as it holds a session.
    """

    def __init__(self) -> None:
        super().__init__(id="terminals")
        self._made = 0
        self._was_filled = False
        self.shell = self._view(shell=True, id="shell")
        self.agent = self._view(shell=False, id="agent")
        self.names: dict[str, str] = {}
        """The names that the person gave to tabs, by the id of the view."""
        self._shells = [self.shell]
        self._agents = [self.agent]
        self._replays: list[ReplayView] = []
        self._commands: list[CommandView] = []
        self._current = self.shell
        self._switcher = ContentSwitcher(self.shell, initial="shell")
        self._places: list[tuple[int, int, TerminalView | None, bool]] = []

    @property
    def current(self) -> TerminalView:
        """The view on show."""
        return self._current

    @property
    def tabs(self) -> list[TerminalView]:
        """All tabs in the order of the border."""
        agents = [v for v in self._agents if v.session is not None or v is self._current]
        return [*self._shells, *agents, *self._commands, *self._replays]

    @property
    def filled(self) -> bool:
        """Whether any tab has a session, a command or a recording."""
        return bool(self._replays) or any(view.session is not None for view in self.tabs)

    def owned(self, view: TerminalView) -> bool:
        """Whether a view is one of the person's shells."""
        return view in self._shells

    def name_of(self, view: TerminalView) -> str:
        """The name of a tab."""
        kind = "shell" if self.owned(view) else view.name_shown or "agent"
        return self.names.get(view.id or "", kind)

    def compose(self) -> ComposeResult:
        """A switcher over all views; the agent's comes with its first session."""
        yield self._switcher

    def on_mount(self) -> None:
        """Name the tabs."""
        self._name_tabs()

    def on_resize(self, event: events.Resize) -> None:
        """Start a shell once the panel is high enough."""
        if event.size.height > 2:
            self._want_shell()
        self._name_tabs()

    def on_fitted(self) -> None:
        """A tab has room now: if a shell was wanted there before, it is now."""
        self._want_shell()

    def on_click(self, event: events.Click) -> None:
        """A click on the border's names: chooses, closes or opens."""
        if event.widget is self:  # not a view's, whose first row is its own
            self._clicked(event, closes=False)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The middle button closes."""
        if event.button == 2:  # views stop theirs
            self._clicked(event, closes=True)

    def _clicked(self, event: events.MouseEvent, *, closes: bool) -> None:
        for start, stop, view, on_cross in self._places:
            if event.y == 0 and start <= event.x < stop:
                event.stop()
                if view is None:
                    self.post_message(ActionAsked("tab_new"))
                    return
                self.show(view)
                if closes or on_cross:
                    self.post_message(ActionAsked("tab_close"))
                return

    # ---- which tab

    def show(self, view: TerminalView) -> None:
        """Bring a tab to the front; the focus goes along."""
        # Not ``has_focus``, which comes later: the tab before may have got the keys just now.
        focused = self.screen.focused is self._current
        self._current = view
        self._switcher.current = view.id
        if focused:
            self.screen.set_focus(view)
        if view.looked_at:
            view.mark_seen()
        self._name_tabs()
        self._want_shell()

    def step(self, by: int) -> None:
        """Show the next tab, or one so many further, around the ends."""
        tabs = self.tabs
        self.show(tabs[(tabs.index(self._current) + by) % len(tabs)])

    def pick(self, name: str) -> bool:
        """Show the tab with this number or name. False if there is none."""
        for number, view in enumerate(self.tabs, 1):
            if name in (str(number), self.name_of(view)):
                self.show(view)
                return True
        return False

    def rename(self, name: str) -> None:
        """Name the shown tab; an empty name restores its own."""
        name = one_line(name, _NAME)
        if name:
            self.names[self._current.id or ""] = name
        else:
            self.names.pop(self._current.id or "", None)
        self._name_tabs()

    def add_shell(self) -> TerminalView | None:
        """Another tab for a shell, on show; None when there are too many."""
        if len(self.tabs) >= MOST_TABS:
            return None
        view = self._view(shell=True)
        self._shells.append(view)
        self._mount(view)
        self.show(view)
        return view

    def add_replay(self, playback: "Playback", path: str) -> "ReplayView | None":
        """A tab that plays a recording, on show; None when there are too many."""
        if len(self.tabs) >= MOST_TABS:
            return None
        # Most never play one.
        from sam_tui.ui.widgets.terminal.replay import ReplayView

        self._made += 1
        view = ReplayView(playback, path, self.drop, id=f"replay-{self._made}")
        self._replays.append(view)
        self._mount(view)
        self.show(view)
        return view

    def add_command(self, output: "FollowedOutput", command: str) -> "CommandView | None":
        """Add a tab for the output of a command of the agent, in place of an ended one; None if there
        are too many. It is displayed unless the person is in another."""
        from sam_tui.ui.widgets.terminal.replay import CommandView

        for view in [view for view in self._commands if view.over and not view.has_focus]:
            self.drop(view)
        if len(self.tabs) >= MOST_TABS:
            return None
        self._made += 1
        view = CommandView(output, command, id=f"command-{self._made}")
        self._commands.append(view)
        self._mount(view)
        if not self._current.has_focus:
            self.show(view)
        self._name_tabs()
        return view

    def drop(self, view: TerminalView) -> None:
        """Take a tab away; its session is let go, not ended. The first of each kind stays, empty."""
        if view is self._current:
            tabs = self.tabs
            at = tabs.index(view)
            self.show(tabs[at - 1] if at else tabs[1 % len(tabs)])
        view.detach()
        view.refresh()
        self.names.pop(view.id or "", None)
        if view not in (self.shell, self.agent):
            self._shells = _without(self._shells, view)
            self._agents = _without(self._agents, view)
            self._commands = _without(self._commands, view)
            self._replays = _without(self._replays, view)
            view.remove()
        self._name_tabs()
        self._want_shell()

    # ---- the agent's

    def show_agent(self, session: "TerminalSession") -> None:
        """The agent opened a terminal: show it, unless the person is typing into another."""
        holder = next((view for view in self._agents if view.session is session), None)
        if holder is None:
            holder = next((v for v in self._agents if v.session is None or v.ended), None)
            if holder is None:
                holder = self._view(shell=False)
                self._agents.append(holder)
            if not holder.is_attached:
                self._mount(holder)
            holder.attach(session)
        if not self._current.has_focus:
            self.show(holder)
        self._name_tabs()

    def forget_agent(self) -> None:
        """Remove the terminals of the conversation that was on show before."""
        for view in [*self._agents, *self._commands]:
            if view.session is not None or view in self._commands:
                self.drop(view)
        if self._current in self._agents:
            self.show(self.shell)

    # ---- the border

    def on_relabelled(self) -> None:
        """A view has something new to say."""
        self._name_tabs()

    def _name_tabs(self) -> None:
        if self._was_filled != self.filled:
            self._was_filled = self.filled
            self.post_message(ColumnChanged())
        view = self._current
        text, style = view.badge
        recording = "● rec " if view.recording else ""
        between = " · " if text and view.label else ""
        room = self.size.width - _BESIDE - cell_len(recording + between + view.label)
        # The reason is cut, because the person needs the keys.
        text = one_line(text, max(_BADGE, room))
        badge = [(recording, "$error"), (text, style), (between, "$text-muted")]
        self.border_subtitle = Content.assemble(*badge, view.label)
        tabs = self.tabs
        room = max(10, self.size.width - 6 - cell_len(_NEW))
        first = tabs.index(view)
        last = first + 1
        used = cell_len(self._words(view, tabs))
        # As many neighbours of the one on show as fit, the earlier ones first.
        while first > 0 and used + (more := cell_len(self._words(tabs[first - 1], tabs))) <= room:
            first, used = first - 1, used + more
        while last < len(tabs) and used + (more := cell_len(self._words(tabs[last], tabs))) <= room:
            last, used = last + 1, used + more
        self._write_title(tabs, first, last)

    def _write_title(self, tabs: list[TerminalView], first: int, last: int) -> None:
        parts: list[tuple[str, str]] = []
        self._places = []
        at = _TITLE_AT
        if first > 0:
            parts.append(("‹", "$text-muted"))
            at += 1
        for tab in tabs[first:last]:
            words = self._words(tab, tabs)
            current = tab is self._current
            bell = tab.news == "bell"
            style = self._shown_style if current else "$warning" if bell else "$text-muted"
            parts.append((words, style))
            end = at + cell_len(words)
            if words.endswith(f"{_CLOSE} "):
                self._places.append((end - 2, end, tab, True))
            self._places.append((at, end, tab, False))
            at = end
        if last < len(tabs):
            parts.append(("›", "$text-muted"))
            at += 1
        parts.append((_NEW, "$text-muted"))
        self._places.append((at, at + cell_len(_NEW), None, False))
        self.border_title = Content.assemble(*parts)

    @property
    def _shown_style(self) -> str:
        """The style of the name of the displayed tab, with the focus and without."""
        return _WITH_KEYS if self._current.has_focus else _WITHOUT_KEYS

    def _words(self, view: TerminalView, tabs: list[TerminalView]) -> str:
        """Return the border's words on a tab: number, name, news since it was hidden, how to close it."""
        number = f"{tabs.index(view) + 1} " if len(tabs) > 1 else ""
        mark = _NEWS_MARKS.get(view.news, "")
        close = f" {_CLOSE}" if view is self._current and len(tabs) > 1 else ""
        return f" {number}{self.name_of(view)}{mark}{close} "

    # ---- views

    def _view(self, *, shell: bool, id: str = "") -> TerminalView:
        self._made += 1
        waiting = "Your shell opens here." if shell else "The agent has opened no terminal."
        return TerminalView(waiting=waiting, restartable=shell, id=id or f"terminal-{self._made}")

    def _mount(self, view: TerminalView) -> None:
        view.display = False
        self._switcher.mount(view)

    def _want_shell(self) -> None:
        view = self._current
        if self.owned(view) and view.session is None and self.size.height > 2:
            self.post_message(ShellWanted(view))


def _without(views: list[View], gone: TerminalView) -> list[View]:
    return [view for view in views if view is not gone]
