"""Tabs without input: a recording, which can be played, paused and sought, and a command's live output.
None of them can act on the terminal around."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer

from sam_tui.ui.messages import ActionAsked
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.terminal.cells import Link, with_cursor
from sam_tui.ui.widgets.terminal.messages import Relabelled
from sam_tui.ui.widgets.terminal.repeated_keys import LEAVE
from sam_tui.ui.widgets.terminal.view import TerminalView

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.recordings import FollowedOutput, Playback

_STEP, _LEAP = 5.0, 30.0
"""Seconds that the arrows seek, alone and with Shift."""
_SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_NAME = 16
_PAGES = {"shift+pageup": -1, "shift+pagedown": 1}
_KEYS = "space pauses · ←→ seek · +- speed · e exports · q closes"
_KEYS_SHORT = "space ←→ +- e q"
_WIDE = 80
"""The least columns at which the border has room for hints about keys."""


class WatchedView(TerminalView):
    """A view that takes no text, opens no link and sets no title."""

    TAKES_TEXT = False

    @property
    def ended(self) -> bool:
        """Always False: a recording has no program that could end."""
        return False

    def hover(self, x: int, y: int) -> None:
        """Does nothing: links of a recording cannot be followed."""

    def follow(self, link: Link) -> None:
        """Does nothing: links of a recording cannot be followed."""


class CommandView(WatchedView):
    """The output of an agent's command, redacted as in its result."""

    WAY_OUT = "command: Ctrl+] leaves"

    def __init__(self, output: "FollowedOutput", command: str, *, id: str) -> None:
        super().__init__(waiting="", restartable=False, id=id)
        self.output = output
        self.name_shown = one_line(command, _NAME)
        self._state = ("runs, read only", "$accent")

    def on_mount(self) -> None:
        """Show the output so far."""
        self.draw(self.output)
        self.painted()

    @property
    def over(self) -> bool:
        """Whether the command has ended here, or went to the background."""
        return self._state[0] != "runs, read only"

    def finish(self, words: str, style: str) -> None:
        """Show the result of the command; its output stays."""
        self._state = (words, style)
        self.painted()

    def painted(self) -> None:
        """Show the command and its state in the border."""
        self.say(*self._state)
        label = self.browser.words if self.browser is not None else self.name_shown
        if label != self.label:
            self.label = label
            self.post_message(Relabelled())

    def takes(self, event: events.Key) -> bool:
        """Handle the keys that scroll back and leave; the workbench gets all others."""
        if self.browser is not None:
            self.browse(self.browser, event)
        elif event.key in _PAGES:
            self.scroll_lines(_PAGES[event.key] * max(1, self.size.height - 1))
        elif event.key == LEAVE:
            self._leave()
        else:
            return False
        return True


