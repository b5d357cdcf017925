"""Which state of an execution may follow which: seed 003, with the verbs that its table lacked.

``failed`` and ``diverged`` are ends that ``retry`` alone can take back; ``completed`` and
``abandoned`` are final.
"""

from typing import Final

from sam_tui.core.ports.workflows import ExecutionState
from sam_tui.core.workflow.refusals import WorkflowRefused

NEXT: Final[dict[ExecutionState, frozenset[ExecutionState]]] = {
    "idle": frozenset({"running", "abandoned"}),
    "running": frozenset({"completed", "failed", "paused", "abandoned", "diverged"}),
    "paused": frozenset({"running", "failed", "abandoned", "diverged"}),
    "failed": frozenset({"running"}),
    "diverged": frozenset({"running"}),
    "completed": frozenset(),
    "abandoned": frozenset(),
}
ENDED: Final[frozenset[ExecutionState]] = frozenset({
    "completed", "failed", "abandoned", "diverged",
})  # fmt: skip


def require_next(execution: str, state: ExecutionState, target: ExecutionState) -> None:
    """Raise ``WorkflowRefused`` (``transition_invalid``) for a change the table does not have."""
    if target not in NEXT[state]:
        allowed = sorted(NEXT[state])
        raise WorkflowRefused(
            "transition_invalid",
            f"Execution {execution} is {state} and cannot become {target}.",
            hint=f"From {state} it can become: {', '.join(allowed) or 'nothing else'}.",
            details={"execution_id": execution, "from": state, "to": target, "allowed": allowed},
        )


def require_running(execution: str, state: ExecutionState) -> None:
    """Raise ``WorkflowRefused`` (``execution_paused`` or ``execution_closed``) unless it runs."""
    if state == "running":
        return
    details = {"execution_id": execution, "state": state}
    if state in ENDED:
        raise WorkflowRefused(
            "execution_closed", f"Execution {execution} is {state}.", details=details
        )
    raise WorkflowRefused(
        "execution_paused",
        f"Execution {execution} is {state}.",
        hint="Resume it first.",
        details=details,
    )
