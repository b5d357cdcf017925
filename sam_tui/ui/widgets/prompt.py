"""The prompt: many lines, history at its edges, and the queue above it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from sam_tui.ui import mentions, slash
from sam_tui.ui.actions import WorkbenchAction
from sam_tui.ui.messages import ActionAsked, PromptSubmitted, Signal
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.composer import PasteArea
from sam_tui.ui.widgets.menus import FileMenu, HintTaken, SlashMenu

if TYPE_CHECKING:
    from sam_tui.ui.widgets.vim import VimKeys

_PASSED_ON = {
    "pageup": "page_up",
    "pagedown": "page_down",
    "ctrl+end": "bottom",
    "ctrl+f": "search",
    "f6": "zoom",
    "f7": "watch_only",
}
"""Keys of a text area that the workbench handles instead, with the names of its actions."""

_SHOWN_QUEUED = 3
_ASK = ("Ask anything", "/ commands", "@ files", "! shell", "F1 help")
_STEER = ("Enter: at the next step", "Tab: when the turn has ended", "Esc cancels it")


class PromptSource(Protocol):
    """The offers of the prompt while a person types."""

    def earlier(self) -> Sequence[str]:
        """The earlier prompts of this workspace, oldest first."""
        ...

    def skills(self) -> Sequence[WorkbenchAction]:
        """Further slash commands, such as skills."""
        ...

    def files(self, part: str | None) -> Sequence[str]:
        """The files that match the name being typed; None if no name is being typed."""
        ...

    def values(self, action: WorkbenchAction, part: str) -> Sequence[str]:
        """Return the values that may follow a command and match the typed text."""
        ...


class NoSource:
    """There is nothing to offer yet."""

    def earlier(self) -> Sequence[str]:
        """Return no earlier prompts."""
        return ()

    def skills(self) -> Sequence[WorkbenchAction]:
        """No commands."""
        return ()

    def files(self, part: str | None) -> Sequence[str]:
        """No files."""
        return ()

    def values(self, action: WorkbenchAction, part: str) -> Sequence[str]:
        """No values."""
        return ()


class PromptArea(PasteArea):
    """Sends on Enter, large pastes whole, and goes through history at its first and last line."""

    def __init__(self) -> None:
        super().__init__(" · ".join(_ASK), id="prompt")
        self.edited = Signal()
        self.past: list[str] = []
        """Earlier prompts, oldest first: first of the conversation, then of others."""
        self._all_past = False
        self.queued = 0
        self._steers = False
        self.menu = SlashMenu(self)
        self.files = FileMenu(self)
        """The files that match the text after an ``@``, or the possible arguments of a command."""
        self.vim: VimKeys | None = None
        """Vim's modes; None unless the person chose them."""
        self._source: PromptSource = NoSource()
        self._at: int | None = None
        self._draft = ""
        self._hinted: tuple[str, str | None, bool] = ("", None, False)

    def offer_from(self, source: PromptSource) -> None:
        """Use this source from now on."""
        self._source = source
        self._hinted = ("", None, False)
        self.hint()

    def use_vim(self, on: bool) -> None:
        """Take keys as Vim does, or no longer."""
        self.border_title = None
        self.vim = None
        if on:
            from sam_tui.ui.widgets.vim import VimKeys  # most never use it

            self.vim = VimKeys(self, lambda: self.post_message(ActionAsked("search")))

    def offer_files(self) -> None:
        """Offer the files that match the name being typed, or the values of the command being typed."""
        command = None if self.recalls else self._command
        if command is not None and self.mentioned is None:
            self.files.offer(self._source.values(*command))
        else:
            self.files.offer(self._source.files(self.mentioned))

    def offer_again(self) -> None:
        """Refresh the offers, after the source has changed."""
        self.offer_files()
        self.menu.offer(() if self.recalls else self.fitting)

    def begin_past(self, texts: Sequence[str]) -> None:
        """Another conversation is on show, with these prompts."""
        self.past, self._at, self._all_past = list(texts), None, False

    @property
    def plain(self) -> bool:
        """Whether each typed character is text now, not a command."""
        return bool(self.text) and self.vim is None

    def steer(self, running: bool) -> None:
        """Set whether a turn runs: then Tab and Alt+Enter let a prompt wait for its end."""
        self._steers = running
        self._say_how()

    def on_resize(self) -> None:
        """Show as many hints as fit."""
        self._say_how()

    def _say_how(self) -> None:
        """Show on the empty prompt which input it takes: the first and the last hint in any case."""
        words = list(_STEER if self._steers else _ASK)
        while len(words) > 2 and cell_len(" · ".join(words)) >= self.size.width:
            del words[-2]
        self.placeholder = Content(" · ".join(words))

    def remember(self, text: str) -> None:
        """Add a prompt to the history."""
        if text and (not self.past or self.past[-1] != text):
            self.past.append(text)
        self._at = None

    def takes(self, event: events.Key) -> bool:
        """Handle the keys that mean something else here than in a text area."""
        self.hint()
        return (
            self._takes_in_files(event.key)
            or self._takes_in_menu(event.key)
            or (self.vim is not None and self.vim.takes(event.key, event.character))
            or self._takes_in_text(event.key)
        )

    def _takes_in_files(self, key: str) -> bool:
        file = self.files.marked
        if file is None:
            return False
        match key:
            case "up" | "down":
                self.files.move(-1 if key == "up" else 1)
            case "tab":
                self.take_file(file)
            case "escape":
                self.files.close()
            case _:
                return False
        return True

    def _takes_in_menu(self, key: str) -> bool:
        marked = self.menu.marked
        if marked is None:
            return False
        match key:
            case "up" | "down":
                self.menu.move(-1 if key == "up" else 1)
            case "tab" if self.menu.moved:
                self._complete(marked)
            case "escape":
                self.menu.close()
            case _:
                return False
        return True

    def _takes_in_text(self, key: str) -> bool:
        match key:
            case "up":
                return self._older()
            case "down":
                return self._newer()
            case "tab" if self.fitting:
                self._complete_typed()
            case "tab" | "alt+enter" if self._steers and self.text.strip():
                self._post(later=True)
            case "question_mark" | "ctrl+d" if not self.text:
                self.post_message(ActionAsked("help" if key == "question_mark" else "quit"))
            case _ if key in _PASSED_ON:
                self.post_message(ActionAsked(_PASSED_ON[key]))
            case _:
                return False
        return True

    def send(self) -> None:
        """Post the text, unless it is empty; while files are offered take the marked one instead."""
        self.hint()
        file = self.files.marked
        if file is not None and (self.mentioned is not None or self.files.moved):
            self.take_file(file)
        elif not self.open_chip():
            self._post()

    def _post(self, *, later: bool = False) -> None:
        text = self._meant()
        if text in ("", "/"):
            return
        self.menu.close()
        self.files.close()
        self.remember(text)
        self.empty()
        self.post_message(PromptSubmitted(text, later=later))

    def hint(self) -> None:
        """Offer the commands and files that match the text, unless they are offered already.

        A key that takes one may come before the area reports the change.
        """
        state = (self.text, self.mentioned, self.recalls)
        if state != self._hinted:
            self._hinted = state
            self.offer_again()

    @property
    def mentioned(self) -> str | None:
        """Return the typed part of a file's name before the cursor; None if none is being named."""
        row, column = self.cursor_location
        return (
            None if self.recalls else mentions.partial_mention(self.document.get_line(row)[:column])
        )

    def take_file(self, path: str) -> None:
        """Replace the typed part by a file's path, or by a value that may follow a command."""
        part, end = self.mentioned, self.cursor_location
        command = self._command
        if part is None and command is not None:
            self.put(f"/{command[0].slash} {path}")
        if part is not None:
            self.replace(mentions.written(path), (end[0], end[1] - len(part) - 1), end)

    @property
    def recalls(self) -> bool:
        """Whether the text is an earlier prompt, unchanged."""
        return self._at is not None and self.text == self.past[self._at]

    def take(self, action: WorkbenchAction) -> None:
        """A command of the list was clicked: send it, or let its argument be typed."""
        if action.argument:
            self._complete(action)
        else:
            self.put(f"/{action.slash}")
            self.menu.close()
            self.send()

    @property
    def _command(self) -> tuple[WorkbenchAction, str] | None:
        """The command whose argument is being typed."""
        if not self.text.startswith("/"):
            return None
        return slash.argument(self.text, self._source.skills())

    @property
    def fitting(self) -> Sequence[WorkbenchAction]:
        """The commands that begin with the typed text."""
        return slash.matching(self.text, self._source.skills()) if self.text.startswith("/") else ()

    def _complete(self, action: WorkbenchAction) -> None:
        self.put(f"/{action.slash} " if action.argument else f"/{action.slash}")

    def _complete_typed(self) -> None:
        """Complete the certain part of a command; if there is none, take the marked command."""
        text, marked = slash.completed(self.text, self._source.skills()), self.menu.marked
        if text != self.text or marked is None or text == "/":
            self.put(text)
        else:
            self._complete(marked)

    def _meant(self) -> str:
        """The typed text; for the beginning of a command, the marked command."""
        text, marked = self.whole.strip(), self.menu.marked
        chosen = marked is not None and (self.menu.moved or text != "/")
        return f"/{marked.slash}" if marked is not None and chosen else text

    def _older(self) -> bool:
        if not self.navigator.is_first_wrapped_line(self.cursor_location):
            return False
        if not self.text and self._at is None and self.queued:
            self.post_message(ActionAsked("unqueue"))
            return True
        at = len(self.past) if self._at is None else self._at
        if at == 0:
            at = self._recall_earlier()
        if at == 0:
            return self._at is not None or not self.text
        if self._at is None:
            self._draft = self.text
        self._at = at - 1
        self.put(self.past[self._at])
        self.move_cursor((0, 0))
        return True

    def _recall_earlier(self) -> int:
        """Put the prompts of earlier conversations before these, only once; returns their number."""
        if self._all_past:
            return 0
        self._all_past = True
        newest_first = dict.fromkeys(reversed(self._source.earlier()))
        fresh = [text for text in newest_first if text not in self.past][::-1]
        self.past[:0] = fresh
        return len(fresh)

    def _newer(self) -> bool:
        if self._at is None or not self.navigator.is_last_wrapped_line(self.cursor_location):
            return False
        self._at += 1
        if self._at < len(self.past):
            self.put(self.past[self._at])
        else:
            self._at = None
            self.put(self._draft)
        return True


