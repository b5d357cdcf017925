"""The agent's activity, computed from events, and its words for the status bar."""

from dataclasses import dataclass, field
from typing import Literal

from sam_tui.core.ids import CallId, InquiryId
from sam_tui.ui.plain import one_line

Phase = Literal["starting", "ready", "thinking", "streaming", "retrying", "cancelling"]
Tone = Literal["quiet", "busy", "waiting", "trouble"]
_STALL = 30.0
"""Seconds without a piece of an answer after which the person is told that the model is silent."""


@dataclass(slots=True)
class ActivityLine:
    """The activity of a conversation for the status line. Times are seconds of one monotonic clock."""

    phase: Phase = "starting"
    starting: str = "starting"
    running: dict[CallId, str] = field(default_factory=dict[CallId, str])
    """Summaries of the calls that run, oldest first, such as ``Reading: a.py``."""
    waiting: set[InquiryId] = field(default_factory=set[InquiryId])
    retry_at: float = 0.0
    retry_reason: str = ""
    since: float = 0.0
    """When the turn began, in monotonic seconds."""
    news: float = 0.0
    """When the last event of the turn arrived, in monotonic seconds."""

    @property
    def busy(self) -> bool:
        """Whether the indicator moves: work is running that does not wait for the person."""
        return self.phase != "ready" and not self.waiting

    def tone(self, now: float) -> Tone:
        """Return the tone of the words."""
        if self.waiting:
            return "waiting"
        if self.phase == "retrying" or self._stalled(now):
            return "trouble"
        return "quiet" if self.phase == "ready" else "busy"

    def words(self, now: float) -> str:
        """The state in a few words, for one line."""
        if self.waiting:
            return "waiting for you"
        match self.phase:
            case "starting":
                return self.starting
            case "retrying":
                left = max(0, round(self.retry_at - now))
                return f"retrying{f' in {left} s' if left else ''}: {self.retry_reason}"
            case "thinking" | "streaming" if self.running:
                return self._running()
            case _ if self._stalled(now):
                silent = max(0, int(now - self.news))
                return f"the model has been silent for {silent} s, Esc ends the turn"
            case _:
                return self.phase

    def elapsed(self, now: float) -> int:
        """Whole seconds since the turn began."""
        return max(0, int(now - self.since))

    def begin(self, now: float) -> None:
        """A turn began."""
        self.phase, self.since, self.news = "thinking", now, now
        self.running.clear()

    def turn_to(self, phase: Phase) -> None:
        """The turn entered another phase; a cancelled one stays cancelled until it ends."""
        if self.phase not in ("cancelling", "ready") or phase == "ready":
            self.phase = phase

    def retry(self, at: float, reason: str) -> None:
        """A model call is tried again at ``at``."""
        self.turn_to("retrying")
        self.retry_at, self.retry_reason = at, one_line(reason, 60)

    def end(self) -> None:
        """The turn is over."""
        self.phase = "ready"
        self.running.clear()

    def _stalled(self, now: float) -> bool:
        """Whether the model has sent nothing for long."""
        waited_for = self.phase in ("thinking", "streaming") and not self.running
        return waited_for and now - self.news >= _STALL

    def _running(self) -> str:
        summaries = list(self.running.values())
        more = f" (+{len(summaries) - 1})" if len(summaries) > 1 else ""
        return f"{summaries[-1]}{more}"
