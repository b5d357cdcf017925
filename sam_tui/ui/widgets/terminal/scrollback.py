"""The scrollback of a terminal: scrolling, looking through by key, marking, copying, following links."""

from typing import TYPE_CHECKING

from textual import events

from sam_tui.ui.widgets.terminal.browser import Browser
from sam_tui.ui.widgets.terminal.canvas import TerminalCanvas
from sam_tui.ui.widgets.terminal.cells import Link
from sam_tui.ui.widgets.terminal.messages import TerminalWish

if TYPE_CHECKING:
    from sam_tui.ui.widgets.terminal.selection import Marking


class TerminalPast(TerminalCanvas):
    """A terminal that is looked back in. What keys its program gets is for the subclass."""

    scrolled = False
    """Whether older rows than the newest are shown."""

    def ask(self, what: TerminalWish, value: str = "") -> None:
        """Ask the workbench for something."""

    def selected(self, text: str) -> None:
        """Called when a text was marked, or with an empty one when the mark is gone."""

    def hover(self, x: int, y: int) -> None:
        """Show where the link under the pointer leads."""
        link = self.link_at(x, y)
        hovered = (y, link) if link is not None else None
        if hovered != self.hovered:
            self.hovered = hovered
            self.remark()

    def follow(self, link: Link) -> None:
        """Open a link, or ask first."""
        self.ask("link", link[2])

    # ---- looking back, marks

    def scroll_lines(self, lines: int) -> None:
        """Move the view through the stored rows; negative is up."""
        if self.displayed is not None:
            screen = self.displayed.screen
            screen.scroll(lines)
            self.scrolled = screen.scrollback.top + screen.rows < screen.scrollback.total
            self.redraw()

    def to_newest(self) -> None:
        """Back to the newest output, where typing happens."""
        if self.scrolled and self.displayed is not None:
            self.scrolled = False
            self.displayed.screen.scroll(0)
            self.redraw()

    def mark(self, marking: "Marking | None") -> None:
        """Mark a stretch of text; None removes the mark."""
        self.marking = marking
        self.selected(marking.text() if marking is not None else "")
        self.remark()

    def copy_marked(self) -> None:
        """Copy the marked text."""
        marking = self.browser.marking if self.browser is not None else self.marking
        text = marking.text() if marking is not None else ""
        if text:
            self.selected(text)
            self.ask("copy", text)

    def look_back(self, on: bool) -> None:
        """Give the keys to the scrollback, or back to the program."""
        if not on or self.displayed is None:
            if self.browser is not None:
                self.browser = None
                self.scrolled = True
                self.to_newest()
            return
        if self.browser is None:
            self.mark(None)
            self.browser = Browser(self.displayed.screen)
            self.remark()

    def browse(self, browser: Browser, event: events.Key) -> None:
        """A key while looking back."""
        wish = browser.key(event.key, event.character)
        if browser.marking is not None:
            self.selected(browser.marking.text())
        match wish:
            case None:
                self._bring_into_view(browser.position[1])
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
                self.ask("send", text)
            case _:
                text = browser.marking.text() if browser.marking is not None else ""
                self.ask(wish, text)

    def _follow_at_cursor(self, browser: Browser) -> None:
        if self.displayed is None:
            return
        column, row = browser.position
        link = self.link_at(column, row - self.displayed.screen.scrollback.top)
        if link is not None:
            self.follow(link)

    def _bring_into_view(self, row: int) -> None:
        if self.displayed is None:
            return
        screen = self.displayed.screen
        if not screen.scrollback.top <= row < screen.scrollback.top + screen.rows:
            third = screen.rows // 3
            screen.scroll_to(
                row - (third if row < screen.scrollback.top else screen.rows - 1 - third)
            )
            self.redraw()
        else:
            self.remark()
