"""A decision on a call, in the form that people see, the log records and the model reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

REHEARSAL = "a rehearsal on a copy of the workspace"
"""The scope of a decision that allows a command to run on a copy of the workspace only."""
Outcome = Literal["allow", "deny", "expired", "cancelled", "amended"]
DecidedBy = Literal["user", "rule", "mode", "hook"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about a call: who decided, by which rule, and why.

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
    """The content as the person changed it. It is judged again and not logged."""

    def __post_init__(self) -> None:
        """Make the targets a tuple, so that a loaded decision equals the stored one."""
        if not isinstance(self.targets, tuple):  # pyright: ignore[reportUnnecessaryIsInstance] # JSON
            object.__setattr__(self, "targets", tuple(self.targets))

    @property
    def allowed(self) -> bool:
        """Whether the call may run."""
        return self.outcome == "allow"


def denial(decision: Decision) -> str:
    """The text that the caller of a refused call gets."""
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


_SENTENCES: Mapping[tuple[Outcome, DecidedBy | Literal[""]], str] = {
    ("allow", "user"): "You allowed {operation}{scope}",
    ("allow", "hook"): "A hook of yours allowed {operation}: {reason}",
    ("allow", ""): "",
    ("deny", "user"): "You denied {operation}{comment}",
    ("deny", "hook"): "A hook stopped {operation}: {reason}",
    ("deny", ""): "{operation} was refused: {reason}",
    ("amended", ""): "You changed the content of {operation}",
    ("expired", ""): "Nobody answered about {operation} in time",
    ("cancelled", ""): "The question about {operation} was withdrawn",
}
"""Sentences about a decision, by outcome and by who decided; an empty name stands for all others."""


def decision_words(decision: Decision) -> str:
    """The decision as a sentence; empty if the running call shows it already."""
    comment = f": {decision.comment}" if decision.comment else ""
    scope = f" ({decision.scope})" if decision.scope else ""
    by_whom = _SENTENCES.get((decision.outcome, decision.by))
    sentence = _SENTENCES[decision.outcome, ""] if by_whom is None else by_whom
    return sentence.format(
        operation=decision.operation, reason=decision.reason, scope=scope, comment=comment
    )
