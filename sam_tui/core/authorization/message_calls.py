"""The calls of one message: which of them wait for which, and the person's answers ahead."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from sam_tui.core.accesses import LocatedAccess
from sam_tui.core.errors import SamError
from sam_tui.core.ids import CallId, ConversationId, InquiryId, mint
from sam_tui.core.inquiries import InquiryOutcome
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry

TOGETHER = "this call, answered in a list"
"""The scope of a decision that the person made in the list of all calls of a message."""
_AHEAD = ("once", "deny")
"""The choices that are accepted for a call before its question is open."""


class PendingCall(Protocol):
    """The parts of a request that are compared with those of another one."""

    @property
    def conversation(self) -> ConversationId: ...
    @property
    def call(self) -> CallId: ...
    @property
    def accesses(self) -> tuple[LocatedAccess, ...]: ...
    @property
    def arguments(self) -> str: ...


R = TypeVar("R", bound=PendingCall)


def no_others(_: CallId) -> Sequence[Any]:
    """The calls behind the only call of a message."""
    return ()


class MessageCalls(Generic[R]):
    """Announces later calls of a message with an earlier one's question, and remembers the answers.

    ``behind`` names the requests of the calls that begin only once a call has ended. It lives as long
    as the calls run: a cancelled turn ends the answers given ahead.
    """

    def __init__(self, behind: Callable[[CallId], Sequence[R]] = no_others) -> None:
        self._behind = behind
        self._foreseen: dict[InquiryId, tuple[R, ApprovalRequest]] = {}
        self._answers: dict[CallId, tuple[R, ApprovalRequest, Approval]] = {}
        self.answered = 0
        """The number of calls of the message that the person has decided."""

    def announce(
        self,
        call: CallId,
        foresee: Callable[[R], ApprovalRequest | None],
        redact: Callable[[str], str],
    ) -> tuple[Inquiry, ...]:
        """The questions to come behind a call, without secrets; ``foresee`` has None for a call that would
        not be asked about. Nothing is asked or decided."""
        coming: list[Inquiry] = []
        for later in self._behind(call):
            if later.call in self._answers:
                continue
            try:
                question = foresee(later)
            except (SamError, OSError, ValueError):
                continue  # the error is reported when its turn comes
            if question is not None:
                number = InquiryId(mint("inq"))
                self._foreseen[number] = later, question
                entry = number, later.conversation, later.call
                coming.append(Inquiry(*entry, question.redacted(redact)))
        return tuple(coming)

    def remember(self, outcome: InquiryOutcome) -> None:
        """Remember the person's answer, also those on calls to come."""
        answer = outcome.answer
        self.answered += isinstance(answer, Approval) and answer.choice != "amend"
        for number, answer in outcome.ahead.items():
            later, question = self._foreseen[number]
            if not isinstance(answer, Approval) or answer.choice not in _AHEAD:
                continue
            if later.call not in self._answers:
                self._answers[later.call] = later, question, answer
                self.answered += 1

    def denial(self, call: CallId) -> tuple[ApprovalRequest, Approval] | None:
        """Return the question that the person denied ahead: it stays denied, whatever happened since."""
        _, question, answer = self._answers.get(call, (None, None, None))
        if question is None or answer is None or answer.choice != "deny":
            return None
        return question, answer

    def approval(self, request: R, question: ApprovalRequest) -> Approval | None:
        """The yes that the person gave ahead to exactly this; None where it became another question."""
        listed = self._answers.pop(request.call, None)
        if listed is None:
            return None
        before, foreseen, answer = listed
        same = (before.accesses, before.arguments) == (request.accesses, request.arguments)
        if not same or _asked(foreseen) != _asked(question):
            self.answered -= 1
            return None
        return answer


def _asked(question: ApprovalRequest) -> ApprovalRequest:
    """The question without what no yes to this call takes, and what earlier calls may change of it: wider
    scopes, figures of past calls, and the whole text of a file of which it shows the changes."""
    once = tuple(replace(c, considered=0) for c in question.choices if c.id == "once")
    return replace(question, choices=once, timed_scope="", draft=None)
