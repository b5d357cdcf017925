"""Holds an answer to its limits while it streams, whichever adapter it comes from."""

from dataclasses import dataclass, field

from sam_tui.core.errors import AnswerTooLarge
from sam_tui.core.messages import AssistantMessage
from sam_tui.core.ports.model import AnswerLimits, CallDelta, Delta, ReasoningDelta, TextDelta
from sam_tui.core.text.nesting import Nesting


@dataclass(slots=True)
class _Arguments:
    size: int = 0
    nesting: Nesting = field(default_factory=Nesting)


class Meter:
    """Counts one answer. Every method raises ``AnswerTooLarge``."""

    def __init__(self, limits: AnswerLimits) -> None:
        self._limits = limits
        self._size = 0
        self._calls: dict[int, _Arguments] = {}

    def add(self, delta: Delta) -> None:
        """Count a piece, before anything is made of it."""
        match delta:
            case TextDelta(text) | ReasoningDelta(text):
                self._add(_size(text))
            case CallDelta():
                self._add_call(delta)
            case _:
                pass

    def check(self, message: AssistantMessage) -> None:
        """Look at a whole answer: it may have calls that came as text."""
        self._check_calls(len(message.calls))

    def _add(self, size: int) -> None:
        self._size += size
        if self._size > self._limits.size:
            what = f"The model answered with more than {self._limits.size:,} bytes."
            raise AnswerTooLarge(what, setting="answer_bytes")

    def _add_call(self, delta: CallDelta) -> None:
        size = _size(delta.arguments)
        self._add(size + _size(delta.name) + _size(delta.id))
        call = self._calls.setdefault(delta.index, _Arguments())
        self._check_calls(len(self._calls))
        limits = self._limits
        call.size += size
        if call.size > limits.arguments:
            what = f"The model sent a call with more than {limits.arguments:,} bytes of arguments."
            raise AnswerTooLarge(what, setting="argument_bytes")
        call.nesting.feed(delta.arguments)
        if call.nesting.deepest > limits.depth:
            what = f"The model nested the arguments of a call more than {limits.depth} deep."
            raise AnswerTooLarge(what, setting="argument_depth")

    def _check_calls(self, count: int) -> None:
        if count > self._limits.calls:
            what = f"The model sent more than {self._limits.calls} calls in one message."
            raise AnswerTooLarge(what, setting="answer_calls")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
