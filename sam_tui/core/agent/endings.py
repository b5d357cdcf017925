"""How answers end: the status stated in workflow mode, and requests to continue an answer."""

import json
import re
from collections.abc import Callable
from typing import Literal

from sam_tui.core.errors import BudgetExhausted, EmptyAnswer, SamError
from sam_tui.core.events import AnswerEnd
from sam_tui.core.messages import AssistantMessage

Status = Literal["continue", "complete", "stop"]

_LINE = re.compile(r'^\s*(?:```\w*\s*)?(\{\s*"status"\s*:\s*"[a-z]+"\s*\})\s*(?:```)?\s*$', re.M)
_KNOWN: tuple[Status, ...] = ("continue", "complete", "stop")


def status_of(text: str) -> Status | None:
    """The last ``{"status": …}`` line of an answer, or None; other words mean nothing."""
    lines = _LINE.findall(text)
    if not lines:
        return None
    last = json.loads(lines[-1])["status"]
    return next((status for status in _KNOWN if status == last), None)


_GO_ON = (
    "Your answer reached the limit of its length and ends in the middle. Go on exactly where it "
    "stopped, without repeating anything."
)
_SHORTER = (
    "Your answer reached the limit of its length. A call that was cut did not run: write less at "
    "once, in several steps where it has to be."
)
_CALL = (
    "Your answer has a call as text in a form that nothing reads here, so it did not run. Call the tool "
    "itself, as a function call; where you cannot, the whole answer is "
    '<tool_call>{"name": "…", "arguments": {…}}</tool_call>.'
)
_SAY = "Your answer was empty. Go on with the task, or say what came of it."
TOLD = {
    "length": "The answer reached the model's limit of length; the model is asked to continue.",
    "empty": "The model gave an empty answer; it is asked again.",
    "text": "The model wrote a call as text, which does not run; it is asked to call the tool.",
    "tools": "The tools changed: the provider's cache of this conversation begins anew.",
}
"""Notices for the person: by how an answer ended too early, and ``tools`` for changed tools."""


class Endings:
    """Decides how each answer of one turn ended."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.early: AnswerEnd = "complete"
        """How the last answer ended."""
        self.fault: SamError | None = None
        """Why the turn ends because of an answer that ended too early; None if it does not."""
        self._asked = False

    def request(
        self, message: AssistantMessage, *, truncated: bool, writes_call: Callable[[str], bool]
    ) -> tuple[str, str]:
        """The message that asks the model to continue an incomplete answer, and its notice for people;
        empty after a complete one. A model that ``writes_call`` as text is asked once a turn to call.

        Raises ``EmptyAnswer`` or ``BudgetExhausted`` where the answer before it ended too early, too.
        """
        before, self.early = self.early, _end_of(message, truncated=truncated)
        if before == "complete" or message.calls:
            self._parts.clear()
        if not message.calls:
            self._parts.append(message.text)
        if self.early == "complete":
            return self._of_whole(message, writes_call)
        if before != "complete":
            self.fault = self._fault()
            raise self.fault
        if self.early == "empty":
            return _SAY, TOLD["empty"]
        cut = message.calls or not message.text.strip()
        return _SHORTER if cut else _GO_ON, TOLD["length"]

    def _of_whole(
        self, message: AssistantMessage, writes_call: Callable[[str], bool]
    ) -> tuple[str, str]:
        if self._asked or message.calls or not writes_call(message.text):
            return "", ""
        self._asked = True
        return _CALL, TOLD["text"]

    @property
    def answer(self) -> str:
        """The last answer, joined with its continuations."""
        return "".join(self._parts)

    @property
    def ending(self) -> AnswerEnd:
        """How the last answer ended, with its continuations."""
        continued = self.early == "complete" and len(self._parts) > 1
        return "continued" if continued else self.early

    def _fault(self) -> SamError:
        if self.early == "empty":
            hint = "Ask again, or choose another model."
            return EmptyAnswer("The model gave an empty answer twice.", hint=hint)
        hint = "Continue with another message, or ask for less at once."
        text = "The answer reached the model's limit of length twice."
        return BudgetExhausted(text, limit="output", hint=hint)


def _end_of(message: AssistantMessage, *, truncated: bool) -> AnswerEnd:
    if truncated:
        return "length"
    return "complete" if message.calls or message.text.strip() else "empty"
