"""Fleets as front ends see them: their figures, tasks and questions, and what may be asked of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

OPEN = ("waiting", "queued", "applying")
"""The states of a task that has not ended."""


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """A fleet in figures."""

    id: str
    workspace: str
    counts: Mapping[str, int]
    """How many tasks have each state."""
    cost: float | None
    """US dollars; None if no price is known."""
    tokens: int
    questions: int
    remaining: float | None
    """Seconds until the end, estimated from the tasks that have ended; None if none has or all have."""
    driven: bool

    @property
    def money(self) -> str:
        """The cost in words: a dash while it is unknown."""
        return "–" if self.cost is None else f"${self.cost:.4f}"

    @property
    def total(self) -> int:
        """The number of tasks in all states."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """Tasks that are over, however."""
        return self.total - sum(self.counts.get(state, 0) for state in OPEN)


@dataclass(frozen=True, slots=True)
class FleetTaskLine:
    """A task's state, with its answer or the reason why it has none."""

    id: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class FleetInquiry:
    """A question that waits in the inbox of a fleet."""

    id: str
    task: str
    title: str
    details: tuple[str, ...]
    choices: tuple[str, ...]


class FleetControl(Protocol):
    """The fleets of a data folder, whichever process drives them. All methods wait for the disk."""

    def statuses(self, limit: int) -> Sequence[FleetStatus]:
        """The newest fleets, the newest first. Raises ``StorageError``."""
        ...

    def tasks(self, id: str) -> Sequence[FleetTaskLine]:
        """The tasks of a fleet. Raises ``UsageError``, ``StorageError``."""
        ...

    def inquiries(self, id: str) -> Sequence[FleetInquiry]:
        """Return the open questions of a fleet's tasks. Raises as ``tasks``."""
        ...

    def answer(self, id: str, inquiry: str, reply: str) -> None:
        """Answer a question: ``approve``, ``deny`` or a text. Raises ``UsageError`` where it is gone."""
        ...

    def cancel(self, id: str) -> None:
        """End a fleet: nothing begins, what runs is ended."""
        ...

    def retry(self, id: str) -> None:
        """Continue a fleet in a separate program, and do its failed tasks again."""
        ...
