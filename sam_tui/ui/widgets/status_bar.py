"""The bottom line: activity, mode, model, usage and cost."""

import time
from asyncio import TimerHandle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from sam_tui.core.usage import Usage
from sam_tui.ui.activity import ActivityLine
from sam_tui.ui.plain import one_line, short_path
from sam_tui.ui.timers import after

if TYPE_CHECKING:
    from textual.visual import VisualType

_TURNING = "⠋⠙⠹⠸⠼⠴⠦⠧"
_TONES = {"quiet": "$success", "busy": "$primary", "waiting": "bold $warning", "trouble": "$error"}
_MODE_STYLES = {
    "plan": "$primary",
    "ask-all": "$success",
    "accept-edits": "$warning",
    "auto": "$primary",
    "bypass": "bold $error",
}
_HERTZ = 4
_FLASH = 3.0
"""Seconds for which a brief message is shown."""
_SPENT = 4
_LEAST_SESSION = 16
"""With fewer free columns, nothing about terminal sessions is shown."""


@dataclass(slots=True)
class Figures:
    """The figures of one conversation in the bar."""

    usage: Usage = field(default_factory=Usage)
    context: str = ""
    """The share of the context window that the last request and its answer took."""
    cache: str = ""
    """The share of the last request that came from the provider's cache."""
    todos: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Standing:
    """The contents of the bar besides the activity; ``figures`` belong to the displayed conversation.

    ``sandbox`` is the kind of confinement or empty; ``trust`` says that the folder is not believed.
    """

    home: str = ""
    workspace: str = ""
    model: str = ""
    figures: Figures = field(default_factory=Figures)
    mode: str = "ask"
    sandbox: str = ""
    phase: str = ""
    """The phase of a workflow and the tools that it allows."""
    trust: str = ""
    audit: str = ""
    """A warning that the audit log is damaged; empty if it is not."""
    beside: str = ""
    """Work in the background."""
    sessions: tuple[str, str] = ("", "")
    """The state of the terminals: text and style."""
    offer: str = ""
    """How the person can stop waiting for the command that the agent waits for."""
    custom: str = ""
    """The output of the person's own status command."""
    hint: str = ""
    """The key that leaves the focused widget, such as a terminal."""


