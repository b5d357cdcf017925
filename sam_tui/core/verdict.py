"""A decision on a call, in the form that is shown, recorded and told to the model."""

from dataclasses import dataclass
from typing import Literal

REHEARSAL = "a rehearsal on a copy of the workspace"
"""The scope of a decision that allows a command to be tried, and nothing to be changed by it."""
Outcome = Literal["allow", "deny", "expired", "cancelled", "amended"]
DecidedBy = Literal["user", "rule", "mode", "hook"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decided what about one call, and why.

    ``rule`` names what decided (``inside-workspace``, ``grant:…``, ``mode:plan``, ``unattended``, a
    hook's command);
    ``comment`` is the person's, told to the model; ``elapsed`` is seconds waited for the answer.
    ``targets`` are the resolved paths, commands, keys or addresses that were judged; ``asker`` names
    the subagent that asked, or is empty; ``workspace`` is the folder it happened in. Lists, as JSON
    brings them back, become tuples.
    """

    operation: str
    outcome: Outcome
    by: DecidedBy
    rule: str
    reason: str
    scope: str = ""
    comment: str = ""
    elapsed: float = 0.0
    targets: tuple[str, ...] = ()
    asker: str = ""
    workspace: str = ""
    amendment: str = ""
    """What the person left of a proposal that they changed: judged anew, and never put on record."""

    def __post_init__(self) -> None:
        """Targets as a tuple, so that a stored decision equals the one that was stored."""
        if not isinstance(self.targets, tuple):  # pyright: ignore[reportUnnecessaryIsInstance] # JSON
            object.__setattr__(self, "targets", tuple(self.targets))

    @property
    def allowed(self) -> bool:
        """Whether the call may run."""
        return self.outcome == "allow"


def denial(decision: Decision) -> str:
    """What a call that was not allowed says to whoever made it."""
    if decision.rule == "unattended":
        return (
            f"{decision.operation} needs an approval and nobody is there to give it: "
            f"{decision.reason}. Go on without it, or say what should be approved."
        )
    if decision.outcome == "expired":
        return f"Nobody answered about {decision.operation} in time: {decision.reason}."
    if decision.by == "user":
        remark = f" They said: {decision.comment}" if decision.comment else ""
        return f"The person refused {decision.operation}: {decision.reason}.{remark}"
    if decision.by == "hook":
        return f"A hook stopped {decision.operation}: {decision.reason} (hook: {decision.rule})"
    return f"{decision.operation} is not allowed: {decision.reason} (rule {decision.rule})."


def decision_words(decision: Decision) -> str:
    """What was decided, in a sentence; empty where the running call says it already."""
    comment = f": {decision.comment}" if decision.comment else ""
    scope = f" ({decision.scope})" if decision.scope else ""
    match decision.outcome, decision.by:
        case "allow", "user":
            return f"You allowed {decision.operation}{scope}"
        case "allow", "hook":
            return f"A hook of yours allowed {decision.operation}: {decision.reason}"
        case "deny", "hook":
            return f"A hook stopped {decision.operation}: {decision.reason}"
        case "allow", _:
            return ""
        case "deny", "user":
            return f"You denied {decision.operation}{comment}"
        case "deny", _:
            return f"{decision.operation} was refused: {decision.reason}"
        case "amended", _:
            return f"You changed what {decision.operation} would write"
        case "expired", _:
            return f"Nobody answered about {decision.operation} in time"
        case _:
            return f"The question about {decision.operation} was withdrawn"
