"""Records a session while it runs, starting with its screen and without the person's private text."""

import codecs
import time
from collections import deque
from collections.abc import Callable

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.person_input.redaction import bare_length
from sam_tui.adapters.terminal.recordings.asciicast import Recorder
from sam_tui.adapters.terminal.recordings.picture import drawn
from sam_tui.adapters.terminal.sessions.safe_output import SafeOutput
from sam_tui.adapters.terminal.sessions.turns import Turns

_AROUND = 4096
"""How many of the last written characters are searched for the beginning of typed text."""
_FOLLOWING = 16
"""A piece is written once so many further characters have come, as they may complete typed text."""


class SessionRecording:
    """Writes a session's output, except for the person's, and on request the typed input.

    A piece of output waits until enough has followed to decide whether it belongs to something that the
    person typed. ``emulator`` is the session's own screen.
    """

    def __init__(
        self,
        path: str,
        turns: Turns,
        emulator: Callable[[], EmulatedScreen],
        *,
        typed: bool,
    ) -> None:
        screen = emulator()
        self._at = time.monotonic()
        self._recorder = Recorder(path, (screen.columns, screen.rows), clock=lambda: self._at)
        self._turns = turns
        self._emulator = emulator
        self._typed = typed
        self._waiting: deque[tuple[float, str, str]] = deque()
        self._begin()

    def _begin(self) -> None:
        """Record the present screen as the start of the recording."""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._safe = SafeOutput()
        self._before = ""
        self._at = time.monotonic()
        self._gap = self._turns.private
        if not self._gap:
            self._recorder.text("o", self._picture())

    def _picture(self) -> str:
        seen, view = self._turns.agent_screen, self._turns.view
        screen = self._emulator() if view is None else view.screen
        opening = "\x1b[?1049h" if screen.alternate else ""
        if screen.scrollback.visible() == seen.text:
            return opening + drawn(screen)
        # The screen contains the person's input, and its cover has another length.
        return f"{opening}\x1b[H\x1b[2J" + seen.text.rstrip("\n").replace("\n", "\r\n")

    def output(self, data: bytes) -> None:
        """Record output, before the session's own screens process it."""
        if self._turns.private:
            self._end()
            self._gap = True
            return
        if self._gap:
            self._begin()
        if self._turns.view is not None:
            # Titles and the like are not on the screen, so typed text in them could not be recognised.
            data = self._safe(data)
        self._add("o", self._decoder.decode(data))

    def input(self, data: bytes, *, secret: bool) -> None:
        """Record input, unless the terminal does not echo it or the person types in private."""
        if self._typed and not secret and not self._turns.withheld:
            self._add("i", data.decode(errors="replace"))

    def resized(self, columns: int, rows: int) -> None:
        """Record a new size."""
        self._add("r", f"{columns}x{rows}")

    def close(self) -> None:
        """Finish the file; safe to call again."""
        self._end()
        self._recorder.close()

    def _add(self, code: str, text: str) -> None:
        if text:
            self._waiting.append((time.monotonic(), code, text))
            self._write(_FOLLOWING if self._turns.view is not None else 0)

    def _end(self) -> None:
        self._write(0)

    def _write(self, following: int) -> None:
        """Write the waiting pieces, except for the newest, after which too little has followed."""
        ready, after = len(self._waiting), 0
        while ready and after < following:
            ready -= 1
            _, code, text = self._waiting[ready]
            after += bare_length(text) if code == "o" else 0
        if not ready:
            return
        printed = "".join(text for _, code, text in self._waiting if code == "o")
        whole, begin = self._before + printed, len(self._before)
        for _ in range(ready):
            self._at, code, text = self._waiting.popleft()
            if code == "o":
                end = begin + len(text)
                text = self._turns.redacted(whole, (begin, end))
                begin = end
            self._recorder.text(code, text)
        self._before = whole[max(0, begin - _AROUND) : begin]