class PromptBox(Vertical):
    """The prompt with the queue above it and command hints below it."""

    def __init__(self) -> None:
        super().__init__(id="prompt-box")
        self.area = PromptArea()
        self._queue = Static(markup=False, id="queued")

    def compose(self) -> ComposeResult:
        """Queue and prompt; hints come below it."""
        yield self._queue
        yield self.area

    def on_mount(self) -> None:
        """Hide the queue and the hint at first."""
        self._queue.display = False

    def show_queue(self, waiting: Sequence[str], later: Sequence[str]) -> None:
        """Show the prompts that wait, first to be sent first; ``later`` are for the turn's end."""
        marked = [("↳ ", text) for text in waiting] + [("⇥ ", text) for text in later]
        self.area.queued = len(marked)
        self._queue.display = bool(marked)
        if not marked:
            return
        lines = [
            Content.assemble((mark, "$accent"), one_line(text))
            for mark, text in marked[:_SHOWN_QUEUED]
        ]
        more = len(marked) - _SHOWN_QUEUED
        if more > 0:
            lines.append(Content(f"  and {more} more"))
        self._queue.update(Content("\n").join(lines))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Hint at the commands and files that match the typed text."""
        event.stop()
        self.area.hint()
        self.area.edited.send()

    def on_hint_taken(self, event: HintTaken) -> None:
        """A command or a file was clicked."""
        event.stop()
        self.screen.set_focus(self.area)
        if isinstance(event.entry, WorkbenchAction):
            # Later: a message that the area posts during this handler would not reach this widget.
            self.area.call_later(self.area.take, event.entry)
        elif isinstance(event.entry, str):
            self.area.take_file(event.entry)
