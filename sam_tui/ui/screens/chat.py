"""The main screen: transcript over prompt, todos over terminal, status below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingsMap
from textual.containers import Container, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from sam_tui.ui.activity import ActivityLine
from sam_tui.ui.messages import ColumnChanged
from sam_tui.ui.screens.layout import Layout
from sam_tui.ui.transcript import Transcript
from sam_tui.ui.widgets.prompt import PromptBox
from sam_tui.ui.widgets.status_bar import Standing, StatusBar
from sam_tui.ui.widgets.terminal.panel import TerminalPanel
from sam_tui.ui.widgets.terminal.view import TerminalView
from sam_tui.ui.widgets.todo_panel import TodoPanel

if TYPE_CHECKING:
    from sam_tui.ui.widgets.inquiries.panel import InquiryPanel
    from sam_tui.ui.widgets.search_bar import SearchBar
    from sam_tui.ui.widgets.tab_strip import TabLabel, TabStrip

_LEAST_WIDTH, _LEAST_HEIGHT = 40, 10


def writes(widget: Widget | None) -> bool:
    """Whether a widget accepts text."""
    return isinstance(widget, Input) or (isinstance(widget, TextArea) and not widget.read_only)


def _typed(key: events.Key) -> str:
    """The character that a key writes; empty for a key that does something."""
    does = key.key.partition("+")[0] in ("ctrl", "alt", "super", "meta", "hyper")
    return key.character or "" if key.is_printable and not does else ""


class Returned(Message):
    """The chat is on top again."""


class ChatScreen(Screen[None], inherit_bindings=False):
    """Holds the widgets, and decides which of them have room on the terminal."""

    AUTO_FOCUS = "#prompt"

    def __init__(
        self, standing: Standing, activity: ActivityLine, layout: Layout, keys: Sequence[Binding]
    ) -> None:
        super().__init__()
        self._layout = layout
        around = Binding("tab", "app.focus_next", show=False)
        self._bindings = BindingsMap([*keys, around])  # those of a class are the same for everybody
        self.transcript = Transcript(id="transcript", classes="-said" if layout.reader else None)
        self.prompt = PromptBox()
        self.bottom = Vertical(self.prompt, id="bottom")
        self.left = Vertical(self.transcript, self.bottom, id="left")
        self.strip: TabStrip | None = None
        """The tabs of the window, if it has several conversations."""
        self.todos = TodoPanel()
        self.terminals = TerminalPanel()
        self.side = Vertical(self.todos, self.terminals, id="side")
        self.status = StatusBar(standing, activity)
        too_small = f"sam needs at least {_LEAST_WIDTH} columns and {_LEAST_HEIGHT} rows."
        self._too_small = Static(Content(too_small), markup=False, id="too-small")
        self._question: InquiryPanel | None = None
        """The question that replaces the prompt until it is answered."""
        self._side_now = False
        """Whether the side column opened only because the person went there."""
        self._search: SearchBar | None = None
        self._side_over = False
        self._zoomed = False
        self._typed_in: TerminalView | None = None
        """The terminal that had the focus when the screen became too small; it gets it back."""
        self._resumed = False

    def compose(self) -> ComposeResult:
        """The layout; ``app.tcss`` gives the sizes."""
        self._lay_out()
        with Container(id="body"):
            yield self.left
            yield self.side
        yield self.status

    @property
    def focus_chain(self) -> list[Widget]:
        """The widgets that Tab visits: not the terminals, whose programs get Tab."""
        return [w for w in super().focus_chain if not isinstance(w, TerminalView)]

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Give the keys to a widget; not while the app ends, when Textual removes one after the other."""
        if self.app.is_running:  # pyright: ignore[reportUnknownMemberType]
            super().set_focus(widget, scroll_visible, from_app_focus)

    @property
    def narrow(self) -> bool:
        """Whether the window has room for only one of transcript and side column."""
        # The window's before the first layout, so that nothing gets other styles with it.
        columns = self.size.width or self.app.size.width  # pyright: ignore[reportUnknownMemberType]
        return self._zoomed or self._layout.takes_turns(columns)

    @property
    def layout_wish(self) -> Layout:
        """The person's choice of how the screen is divided."""
        return self._layout

    @property
    def side_shown(self) -> bool:
        """Whether todos or terminal are to be seen."""
        if self.narrow:
            return self._side_over
        wish = self._layout.side
        filled = self.todos.filled or self.terminals.filled
        return self._side_now or wish == "show" or (wish == "auto" and filled)

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout for the size."""
        was_small = self.has_class("-too-small")
        small = self._set_too_small(event.size)
        if self.narrow and not self.has_class("-narrow"):
            # The focus moves from a hidden column to the visible part.
            self._side_over = self._works_in_side
        self._lay_out()
        if small and not was_small and isinstance(self.focused, TerminalView):
            self._typed_in = self.focused
        elif was_small and not small:
            self._go_on()

    def _set_too_small(self, size: Size) -> bool:
        """Say that the window is too small, where it is; whether it is."""
        least = 1 if self._layout.inline else _LEAST_HEIGHT
        small = size.width < _LEAST_WIDTH or size.height < least
        if small and not self._too_small.is_attached:
            self.mount(self._too_small, before=0)
        self.set_class(small, "-too-small")
        return small

    def _go_on(self) -> None:
        """Return the focus to the widget that had it before the screen was too small."""
        view, self._typed_in = self._typed_in, None
        if view is None or not view.is_attached:
            self.focus_bottom()
            return
        if not self.side_shown:
            self.show_side(True)
        self.set_focus(view)

    def on_column_changed(self, event: ColumnChanged) -> None:
        """The side column got its first content, or lost its last."""
        event.stop()
        works = self._works_in_side
        self._lay_out()
        if works and not self.side_shown:
            self.focus_bottom()

    def divide(self, layout: Layout) -> None:
        """Divide the screen as the person wants it from now on."""
        if layout.side != self._layout.side or layout.kind != self._layout.kind:
            self._side_now = self._side_over = self._zoomed = False
        self._layout = layout
        self.on_column_changed(ColumnChanged())

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Announce that the screen is shown again; at the first time its styles are made already."""
        event.refresh_styles = event.refresh_styles and self._resumed
        self._resumed = True
        self.post_message(Returned())

    def show_side(self, visible: bool) -> None:
        """Show or hide the side column, as the width has it."""
        if self._zoomed and not visible:
            self._zoomed = False
            self._side_over = False
        elif self.narrow:
            self._side_over = visible
        else:
            self._side_now = visible
        left = not visible and self._works_in_side
        self._lay_out()
        if left:
            self.focus_bottom()

    def show_conversation(self) -> None:
        """Close a side column that covers the transcript, unless it has the focus."""
        if self.narrow and self._side_over and not self._works_in_side:
            self.show_side(False)

    def zoom(self) -> None:
        """Give the terminal the whole width, or the transcript its place back."""
        self._zoomed = not self._zoomed
        self._side_over = self._zoomed
        self._side_now = True
        self._lay_out()
        if self._zoomed:
            self.set_focus(self.terminals.current)
        elif self._works_in_side and not self.side_shown:
            self.focus_bottom()

    def gives(self, event: events.Key | events.Paste) -> bool:
        """Pass a key or paste to the focused terminal or list; False if the workbench should handle it.

        This happens at once, so that no key typed next goes to the widget that had the focus before.
        """
        view = self.focused or self._typed_in
        if view is None or not view.is_attached:
            self.focus_bottom()
            view = self.focused
        if isinstance(view, TodoPanel):
            return isinstance(event, events.Key) and view.takes(event.key)
        if not isinstance(view, TerminalView):
            return False
        if isinstance(event, events.Key):
            return view.takes(event)
        if view.TAKES_TEXT:
            view.paste(event.text)
        return view.TAKES_TEXT

    def lead(self, event: events.Key | events.Paste) -> bool:
        """Move text to the prompt wherever the focus is, unless the focused widget takes it.

        True if it is in the prompt already, because a question hides the prompt.
        """
        text = event.text if isinstance(event, events.Paste) else _typed(event)
        if not text or self._taken(event):
            return False
        if self.prompt.display:
            self.set_focus(self.prompt.area)
            return False
        self.prompt.area.paste(text)
        return True

    def only_writes(self, event: events.Key | events.Paste, widget: Widget | None) -> bool:
        """Whether the event only adds text to this widget; an empty prompt has keys with other meanings."""
        if widget is self.prompt.area and not self.prompt.area.plain:
            return False
        return writes(widget) and (isinstance(event, events.Paste) or bool(_typed(event)))

    def _taken(self, event: events.Key | events.Paste) -> bool:
        """Whether the focused widget takes this text, as input or as one of its own keys."""
        focused = self.focused
        if writes(focused) or (isinstance(focused, TerminalView) and focused.TAKES_TEXT):
            return True
        if focused is None or isinstance(event, events.Paste):
            return False
        return self._asks

    def leads_on(self, key: str) -> bool:
        """Whether the focused widget lets the workbench handle a key that moves the focus."""
        return not self._asks or self._question is None or self._question.leaves(key)

    @property
    def needs_room(self) -> bool:
        """Whether the screen has to show more than the prompt and running work."""
        return self._question is not None or self._search is not None or self.side_shown

    @property
    def _asks(self) -> bool:
        """Whether a question has the focus."""
        focused = self.focused
        return focused is not None and any(
            widget.has_class("inquiry") for widget in focused.ancestors_with_self
        )

    def search(self, words: str) -> None:
        """Search the transcript with a line over the prompt, which gets the keys."""
        from sam_tui.ui.widgets.search_bar import SearchBar  # no first frame has one

        if self._search is None:
            self.show_transcript()
            self._search = SearchBar(self.transcript, words)
            self.bottom.mount(self._search, before=0)
        self._search.line.value = words or self._search.line.value
        # Once it is mounted: keys typed directly after the first one are for the line.
        self.call_after_refresh(self.set_focus, self._search.line)

    def leave_search(self) -> None:
        """Close the search line; the focus goes to the transcript, whose cursor is at the hit."""
        if self._search is not None:
            self._search.remove()
            self._search = None
            self.transcript.mark_matches(None, None)
            self.set_focus(self.transcript)

    def put_transcript(self, transcript: Transcript) -> None:
        """Show another conversation's transcript in place of the one there is, which goes on behind."""
        self.leave_search()
        focused = self.focused is self.transcript
        if not transcript.is_attached:
            self.left.mount(transcript, before=self.bottom)
        self.transcript.add_class("-behind")
        transcript.remove_class("-behind")
        self.transcript = transcript
        if focused:
            self.focus_bottom()

    def name_tabs(self, labels: "Sequence[TabLabel]") -> None:
        """Name the conversations of the window above the transcript; one alone needs no name."""
        if self.strip is None:
            from sam_tui.ui.widgets.tab_strip import TabStrip  # no first frame has one

            self.strip = TabStrip()
            self.left.mount(self.strip, before=0)
        self.strip.display = len(labels) > 1
        self.strip.show_tabs(labels)

    def show_transcript(self) -> None:
        """Close the side column if it covers the transcript."""
        if self.narrow and self.side_shown:
            self.show_side(False)

    def focus_bottom(self) -> None:
        """Give the keys to the question, or else to the prompt."""
        self._typed_in = None
        if self._question is not None:
            self._question.take_focus()
        else:
            # At once: ``Widget.focus`` comes later, and takes the keys from what got them meanwhile.
            self.set_focus(self.prompt.area)

    def show_question(self, panel: "InquiryPanel") -> None:
        """Show a question in place of the prompt, where it may have stood before."""
        self._question = panel
        self.prompt.display = False
        if panel.is_attached:
            panel.display = True
        else:
            self.bottom.mount(panel)

    def put_question_behind(self, panel: "InquiryPanel") -> None:
        """Show the prompt again; the question keeps the text written in it."""
        focused = self.focused is not None and panel in self.focused.ancestors_with_self
        self._question = None
        panel.display = False
        self.prompt.display = True
        if focused:
            self.set_focus(self.prompt.area)

    def remove_question(self, panel: "InquiryPanel") -> None:
        """Show the prompt again; it gets the keys that the question had."""
        had_focus = self.focused is None or panel in self.focused.ancestors_with_self
        self._question = None
        panel.remove()
        self.prompt.display = True
        if had_focus:
            self.set_focus(self.prompt.area)

    def leave_terminal(self) -> None:
        """The keys go on from a terminal that gave them away, unless something got them since."""
        if self.focused is None:
            self.focus_bottom()

    @property
    def _works_in_side(self) -> bool:
        """Whether todos or terminal have the focus."""
        return self.todos.has_focus_within or self.terminals.has_focus_within

    def _lay_out(self) -> None:
        for_terminal = self._side_now or self._side_over or self._layout.side == "show"
        self.update_classes({
            "-narrow": self.narrow,
            "-side-over": self.narrow and self._side_over,
            "-no-side": not self.side_shown,
            "-zoom": self._zoomed,
            "-focus": self._layout.kind == "focus",
            "-no-terminals": not (for_terminal or self.terminals.filled),
        })
        if not self.narrow:
            self.side.styles.width = f"{self._layout.width}%"
        elif self.side.styles.has_rule("width"):
            self.side.styles.clear_rule("width")
