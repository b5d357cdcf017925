"""The prompt: many lines, history at its edges, and what is queued above it."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from sam_tui.ui import slash
from sam_tui.ui.messages import ActionAsked, PromptSubmitted
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.composer import Composer

_PASSED_ON = {"pageup": "page_up", "pagedown": "page_down", "ctrl+end": "bottom", "f6": "zoom"}
"""Keys of a text area that are the workbench's instead."""

_SHOWN_QUEUED = 3
_SHOWN_HINTS = 6


class PromptArea(Composer):
    """Sends on Enter and goes through history at its first and last line."""

    def __init__(self) -> None:
        super().__init__("Ask for anything · / for commands · F1 for help", id="prompt")
        self.past: list[str] = []
        """Earlier prompts of the conversation, oldest first."""
        self.queued = 0
        self._at: int | None = None
        self._draft = ""

    def remember(self, text: str) -> None:
        """Add a prompt to the history."""
        if text and (not self.past or self.past[-1] != text):
            self.past.append(text)
        self._at = None

    def takes(self, event: events.Key) -> bool:
        """The keys that mean something else here than in a text area."""
        match event.key:
            case "up":
                return self._older()
            case "down":
                return self._newer()
            case "tab" if slash.matching(self.text):
                self.put(slash.completed(self.text))
            case "question_mark" | "ctrl+d" if not self.text:
                self.post_message(ActionAsked("help" if event.key == "question_mark" else "quit"))
            case key if key in _PASSED_ON:
                self.post_message(ActionAsked(_PASSED_ON[key]))
            case _:
                return False
        return True

    def send(self) -> None:
        """Post what was written, unless it is nothing."""
        text = self.text.strip()
        if not text:
            return
        self.remember(text)
        self.text = ""
        self.post_message(PromptSubmitted(text))

    def _older(self) -> bool:
        if not self.navigator.is_first_wrapped_line(self.cursor_location):
            return False
        if not self.text and self._at is None and self.queued:
            self.post_message(ActionAsked("unqueue"))
            return True
        at = len(self.past) if self._at is None else self._at
        if at == 0:
            return self._at is not None or not self.text
        if self._at is None:
            self._draft = self.text
        self._at = at - 1
        self.put(self.past[self._at])
        self.move_cursor((0, 0))
        return True

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
    """The prompt with what waits in the queue above it and command hints below it."""

    def __init__(self) -> None:
        super().__init__(id="prompt-box")
        self.area = PromptArea()
        self._queue = Static(markup=False, id="queued")
        self._hints = Static(markup=False, id="hints")

    def compose(self) -> ComposeResult:
        """Queue, prompt, hints."""
        yield self._queue
        yield self.area
        yield self._hints

    def on_mount(self) -> None:
        """Nothing is queued and nothing is hinted at first."""
        self._queue.display = False
        self._hints.display = False

    def show_queue(self, texts: Sequence[str]) -> None:
        """Show the prompts that wait, first to be sent first."""
        self.area.queued = len(texts)
        self._queue.display = bool(texts)
        lines = [Content.assemble(("↳ ", "$accent"), one_line(t)) for t in texts[:_SHOWN_QUEUED]]
        more = len(texts) - _SHOWN_QUEUED
        if more > 0:
            lines.append(Content(f"  and {more} more"))
        self._queue.update(Content("\n").join(lines))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Hint at the commands that fit what was typed."""
        event.stop()
        text = self.area.text
        fitting = slash.matching(text) if text.startswith("/") else []
        self._hints.display = bool(fitting)
        if not fitting:
            return
        shown = fitting[:_SHOWN_HINTS]
        width = max(len(a.slash) + len(a.argument) + 1 for a in shown)
        lines = [
            Content.assemble(
                (f"/{f'{a.slash} {a.argument}'.strip():<{width}}  ", "$primary"),
                (a.help, "$text-muted"),
            )
            for a in shown
        ]
        if len(fitting) > len(shown):
            lines.append(
                Content(f"and {len(fitting) - len(shown)} more: type on").stylize("$text-muted")
            )
        self._hints.update(Content("\n").join(lines))
