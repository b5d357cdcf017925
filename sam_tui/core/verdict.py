"""A decision on a call, in the form that is shown, recorded and told to the model."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["allow", "deny", "expired", "cancelled"]
DecidedBy = Literal["user", "rule", "mode"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decided what about one call, and why.

    ``rule`` names what decided (``inside-workspace``, ``grant:…``, ``mode:plan``, ``unattended``);
    ``comment`` is the person's, told to the model; ``elapsed`` is seconds waited for the answer.
    """

    operation: str
    outcome: Outcome
    by: DecidedBy
    rule: str
    reason: str
    scope: str = ""
    comment: str = ""
    elapsed: float = 0.0

    @property
    def allowed(self) -> bool:
        """Whether the call may run."""
        return self.outcome == "allow"
