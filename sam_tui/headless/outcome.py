"""The outcomes of a run. The exit code is a pure function of the result's subtype."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from sam_tui.core.errors import AnswerTooLarge, BudgetExhausted, SamError

if TYPE_CHECKING:
    from sam_tui.core.events import AnswerEnd, TurnFinished

Subtype = Literal[
    "success",
    "error_during_execution",
    "error_usage",
    "error_blocked",
    "error_auth",
    "error_configuration",
    "error_max_turns",
    "error_max_tokens",
    "error_max_cost",
    "error_max_output",
    "error_max_answer",
    "error_max_structured_output_retries",
    "error_internal",
    "error_unavailable",
    "cancelled",
    "terminated",
]

EXIT_CODES: dict[Subtype, int] = {
    "success": 0,
    "error_during_execution": 1,
    "error_usage": 2,
    "error_blocked": 3,
    "error_auth": 41,
    "error_configuration": 52,
    "error_max_turns": 53,
    "error_max_tokens": 53,
    "error_max_cost": 53,
    "error_max_output": 53,
    "error_max_answer": 53,
    "error_max_structured_output_retries": 65,
    "error_internal": 70,
    "error_unavailable": 75,
    "cancelled": 130,
    "terminated": 143,
}

_BY_EXIT_CODE: dict[int, Subtype] = {
    code: subtype for subtype, code in reversed(EXIT_CODES.items()) if code
}


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a run. ``answer`` may be partial; ``title`` and ``message`` explain an error.

    ``ending`` is how the answer ended, None where there is none.
    """

    subtype: Subtype
    answer: str = ""
    title: str = ""
    message: str = ""
    ending: "AnswerEnd | None" = None

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        return EXIT_CODES[self.subtype]

    @property
    def is_error(self) -> bool:
        """Whether it is anything but a success."""
        return self.subtype != "success"


def outcome_of_turn(finished: "TurnFinished", *, unattended: int) -> RunOutcome:
    """Return the outcome of a turn that ended by itself.

    ``unattended`` is the number of its approvals and questions that nobody answered: a turn that
    finished with any is blocked, because some of its work was not done.
    """
    if finished.reason == "finished":
        if not unattended:
            return RunOutcome("success", finished.answer, ending=finished.ending)
        what = "1 request" if unattended == 1 else f"{unattended} requests"
        return RunOutcome(
            "error_blocked",
            finished.answer,
            "Blocked",
            f"Nobody could answer {what}, which counts as refused.\n"
            "Answer with --answers FILE, choose a --permission-mode, or allow more with "
            "--add-dir.",
            finished.ending,
        )
    if finished.reason == "cancelled":
        return RunOutcome(
            "cancelled", finished.answer, "Cancelled", "Interrupted before it finished."
        )
    subtype = _subtype(finished.exit_code, finished.limit)
    return RunOutcome(
        subtype, finished.answer, finished.error_title, finished.error, finished.ending
    )


def outcome_of_error(error: SamError) -> RunOutcome:
    """The outcome for an error that prevented or ended the turn."""
    limit = error.limit if isinstance(error, BudgetExhausted | AnswerTooLarge) else ""
    return RunOutcome(_subtype(error.exit_code, limit), "", error.title, error.explain())


def outcome_of_fault(fault: BaseException, mask: Callable[[str], str]) -> RunOutcome:
    """Return the outcome of an unexpected exception, a defect here. ``mask`` masks secrets in its text."""
    text = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    return RunOutcome("error_internal", "", "A defect in sam-tui", mask(text))


def _subtype(exit_code: int, limit: str) -> Subtype:
    if f"error_max_{limit}" in EXIT_CODES:
        return cast("Subtype", f"error_max_{limit}")
    return _BY_EXIT_CODE.get(exit_code, "error_during_execution")
