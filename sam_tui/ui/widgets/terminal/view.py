"""One terminal session to work in: drawn, typed into, clicked, looked back through."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events

from sam_tui.core.errors import ToolError
from sam_tui.ui.messages import ActionAsked
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.terminal import border, messages
from sam_tui.ui.widgets.terminal.mouse import Pointer, Wheel
from sam_tui.ui.widgets.terminal.repeated_keys import LEAVE, Chord, Interrupting
from sam_tui.ui.widgets.terminal.scrollback import TerminalPast

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import ClipboardRequest, ShownSession
    from sam_tui.core.ports.processes.terminals import TerminalSession


ZOOM = "f6"
_WITHOUT_FULL_SCREEN = ("shift+pageup", "shift+pagedown", ZOOM)
"""Keys that the workbench handles unless a full-screen program runs."""
_MOST_AHEAD = 1000
"""The most keys that wait for a shell to start."""
_LONGEST_KEY = 64  # bytes; longer input was pasted


class TerminalView(TerminalPast, can_focus=True):
    """A terminal under the person's hands.

    ``restartable`` says whether Enter may restart an ended program; then ``RestartAsked`` is posted.
    """

    WAY_OUT = "terminal: Ctrl+] twice leaves"
    """The hint how to leave the terminal, shown while it has the focus."""
    TAKES_TEXT = True
    """Whether typed and pasted text goes to the program."""

    def __init__(self, *, waiting: str, restartable: bool, id: str) -> None:
        super().__init__(waiting=waiting, id=id)
        self.session: TerminalSession | None = None
        self.label = ""
        """The title of the border."""
        self.badge: tuple[str, str] = ("", "")
        """Text and style before the label, such as who controls the session."""
        self.name_shown = ""
        """The name of its tab, unless it is a shell or the agent's terminal."""
        self.recording = False
        self.news = ""
        """``output`` or ``bell`` if something happened while the view was hidden."""
        self._restartable = restartable
        self._title = ""
        self._pointer = Pointer(self)
        self._chord = Chord(self, self._chord_key_alone)
        self._ahead: list[Callable[[], object]] = []
        """Input that was typed before a program ran."""
        self.interrupting = Interrupting(self)
        """Handles a Ctrl+C that the program ignores."""

    def attach(self, session: "TerminalSession") -> None:
        """Show this session from now on, and take the requests of its programs to the workbench."""
        self.detach()
        self.session = session
        self.draw(session)
        session.screen.on_bell(self._on_bell)
        session.screen.on_clipboard(self._clipboard_asked)
        self.post_message(messages.TerminalAsked(self, "colours"))
        self.post_message(messages.SessionChanged(self))
        ahead, self._ahead = self._ahead, []
        for give in ahead:
            give()

    def refuse(self) -> None:
        """No shell could be opened here: drop the waiting input, and let Enter try again."""
        self._ahead.clear()
        self.put_off("No shell could be opened: Enter tries again.")

    def detach(self) -> None:
        """Show nothing; the session goes on."""
        if self.session is not None:
            self.session.screen.on_bell(None)
            self.session.screen.on_clipboard(None)
            self.post_message(messages.SessionChanged(self))
        self.session = None
        self.undraw()

    def on_unmount(self) -> None:
        """Stop listening."""
        self.detach()

    def say(self, text: str, style: str = "$text-muted") -> None:
        """Show a short text before the label, such as who holds the session; an empty one removes it."""
        if (text, style) != self.badge:
            self.badge = (text, style)
            self.post_message(messages.Relabelled())

    def mark_recording(self, recording: bool) -> None:
        """Say in the border that it is recorded, or no longer."""
        self.recording = recording
        self.post_message(messages.Relabelled())

    # ---- the border

    def painted(self) -> None:
        """Keep the border true, and the title."""
        title = self.session.screen.title if self.session is not None else ""
        if title != self._title:
            self._title = title
            self.post_message(messages.TerminalAsked(self, "title"))
        self.say(*border.holder_badge(self.session))
        self.recording = self.recording and not self.ended
        if self.session is not None:
            self.interrupting.ended(self.session)
        label = self._words()
        if label != self.label:
            self.label = label
            self.post_message(messages.Relabelled())

    def unwatched(self) -> None:
        """Note that something was printed."""
        self._note("output")

    def mark_seen(self) -> None:
        """Clear the marks of news: the person looks."""
        if self.news:
            self.news = ""
            self.post_message(messages.Relabelled())

    def _note(self, what: str) -> None:
        if what != self.news and self.news != "bell":
            self.news = what
            self.post_message(messages.Relabelled())

    def _words(self) -> str:
        session = self.session
        if session is None:
            return ""
        if self.browser is not None:
            total, row = session.screen.scrollback.total, self.browser.position[1]
            return f"{row + 1}/{total} · {self.browser.words}"
        if self.hovered is not None:
            return f"Ctrl+click: {one_line(self.hovered[1][2], 60)}"
        if self.ended:
            return border.end_words(session) + (" · Enter restarts" if self._restartable else "")
        if self.interrupting.words:
            return self.interrupting.words
        if self.has_focus:
            ways = border.ways_out(session, chord_held=self._chord.pending)
            return ways + (" · scrolled" if self.scrolled else "")
        return border.ways_in(session) or one_line(session.screen.title, 40)

    def notify_style_update(self) -> None:
        """The look changed: so did the colours of cells that have none of their own."""
        super().notify_style_update()
        if self.session is not None and self.is_attached:
            self.post_message(messages.TerminalAsked(self, "colours"))

    # ---- size, focus

    def on_show(self) -> None:
        """Clear the mark of events that happened while the view was hidden."""
        self.mark_seen()
        super().on_show()

    def on_resize(self, event: events.Resize) -> None:
        """Pass the new size on to the program."""
        self._fit(event.size)
        self.redraw()
        self.post_message(messages.Fitted())

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show or hide cursor and exit hint; report the focus to a program that asked."""
        super().watch_has_focus(has_focus)
        if has_focus:
            self.mark_seen()
            self.stir()
        else:
            self._chord.release()
            self.still()
        self._report_focus(gained=has_focus)
        self.painted()
        self.refresh()

    def _report_focus(self, *, gained: bool) -> None:
        if self.session is not None and self.session.running:
            self.report(self.session.screen.input.focus(gained=gained))
        self.post_message(messages.TerminalAsked(self, "title"))
        self.post_message(messages.SessionChanged(self))
        self.post_message(messages.Relabelled())

    # ---- keys

    def takes(self, event: events.Key) -> bool:
        """Handle a key if it belongs to the terminal, before the workbench does; whether it did.

        All keys go to the program, except those of the leaving chord, of scrolling back and of zooming.
        """
        if event.key == LEAVE:
            self._leave_or_wait()
        elif self.browser is not None:
            self.browse(self.browser, event)
        elif self.session is None and not self._restartable:
            self._leave()
        elif self.ended:
            if event.key == "enter" and self._restartable:
                self.post_message(messages.RestartAsked(self))
        elif self.session is not None and border.watched_only(self.session):
            return self._takes_or_gives(self.session, event.key)
        elif event.key in _WITHOUT_FULL_SCREEN and not self._full_screen:
            self._chord.release()
            return self._scrolls(event.key)
        else:
            self._chord.release()
            self._press(event.key, event.character)
        return True

    def _scrolls(self, key: str) -> bool:
        """Look back, or forth again, by a page; False for the key that zooms."""
        if key == ZOOM:
            return False
        page = max(1, self.size.height - 1)
        self.scroll_lines(-page if key == "shift+pageup" else page)
        return True

    @property
    def _full_screen(self) -> bool:
        """Whether a program fills the screen: then there is nothing to look back to."""
        return self.session is not None and self.session.screen.alternate

    def _takes_or_gives(self, session: "TerminalSession", key: str) -> bool:
        """Handle the keys that change who types while nobody may; all other keys are the workbench's."""
        if key not in ("enter", "a"):
            return False
        session.turns.pass_to("person" if key == "enter" else "agent")
        self.painted()
        return True

    def _leave_or_wait(self) -> None:
        nobody = self.session is None and not self._restartable
        at_once = nobody or self.ended or border.watched_only(self.session)
        if at_once or self.browser is not None or self._chord.press():
            self.look_back(False)
            if self.session is not None and border.person_types(self.session):
                self.session.turns.pass_to("agent")
            self._leave()
        self.painted()

    def _leave(self) -> None:
        """Move the focus away at once: the next typed key is not for the program."""
        self.screen.set_focus(None)
        self.post_message(ActionAsked("leave_terminal"))

    def _chord_key_alone(self, followed: bool) -> None:
        """Pass the chord's first key to the program, unless it would change the meaning of the next key.

        A line editor would search for the next character: it gets the key only after the time limit, and
        a shell's prompt never.
        """
        session = self.session
        if session is not None:
            waited = not followed and session.activity.state.name != "finished"
            if self._full_screen or waited:
                self._press(LEAVE, None)
        self.painted()

    def _press(self, key: str, character: str | None) -> None:
        # Loaded with the session: by now the core is there anyway.
        from sam_tui.core.ports.processes.screens import KeyPress

        if self.session is None:
            self._later(lambda: self._press(key, character))
        elif self.session.running:
            # To the program in any case: a key is never eaten.
            self.type(self.session.screen.input.key(KeyPress(key, character)))
            if key == "ctrl+c" and self.interrupting.pressed(self.session):
                self.ask("end")

    def paste(self, text: str) -> None:
        """Pasted text goes in as a paste, so that a shell does not run it."""
        self._chord.release()
        if self.session is None:
            self._later(lambda: self.paste(text))
        elif self.session.running and self.browser is None:
            self.type(self.session.screen.input.paste(text))

    def _later(self, give: "Callable[[], object]") -> None:
        """Queue an action for the shell that is about to start here."""
        if self._restartable and not self.refused and len(self._ahead) < _MOST_AHEAD:
            self._ahead.append(give)

    def type(self, data: bytes) -> bool:
        """Send the program the person's input; False if there was nothing to send or no session."""
        if not data:
            return False
        self.to_newest()
        if self.marking is not None:
            self.mark(None)
        self.stir()
        return self.session is not None and self._give(self.session.type, data)

    def report(self, data: bytes) -> bool:
        """Send the program a report that it requested, such as of the mouse."""
        if not data or self.session is None:
            return False
        return self._give(self.session.report, data)

    def _give(self, send: "Callable[[bytes], None]", data: bytes) -> bool:
        """Send ``data``. If the program does not take it, ring, and notify of a paste. Always True."""
        try:
            send(data)
        except ToolError as error:
            self.app.bell()  # pyright: ignore[reportUnknownMemberType]
            if len(data) > _LONGEST_KEY:
                self.notify(f"Not pasted. {error.explain()}", severity="warning", markup=False)
        return True

    # ---- the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Pass the click to the program if it wants the mouse, else begin a mark."""
        event.stop()
        if self._pointed is not None:
            self._chord.release()
            self._pointer.pressed(self._pointed, event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Handle a drag, or the link that the pointer is over."""
        if self._pointed is not None:
            self._pointer.moved(self._pointed, event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The end of a drag."""
        if self._pointed is not None:
            self._pointer.released(self._pointed, event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Look back, unless the program takes the wheel."""
        self._roll(event, "wheel_up")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Look forward again, unless the program takes the wheel."""
        self._roll(event, "wheel_down")

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """For programs only."""
        self._roll(event, "wheel_left")

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """For programs only."""
        self._roll(event, "wheel_right")

    def on_leave(self) -> None:
        """The pointer is over nothing here."""
        self.hover(-1, -1)

    def _roll(self, event: events.MouseEvent, wheel: Wheel) -> None:
        event.stop()
        event.prevent_default()
        if self._pointed is not None:
            self._pointer.rolled(self._pointed, event, wheel)

    @property
    def _pointed(self) -> "ShownSession | None":
        """The session under the mouse; None while the view shows other cells than the screen's."""
        return self.displayed if self.origin == (0, 0) else None

    def ask(self, what: messages.TerminalWish, value: str = "") -> None:
        """Ask the workbench for something."""
        self.post_message(messages.TerminalAsked(self, what, value))

    def selected(self, text: str) -> None:
        """Store the selected text in the session, because the agent may ask for it."""
        if self.session is not None:
            self.session.selection = text

    def _clipboard_asked(self, request: "ClipboardRequest") -> None:
        self.post_message(messages.TerminalAsked(self, "clipboard", request))

    def _on_bell(self) -> None:
        if not (self.looked_at and self.has_focus):
            self._note("bell")
        self.post_message(messages.TerminalAsked(self, "bell"))
