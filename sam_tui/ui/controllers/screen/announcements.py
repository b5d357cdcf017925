"""Announces as plain lines what the screen shows: beginning and end of work, questions, todos."""

import time

from sam_tui.core import events
from sam_tui.core.inquiry import ApprovalRequest, Inquiry
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.inquiries.card import WHOLE, buttons_of, coming_lines

_ENDINGS = {"finished": "Done", "cancelled": "Cancelled", "limit": "Stopped", "failed": "Failed"}
_MOST_LINES = 60
"""The most lines of a change that are read out with a question."""


class Announcer:
    """Adds notices for screen readers to the transcript: one per event, after the change it made."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._since = time.monotonic()

    def announce(self, event: events.Event) -> None:
        """Announce an event in words to a person who does not see the screen."""
        match event:
            case events.TurnStarted():
                self._since = time.monotonic()
                self._say("Working.")
            case events.TurnFinished():
                seconds = round(time.monotonic() - self._since)
                self._say(f"{_ENDINGS[event.reason]} in {seconds} s.")
            case events.TodosChanged():
                done = sum(item.status == "completed" for item in event.items)
                self._say(f"Todos: {done} of {len(event.items)} done.")
                for number, item in enumerate(event.items, 1):
                    self._say(f"Todo {number} of {len(event.items)}, {item.status}: {item.title}")
            case events.TerminalOpened():
                self._say("The agent opened a terminal; Ctrl+] goes there.")
            case events.InquiryOpened():
                self._ask(event.inquiry)
            case _:
                return
        # Blocks are not drawn: finished ones are printed after the next frame.
        self._screen.prompt.area.refresh()

    def _say(self, text: str) -> None:
        self._screen.transcript.add_remark(text)

    def _ask(self, inquiry: Inquiry) -> None:
        request = inquiry.request
        if not isinstance(request, ApprovalRequest):
            self._say(f"The agent asks: {request.prompt}")
            for number, choice in enumerate(request.choices, 1):
                self._say(f"{number} {choice}")
            return
        self._say(f"Approval needed: {request.summary}, {request.operation}.")
        for target in request.targets:
            self._say(f"Target: {target}")
        self._say(f"Why: {request.why}")
        for line in coming_lines(inquiry.coming, WHOLE).plain.splitlines()[1:]:
            self._say(f"Then: {line.removeprefix('then').strip()}")
        if inquiry.coming:
            self._say("a lists the questions of this kind, for one answer to all.")
        for diff in request.preview:
            lines = diff.unified.rstrip("\n").split("\n")
            more = [f"{len(lines) - _MOST_LINES} more lines; w reads all."]
            shortened = lines[:_MOST_LINES] + (more if len(lines) > _MOST_LINES else [])
            self._say("\n".join([f"Change of {diff.path}:", *shortened]))
        words = [
            f"{key} {button.words.removeprefix(key).strip()}"
            for key, button in buttons_of(request).items()
        ]
        self._say(". ".join([*words, "Escape denies."]))