class ReplayView(WatchedView):
    """Plays one recording. A screen larger than the view is drawn around its cursor."""

    WAY_OUT = "replay: Ctrl+] leaves, q closes"

    def __init__(
        self, playback: "Playback", path: str, close: Callable[[TerminalView], None], *, id: str
    ) -> None:
        super().__init__(waiting="", restartable=False, id=id)
        self.playback = playback
        self.path = path
        self._close = close
        self.name_shown = f"replay: {one_line(playback.name.removesuffix('.cast'), _NAME)}"
        self._drawn_of: tuple[object, tuple[int, int]] = (None, (0, 0))
        self._ticking: Timer | None = None
        self._player_keys = self._key_table()

    def on_mount(self) -> None:
        """Begin to play."""
        self._ticking = self.set_interval(1.0, self._relabel, pause=True)
        self.draw(self.playback)
        self.playback.play()

    def on_unmount(self) -> None:
        """Close the player of this view."""
        self.playback.close()

    # ---- drawing

    @property
    def row_width(self) -> int:
        """The recorded width, and at least that of the view."""
        return max(self.playback.screen.columns, self.size.width)

    def painted(self) -> None:
        """Follow the cursor where not all has room, and keep the border true."""
        screen = self.playback.screen
        size = (screen.columns, screen.rows)
        if screen is not self._drawn_of[0] or size != self._drawn_of[1]:
            # Sought backwards, or another size: drawn rows and marks are not of this screen.
            self._drawn_of = (screen, size)
            self.marking = None
            self.look_back(False)
            self.redraw()
            return
        origin = self._origin(self.size)
        if origin != self.origin:
            self.origin = origin
            self.refresh()
        self._relabel()

    def _origin(self, size: Size) -> tuple[int, int]:
        """The first column and row of the view, moved as little as possible so that the cursor is
        visible."""
        screen = self.playback.screen
        column, row = screen.cursor or (0, 0)
        return (
            _shifted(self.origin[0], column, size.width, screen.columns),
            _shifted(self.origin[1], row, size.height, screen.rows),
        )

    def render_line(self, y: int) -> Strip:
        """The part of a row that has room."""
        left, top = self.origin
        strip = super().render_line(y + top)
        cursor = self.playback.screen.cursor
        if self.browser is None and cursor is not None and cursor[1] == y + top:
            strip = with_cursor(strip, cursor[0], "hollow" if not self.has_focus else "block")
        if left or strip.cell_length != self.size.width:
            strip = strip.crop(left, left + self.size.width)
            strip = strip.adjust_cell_length(self.size.width, self.rich_style)
        return strip

    def look_back(self, on: bool) -> None:
        """Pause, then scroll back."""
        if on:
            self.playback.pause()
        super().look_back(on)

    def _relabel(self) -> None:
        """Time and keys in the border; once a second while it plays, and after every key."""
        playback = self.playback
        if self._ticking is not None:
            (self._ticking.resume if playback.playing and self.looked_at else self._ticking.pause)()
        label = self._words_now()
        if label != self.label:
            self.label = label
            self.post_message(Relabelled())

    def _words_now(self) -> str:
        playback = self.playback
        if self.browser is not None:
            return f"{self.browser.words}"
        if playback.fault:
            return f"cannot go on: {one_line(playback.fault, 50)} · q closes"
        keys = _KEYS if self.size.width >= _WIDE else _KEYS_SHORT
        mark = (
            "…" if playback.seeking else "▶" if playback.playing else "■" if playback.over else "‖"
        )
        length = "…" if playback.length is None else clock(playback.length)
        speed = "" if playback.speed == 1 else f" ×{playback.speed:g}"
        return f"{mark} {clock(playback.at)}/{length}{speed} · {keys}"

    def unwatched(self) -> None:
        """Do nothing: the output of a hidden recording is no news."""

    def on_hide(self) -> None:
        """Pause while hidden."""
        self.playback.pause()

    # ---- keys, mouse, links

    def takes(self, event: events.Key) -> bool:
        """The keys of the player; all others are the workbench's."""
        if self.browser is not None:
            self.browse(self.browser, event)
            return True
        action = self._player_keys.get(event.key)
        if action is None:
            return False
        action()
        if self.is_attached:
            self._relabel()
        return True

    def _key_table(self) -> dict[str, Callable[[], object]]:
        """Return the action of each key of the player."""
        playback = self.playback
        keys: dict[str, Callable[[], object]] = {
            "space": lambda: (playback.pause if playback.playing else playback.play)(),
            "left": lambda: self._seek(-_STEP),
            "right": lambda: self._seek(_STEP),
            "shift+left": lambda: self._seek(-_LEAP),
            "shift+right": lambda: self._seek(_LEAP),
            "home": lambda: playback.seek(0.0),
            "end": self._seek_end,
            "plus": self._faster,
            "minus": self._slower,
            "e": lambda: self.post_message(ActionAsked("export", self.path)),
            # At once: keys typed directly after it are for the next tab.
            "q": lambda: self._close(self),
            LEAVE: self._leave,
        }
        same = {"0": "home", "equals_sign": "plus", "up": "plus", "down": "minus", "escape": "q"}
        return keys | {key: keys[twin] for key, twin in same.items()}

    def _seek(self, seconds: float) -> None:
        self.playback.seek(self.playback.at + seconds)

    def _seek_end(self) -> None:
        length = self.playback.length
        self.playback.seek(length if length is not None else float("inf"))

    def _faster(self) -> None:
        speed = self.playback.speed
        self.playback.speed = next((s for s in _SPEEDS if s > speed), _SPEEDS[-1])

    def _slower(self) -> None:
        speed = self.playback.speed
        self.playback.speed = next((s for s in reversed(_SPEEDS) if s < speed), _SPEEDS[0])


def _shifted(start: int, position: int, room: int, whole: int) -> int:
    """Return the start of a stretch of ``room`` of ``whole`` cells that contains a position."""
    if whole <= room or room <= 0:
        return 0
    if position < start:
        start = position
    elif position >= start + room:
        start = position - room + 1
    return min(max(0, start), whole - room)


def clock(seconds: float) -> str:
    """A time as players show it."""
    minutes, remainder = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"
