"""One terminal session to work in: drawn, typed into, clicked, looked back through."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events

from sam_tui.core.errors import ToolError
from sam_tui.ui.messages import ActionAsked
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.terminal_browser import Browser
from sam_tui.ui.widgets.terminal_canvas import TerminalCanvas
from sam_tui.ui.widgets.terminal_cells import Link
from sam_tui.ui.widgets.terminal_chord import LEAVE, Chord
from sam_tui.ui.widgets.terminal_holder import held, holder_badge
from sam_tui.ui.widgets.terminal_messages import Fitted, Relabelled, RestartAsked, TerminalAsked
from sam_tui.ui.widgets.terminal_pointer import Pointer, Wheel

if TYPE_CHECKING:
    from sam_tui.core.ports.screens import ClipboardRequest
    from sam_tui.core.ports.terminals import TerminalSession
    from sam_tui.ui.widgets.terminal_marks import Marking


class TerminalView(TerminalCanvas, can_focus=True):
    """A terminal under the person's hands.

    ``restartable`` says whether Enter may restart an ended program; then ``RestartAsked`` is posted.
    """

    def __init__(self, *, waiting: str, restartable: bool, id: str) -> None:
        super().__init__(waiting=waiting, id=id)
        self.label = ""
        """What the border around should say."""
        self.badge: tuple[str, str] = ("", "")
        """What stands before the label, such as who holds the session: text and style."""
        self.unseen = ""
        """``output`` or ``bell`` where something happened while nobody looked."""
        self._restartable = restartable
        self._scrolled = False
        self._title = ""
        self._pointer = Pointer(self)
        self._chord = Chord(self, self._chord_typed)

    def attach(self, session: "TerminalSession") -> None:
        """Show this session from now on, and hear what its programs ask of the workbench."""
        super().attach(session)
        session.screen.on_bell(self._rung)
        session.screen.on_clipboard(self._clipboard_asked)
        self.post_message(TerminalAsked(self, "colours"))

    def detach(self) -> None:
        """Show nothing; the session goes on."""
        if self.session is not None:
            self.session.screen.on_bell(None)
            self.session.screen.on_clipboard(None)
        super().detach()

    def say(self, text: str, style: str = "$text-muted") -> None:
        """Put a short word before the label, such as who holds the session; empty takes it away."""
        if (text, style) != self.badge:
            self.badge = (text, style)
            self.post_message(Relabelled())

    # ---- the border

    def painted(self) -> None:
        """Keep the border true, and the title."""
        title = self.session.screen.title if self.session is not None else ""
        if title != self._title:
            self._title = title
            self.post_message(TerminalAsked(self, "title"))
        self.say(*holder_badge(self.session))
        label = self._words()
        if label != self.label:
            self.label = label
            self.post_message(Relabelled())

    def unwatched(self) -> None:
        """Note that something was printed."""
        self._note("output")

    def _note(self, what: str) -> None:
        if what != self.unseen and self.unseen != "bell":
            self.unseen = what
            self.post_message(Relabelled())

    def _words(self) -> str:
        session = self.session
        if session is None:
            return ""
        if self.browser is not None:
            total, row = session.screen.total_rows, self.browser.place[1]
            return f"{row + 1}/{total} · {self.browser.words}"
        if self.hovered is not None:
            return f"Ctrl+click: {one_line(self.hovered[1][2], 60)}"
        if self.ended:
            code = "a signal" if session.exit_code is None else f"exit {session.exit_code}"
            return f"ended: {code}" + (" · Enter restarts" if self._restartable else "")
        if self.has_focus:
            does = "hands back" if held(session) else "leaves"
            leave = f"Ctrl+] {'again' if self._chord.held else 'twice'} {does}"
            return leave + (" · scrolled" if self._scrolled else "")
        return one_line(session.screen.title, 40)

    def notify_style_update(self) -> None:
        """The look changed: so did the colours of cells that have none of their own."""
        super().notify_style_update()
        if self.session is not None and self.is_attached:
            self.post_message(TerminalAsked(self, "colours"))

    # ---- size, focus

    def on_show(self) -> None:
        """What happened meanwhile is seen now."""
        if self.unseen:
            self.unseen = ""
            self.post_message(Relabelled())
        super().on_show()

    def on_resize(self, event: events.Resize) -> None:
        """Pass the new size on to the program."""
        self._fit(event.size)
        self.redraw()
        self.post_message(Fitted())

    def on_focus(self) -> None:
        """The cursor and the way out appear; the program hears of it if it asked."""
        self._report_focus(gained=True)
        self.stir()
        self.painted()
        self.refresh()

    def on_blur(self) -> None:
        """The cursor goes, and what was held back is the program's."""
        self._chord.release()
        self._report_focus(gained=False)
        self.still()
        self.painted()
        self.refresh()

    def _report_focus(self, *, gained: bool) -> None:
        if self.session is not None and self.session.running:
            self.report(self.session.screen.encode_focus(gained=gained))
        self.post_message(TerminalAsked(self, "title"))

    # ---- keys

    def on_key(self, event: events.Key) -> None:
        """Every key belongs to the program, but for the chord that leaves and looking back."""
        event.stop()
        event.prevent_default()
        if event.key == LEAVE:
            self._leave_or_wait()
        elif self.session is None:
            self.post_message(ActionAsked("leave_terminal"))
        elif self.browser is not None:
            self._browse(self.browser, event)
        elif self.ended:
            if event.key == "enter" and self._restartable:
                self.post_message(RestartAsked(self))
        elif self._looks_back(event.key):
            page = max(1, self.size.height - 1)
            self.scroll_lines(-page if event.key == "shift+pageup" else page)
        else:
            self._chord.release()
            self._press(event.key, event.character)

    def _looks_back(self, key: str) -> bool:
        """Shift and a page key look back, where there is something: else they are the program's."""
        session = self.session
        return (
            key in ("shift+pageup", "shift+pagedown")
            and session is not None
            and not session.screen.alternate
        )

    def _leave_or_wait(self) -> None:
        if self.session is None or self.ended or self.browser is not None or self._chord.press():
            self.look_back(False)
            if self.session is not None and held(self.session):
                self.session.pass_to("agent")
            self.post_message(ActionAsked("leave_terminal"))
        self.painted()

    def _chord_typed(self) -> None:
        """The chord's first key was meant for the program."""
        self._press(LEAVE, None)
        self.painted()

    def _press(self, key: str, character: str | None) -> None:
        # Loaded with the session: by now the core is there anyway.
        from sam_tui.core.ports.screens import KeyPress

        if self.session is not None and self.session.running:
            self.type(self.session.screen.encode_key(KeyPress(key, character)))

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text goes in as a paste, so that a shell does not run it."""
        event.stop()
        event.prevent_default()
        if self.session is not None and self.session.running and self.browser is None:
            self._chord.release()
            self.type(self.session.screen.encode_paste(event.text))

    def type(self, data: bytes) -> bool:
        """Give the program what the person typed; whether there was anything to give."""
        if not data:
            return False
        self._follow()
        if self.marking is not None:
            self.mark(None)
        self.stir()
        return self.session is not None and self._give(self.session.type, data)

    def report(self, data: bytes) -> bool:
        """Tell the program what it asked to hear, such as the mouse."""
        if not data or self.session is None:
            return False
        return self._give(self.session.report, data)

    def _give(self, way: "Callable[[bytes], None]", data: bytes) -> bool:
        """A program that does not read, or ends this instant, is answered with the bell."""
        try:
            way(data)
        except ToolError:
            self.app.bell()  # pyright: ignore[reportUnknownMemberType]
        return True

    # ---- the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """To the program that wants it, else it marks."""
        event.stop()
        if self.session is not None:
            self._chord.release()
            self._pointer.pressed(self.session, event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drags, and what the pointer is over."""
        if self.session is not None:
            self._pointer.moved(self.session, event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The end of a drag."""
        if self.session is not None:
            self._pointer.released(self.session, event)

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
        if self.session is not None:
            self._pointer.rolled(self.session, event, wheel)

    def hover(self, x: int, y: int) -> None:
        """Show where the link under the pointer leads."""
        link = self.link_at(x, y)
        hovered = (y, link) if link is not None else None
        if hovered != self.hovered:
            self.hovered = hovered
            self.remark()

    def follow(self, link: Link) -> None:
        """Open a link, or ask first."""
        self.post_message(TerminalAsked(self, "link", link[2]))

    # ---- looking back, marks

    def scroll_lines(self, lines: int) -> None:
        """Move the view through what is kept; negative is up."""
        if self.session is not None:
            screen = self.session.screen
            screen.scroll(lines)
            self._scrolled = screen.top + screen.rows < screen.total_rows
            self.redraw()

    def _follow(self) -> None:
        """Back to the newest output, where typing happens."""
        if self._scrolled and self.session is not None:
            self._scrolled = False
            self.session.screen.scroll(0)
            self.redraw()

    def mark(self, marking: "Marking | None") -> None:
        """Mark this, or nothing. The agent may ask for what is marked, so the session knows it."""
        self.marking = marking
        if self.session is not None:
            self.session.selection = marking.text() if marking is not None else ""
        self.remark()

    def copy_marked(self) -> None:
        """Copy what is marked."""
        marking = self.browser.marking if self.browser is not None else self.marking
        text = marking.text() if marking is not None else ""
        if self.session is not None and text:
            self.session.selection = text
            self.post_message(TerminalAsked(self, "copy", text))

    def look_back(self, wanted: bool) -> None:
        """Give the keys to looking through what is kept, or back to the program."""
        if not wanted or self.session is None:
            if self.browser is not None:
                self.browser = None
                self._scrolled = True
                self._follow()
            return
        if self.browser is None:
            self.mark(None)
            self.browser = Browser(self.session.screen)
            self.remark()

    def _browse(self, browser: Browser, event: events.Key) -> None:
        wish = browser.key(event.key, event.character)
        if self.session is not None and browser.marking is not None:
            self.session.selection = browser.marking.text()
        match wish:
            case None:
                self._bring_into_view(browser.place[1])
                return
            case "copy" if browser.marking is not None:
                self.copy_marked()
                self.look_back(False)
            case "copy" | "link":
                self._follow_at_cursor(browser)
            case "leave":
                self.look_back(False)
            case "send":
                text = browser.marking.text() if browser.marking is not None else ""
                self.look_back(False)
                self.post_message(TerminalAsked(self, "send", text))
            case _:
                text = browser.marking.text() if browser.marking is not None else ""
                self.post_message(TerminalAsked(self, wish, text))

    def _follow_at_cursor(self, browser: Browser) -> None:
        if self.session is None:
            return
        column, row = browser.place
        link = self.link_at(column, row - self.session.screen.top)
        if link is not None:
            self.follow(link)

    def _bring_into_view(self, row: int) -> None:
        if self.session is None:
            return
        screen = self.session.screen
        if not screen.top <= row < screen.top + screen.rows:
            third = screen.rows // 3
            screen.scroll_to(row - (third if row < screen.top else screen.rows - 1 - third))
            self.redraw()
        else:
            self.remark()

    def _clipboard_asked(self, asked: "ClipboardRequest") -> None:
        self.post_message(TerminalAsked(self, "clipboard", asked))

    def _rung(self) -> None:
        if not (self.looked_at and self.has_focus):
            self._note("bell")
        self.post_message(TerminalAsked(self, "bell"))