def counted(tokens: int) -> str:
    """A number of tokens in at most five characters: ``987``, ``12.3k``, ``4.5M``."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 999_950:
        return f"{tokens / 1000:.1f}k" if tokens < 99_950 else f"{tokens // 1000}k"
    return f"{tokens / 1_000_000:.1f}M"


def spent(usage: Usage, *, brief: bool = False) -> str:
    """The tokens and the money; ``–`` where the price is unknown. ``brief`` leaves the cached out."""
    cached = (
        f" ({counted(usage.cached_tokens)} cached)" if usage.cached_tokens and not brief else ""
    )
    money = (
        "–"
        if usage.cost is None
        else f"${usage.cost:.2f}"
        if usage.cost >= 0.1
        else f"${usage.cost:.4f}"
    )
    return f"↑{counted(usage.input_tokens)}{cached} ↓{counted(usage.output_tokens)} {money}"


def segments(standing: Standing, *, brief: bool = False) -> list[tuple[int, str, str]]:
    """(rank, text, style) from left to right; when room is short the highest rank goes first."""
    done, total = standing.figures.todos
    sandbox = {"": "", "none": "no sandbox"}.get(standing.sandbox, f"sandbox: {standing.sandbox}")
    unsafe = standing.sandbox == "none"
    parts = [
        (2, standing.phase, "$primary"),
        (6, f"todo {done}/{total}" if total else "", "$text-muted"),
        (0, standing.mode, _MODE_STYLES.get(standing.mode, "$text-muted")),
        (0, standing.audit, "bold $error"),
        (1, standing.trust, "$warning"),
        (1, standing.hint, "$primary"),
        (1, standing.offer, "$primary"),
        (3, standing.beside, "$primary"),
        (
            2,
            one_line(standing.model, 32) or "no model",
            "$foreground" if standing.model else "$warning",
        ),
        (3, standing.custom, "$foreground"),
        (3, standing.figures.context, "$text-muted"),
        (6, standing.figures.cache, "$text-muted"),
        (_SPENT, spent(standing.figures.usage, brief=brief), "$text-muted"),
        (5, short_path(standing.workspace, standing.home), "$text-muted"),
        (3, sandbox, "$warning" if unsafe else "$text-muted"),
    ]
    return [part for part in parts if part[1]]


def fitted(standing: Standing, width: int) -> list[tuple[int, str, str]]:
    """The segments that fit in ``width`` columns with a space between; the mode always stays."""
    parts = segments(standing)
    while len(parts) > 1 and _width(parts) > width:
        dropped = max(parts)
        parts.remove(dropped)
        if dropped[0] == _SPENT:
            # The short form may still fit where the long one did not.
            shorter = [p for p in segments(standing, brief=True) if p in parts or p[0] == _SPENT]
            if _width(shorter) <= width:
                return shorter
    return parts


def _width(parts: list[tuple[int, str, str]]) -> int:
    return sum(Content(text).cell_length + 3 for _, text, _ in parts)


class StatusBar(Widget):
    """One row. Its timer runs only while the agent works."""

    def __init__(self, standing: Standing, activity: ActivityLine) -> None:
        super().__init__(id="status")
        self.standing = standing
        self.activity = activity
        self.notice = ""
        """A short hint that replaces the state until the next change, such as how to quit."""
        self.flashed = ""
        """A brief message that disappears by itself."""
        self._flashing: TimerHandle | None = None
        self._offer: Callable[[], str] = str
        """Returns how the person can stop waiting for the agent's command; empty at first."""
        self._drawn = Content("")
        self._frame = 0
        self._moves = True
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """The timer exists from the start and rests."""
        self._timer = self.set_interval(1 / _HERTZ, self._turn, pause=True)
        self.show()

    def show(self) -> None:
        """Draw again if the content changed, and let the indicator move or rest."""
        if self._timer is not None:
            if self.activity.busy:
                self._timer.resume()
            else:
                self._timer.pause()
        if not (self.is_mounted and self._content().is_same(self._drawn)):
            self.refresh()

    def offer_from(self, offer: Callable[[], str]) -> None:
        """Call ``offer`` at each drawing while the agent is busy: it returns what the person can do now."""
        self._offer = offer

    def move(self, moves: bool) -> None:
        """Set whether the indicator turns; if not, it is drawn once a second, for the time."""
        self._moves = moves
        self.show()

    def say(self, notice: str) -> None:
        """Show a hint in place of the state; empty to take it away."""
        self.notice = notice
        self.show()

    def flash(self, words: str) -> None:
        """Say something short in passing, in place of the state."""
        self.flashed = words
        if self._flashing is not None:
            self._flashing.cancel()
        self._flashing = after(self, _FLASH, self._faded)
        self.refresh()

    def _faded(self) -> None:
        self.flashed, self._flashing = "", None
        self.refresh()

    def _turn(self) -> None:
        self._frame += 1
        if self._moves or self._frame % _HERTZ == 0:
            self.refresh()

    def render(self) -> "VisualType":
        """State on the left, the rest on the right, as much as fits."""
        self._drawn = self._content()
        return self._drawn

    def _content(self) -> Content:
        width = self.size.width - 2
        self.standing.offer = self._offer() if self.activity.busy else ""
        # A passing notice, and what went wrong, may take all cells but those of the mode.
        trouble = self.activity.tone(time.monotonic()) == "trouble"
        wide = self.flashed or (trouble and not self.notice)
        room = width - len(self.standing.mode) - 3 if wide else width // 2
        left = self._state(max(20, room))
        left = self._with_sessions(left, max(20, 2 * width // 3) - left.cell_length)
        right = [
            Content.assemble(("" if first else " · ", "$text-disabled"), (text, style))
            for first, (_, text, style) in _first_marked(
                fitted(self.standing, width - left.cell_length)
            )
        ]
        end = Content("").join(right)
        gap = max(1, width - left.cell_length - end.cell_length)
        return Content.assemble(" ", left, " " * gap, end).truncate(self.size.width, ellipsis=True)

    def _with_sessions(self, left: Content, room: int) -> Content:
        """The notices of terminals, placed after the state so that nothing else shifts."""
        words, style = self.standing.sessions
        if not words or room < _LEAST_SESSION or self.notice or self.flashed:
            return left
        return Content.assemble(left, (" · ", "$text-disabled"), (one_line(words, room - 3), style))

    def _state(self, limit: int) -> Content:
        if self.notice:
            return Content(self.notice).stylize("bold $warning")
        if self.flashed:
            return Content(one_line(self.flashed, limit)).stylize("$foreground")
        now = time.monotonic()
        activity = self.activity
        style = _TONES[activity.tone(now)]
        mark = _TURNING[self._frame % len(_TURNING)] if activity.busy and self._moves else "●"
        words = f"{mark} {activity.words(now)}"
        if activity.busy and activity.phase != "starting":
            took = f" {activity.elapsed(now)} s"
            return Content(one_line(words, limit - len(took)) + took).stylize(style)
        return Content(one_line(words, limit)).stylize(style)


def _first_marked(
    parts: list[tuple[int, str, str]],
) -> list[tuple[bool, tuple[int, str, str]]]:
    return [(index == 0, part) for index, part in enumerate(parts)]
