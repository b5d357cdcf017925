"""What a person sees on standard error while a text run goes on."""

from sam_tui.core.events import (
    DecisionMade,
    Event,
    InquiryOpened,
    ModelRetried,
    Noticed,
    ToolFinished,
    ToolStarted,
)
from sam_tui.core.inquiry import Question
from sam_tui.core.text.invisible import foreign_letters


def progress_of(event: Event, *, verbose: bool) -> list[str]:
    """Lines for an event. Refusals and warnings always, the rest only when it was asked for."""
    match event:
        case DecisionMade(decision=decision) if not decision.allowed:
            letters = [words for target in decision.targets for words in foreign_letters(target)]
            line = f"refused: {decision.operation}: {decision.reason} ({decision.rule})"
            return [line, *(f"  letters: {words}" for words in letters)]
        case InquiryOpened(inquiry=inquiry) if isinstance(inquiry.request, Question):
            return [f"asked: {inquiry.request.prompt}"]
        case Noticed(level=level, text=text) if verbose or level != "info":
            return [f"{level}: {text}"]
        case _ if not verbose:
            return []
        case ToolStarted(summary=summary):
            return [summary]
        case ToolFinished(ok=False, summary=summary, text=text):
            return [f"failed: {summary}: {text.partition(chr(10))[0][:200]}"]
        case ModelRetried(attempt=attempt, attempts=attempts, delay=delay, reason=reason):
            return [f"retrying ({attempt}/{attempts}) in {delay:g} s: {reason}"]
        case _:
            return []
