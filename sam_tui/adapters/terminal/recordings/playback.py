"""Plays a recording on a screen of its own: pauses, seeks, and changes speed, in bounded memory."""

import asyncio
import os
from collections.abc import Callable, Iterator

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.recordings.asciicast import CastEvent, Recording, size_of
from sam_tui.core.errors import ToolError

LONGEST_PAUSE = 2.0
"""Longer recorded pauses are shortened to so many seconds."""
SPEEDS = (0.1, 32.0)
_PIECE = 64 * 1024
_SLICE = 0.008
"""The most seconds of drawing at a time while seeking, so that keys are handled in between."""


class CommandOutput:
    """The ``FollowedOutput`` port. Its screen has the view's size and a scrollback."""

    running = False
    """A recording takes no keys."""

    def __init__(self) -> None:
        self.screen = EmulatedScreen(80, 24)
        self.resize = self.screen.resize
        self._watchers: list[Callable[[], None]] = []

    def feed(self, text: str) -> None:
        """Add further output, in lines that begin at the left."""
        self.screen.feed(text.replace("\n", "\r\n").encode(errors="replace"))
        for changed in tuple(self._watchers):
            changed()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after every change; returns how to stop."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)


class CastPlayback:
    """The ``Playback`` port over an asciicast file, read from the disk during playback.

    Raises ``ToolError`` for a file that is no recording.
    """

    running = False
    """A recording takes no keys."""

    def __init__(self, path: str, *, longest_pause: float = LONGEST_PAUSE) -> None:
        self.name = os.path.basename(path)
        self.fault = ""
        self.length: float | None = None
        self._recording = Recording(path)
        self._longest = longest_pause
        self._loop = asyncio.get_running_loop()
        self._watchers: list[Callable[[], None]] = []
        self._timer: asyncio.Handle | None = None
        self._speed = 1.0
        self._playing = False
        self._closed = False
        self._goal: float | None = None
        self._rewind()
        self._measuring = self._loop.create_task(self._measure())

    @property
    def screen(self) -> EmulatedScreen:
        """The screen at the current position. Going back makes a new one."""
        return self._screen

    @property
    def at(self) -> float:
        """The current position in seconds, or the one being sought."""
        if self._goal is not None:
            return self._goal
        if not self._playing:
            return self._base
        now = self._base + (self._loop.time() - self._since) * self._speed
        return now if self._next is None else min(now, self._next_at)

    @property
    def playing(self) -> bool:
        """Whether the playback is running."""
        return self._playing

    @property
    def seeking(self) -> bool:
        """Whether a jump to another position is under way."""
        return self._goal is not None

    @property
    def over(self) -> bool:
        """Whether the end is reached."""
        return self._next is None and not self._rest

    @property
    def speed(self) -> float:
        """The speed as a multiple of the recorded one."""
        return self._speed

    @speed.setter
    def speed(self, times: float) -> None:
        self._hold()
        self._speed = min(max(times, SPEEDS[0]), SPEEDS[1])
        self._go_on()

    def play(self) -> None:
        """Continue; at the end, start again."""
        if self.over and not self.fault and self._goal is None:
            self._rewind()
        self._hold()
        self._playing = not self.over  # nothing goes on in an empty one
        self._go_on()
        self._tell()

    def pause(self) -> None:
        """Pause."""
        self._hold()
        self._playing = False
        self._go_on()
        self._tell()

    def seek(self, at: float) -> None:
        """Go to a position: forwards from here, backwards from the beginning."""
        self._hold()
        at = max(0.0, at if self.length is None else min(at, self.length))
        if at < self._shown_at:
            self._rewind()
        self._goal = at
        self._go_on()
        self._tell()

    def resize(self, columns: int, rows: int) -> None:
        """Do nothing: the view's size does not change the recording's."""

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after every change; returns how to stop."""
        self._watchers.append(changed)

        def stop() -> None:
            if changed in self._watchers:
                self._watchers.remove(changed)

        return stop

    def close(self) -> None:
        """Release the file and the screen; safe to call again."""
        self._closed = True
        self._watchers.clear()
        self._measuring.cancel()
        self._unset()

    # ---- going on

    def _rewind(self) -> None:
        """A new screen, and the file from its first line."""
        head = self._recording.header
        # No reply, bell or clipboard request has a listener: output changes only the screen.
        self._screen = EmulatedScreen(head.columns, head.rows)
        self._events = self._recording.events()
        self._rest = b""
        self._raw = 0.0
        self._base = self._since = self._next_at = self._shown_at = 0.0
        self._next: CastEvent | None = None
        self._advance()

    def _advance(self) -> None:
        """Read the next event and its time."""
        try:
            self._next = next(self._events, None)
        except ToolError as error:
            self._next, self.fault = None, str(error)
        if self._next is not None:
            self._next_at += min(self._next.at - self._raw, self._longest)
            self._raw = self._next.at

    def _hold(self) -> None:
        """Stop the clock at the current position."""
        if self._goal is None:
            self._base = self.at
        self._unset()

    def _unset(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _go_on(self) -> None:
        """Schedule the next step for the time of the next event."""
        self._since = self._loop.time()
        if self._closed or self._timer is not None:
            return
        if self._goal is not None or self._rest:
            self._timer = self._loop.call_soon(self._step)
        elif self._playing and self._next is not None:
            wait = (self._next_at - self._base) / self._speed
            self._timer = self._loop.call_later(max(0.0, wait), self._step)

    def _step(self) -> None:
        """Draw the events whose time has come, for a moment at most."""
        self._timer = None
        self._base = self.at if self._goal is None else self._base
        until = self._base if self._goal is None else self._goal
        done = self._draw(until)
        if self._goal is not None and done:
            self._base, self._goal = self._reached(self._goal), None
        if self.over and self._goal is None:
            self._playing = False
        if self._goal is None:
            # During a seek no screen in between is shown.
            self._tell()
        self._go_on_soon(done)

    def _go_on_soon(self, done: bool) -> None:
        self._since = self._loop.time()
        if done:
            self._go_on()
        elif not self._closed:
            self._timer = self._loop.call_later(_SLICE / 4, self._step)

    def _reached(self, goal: float) -> float:
        """The position after a seek, at most that of the last event."""
        return goal if self._next is not None else min(goal, self._next_at)

    def _draw(self, until: float) -> bool:
        """Draw the events up to a position; whether the time was enough for all."""
        deadline = self._loop.time() + _SLICE
        while self._loop.time() < deadline:
            if self._rest:
                self._screen.feed(self._rest[:_PIECE])
                self._rest = self._rest[_PIECE:]
            elif self._next is None or self._next_at > until:
                return True
            else:
                self._take(self._next)
                self._advance()
        return False

    def _take(self, event: CastEvent) -> None:
        self._shown_at = self._next_at
        if event.code == "o":
            self._rest = event.data.encode(errors="replace")
        elif event.code == "r" and (size := size_of(event)) is not None:
            self._screen.resize(*size)

    def _tell(self) -> None:
        for changed in tuple(self._watchers):
            changed()

    # ---- how long it is

    async def _measure(self) -> None:
        """Read the whole file on a thread for its length."""
        self.length = await asyncio.to_thread(self._total)
        self._tell()

    def _total(self) -> float:
        total = last = 0.0
        events: Iterator[CastEvent] = self._recording.events()
        try:
            for event in events:
                if self._closed:
                    break
                total += min(event.at - last, self._longest)
                last = event.at
        except ToolError:
            pass  # it is played up to there, and then says so
        return total
