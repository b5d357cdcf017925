"""The error of the workflow engine, with a code that programs can act on."""

from collections.abc import Mapping, Sequence
from typing import Any

from sam_tui.core.errors import SamError
from sam_tui.core.inquiry import chosen


class WorkflowRefused(SamError):
    """A call that was not possible. ``code`` is stable; ``details`` are plain JSON values."""

    title = "The workflow refused"

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.details: Mapping[str, Any] = details or {}

    def as_object(self) -> dict[str, object]:
        """The refusal as programs read it: ``{code, message, details}``."""
        return {"code": self.code, "message": self.explain(), "details": dict(self.details)}


def require_choice(text: str, choices: Sequence[str]) -> str:
    """The choice that a text names, see ``chosen``. Raises ``WorkflowRefused`` (``choice_invalid``)."""
    choice = chosen(text, choices)
    if not choice:
        raise WorkflowRefused(
            "choice_invalid",
            f"{text!r} is none of: {', '.join(choices)}.",
            hint="Answer with one of these.",
            details={"choices": list(choices)},
        )
    return choice


def output_refused(
    what: str, step: str, faults: Sequence[str], **details: object
) -> WorkflowRefused:
    """The refusal of an output or a plan that does not fit its step, naming every fault."""
    return WorkflowRefused(
        "output_invalid",
        f"The {what} of step {step} does not fit: {'; '.join(faults)}.",
        hint="Nothing has changed; a token stays valid. Correct it and send it again.",
        details={"step": step, "faults": list(faults), **details},
    )


def execution_held(execution_id: str) -> WorkflowRefused:
    """The refusal to drive what another drives."""
    return WorkflowRefused(
        "execution_held",
        f"Another process drives execution {execution_id}.",
        hint="Wait for it, or pause it first.",
        details={"execution_id": execution_id},
    )


def execution_unknown(execution_id: str) -> WorkflowRefused:
    """Return the refusal of an action on an execution that does not exist."""
    return WorkflowRefused(
        "execution_unknown",
        f"There is no execution {execution_id!r}.",
        details={"execution_id": execution_id},
    )
