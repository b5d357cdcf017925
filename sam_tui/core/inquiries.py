"""Questions with exactly one answer: ask -> answered | withdrawn | expired | unattended."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace

from sam_tui.core.bus import Bus
from sam_tui.core.clock import Clock
from sam_tui.core.events import ClosedAs, InquiryClosed, InquiryOpened
from sam_tui.core.ids import CallId, ConversationId, InquiryId, mint
from sam_tui.core.inquiry import Answer, ApprovalRequest, Inquiry, Question

Responder = Callable[[Inquiry], Answer | None]
"""Answers an inquiry at once; None if it has no answer."""

Attends = Callable[[Inquiry], bool]
"""Whether somebody can answer an inquiry. Called in the task that asks, right before the inquiry opens."""

Beside = Callable[[Inquiry], Coroutine[object, object, None] | None]
"""What runs while an inquiry is open, such as notifying the person; it is cancelled when that ends."""


_CLOSED: Mapping[bool, ClosedAs] = {False: "answered", True: "withdrawn"}
"""How an inquiry ended, by whether it has no answer."""


@dataclass(frozen=True, slots=True)
class InquiryOutcome:
    """How an inquiry ended. ``answer`` is set exactly when ``closed`` is ``answered``."""

    closed: ClosedAs
    answer: Answer | None
    elapsed: float
    ahead: Mapping[InquiryId, Answer] = field(default_factory=dict[InquiryId, Answer])
    """Answers that the person gave meanwhile for later calls, by the ids of their inquiries."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What an inquiry says about the other calls of its message; computed only if somebody can answer."""

    before: int = 0
    coming: Callable[[], tuple[Inquiry, ...]] = tuple


ALONE = Announcement()
"""The announcement for a call without others in its message."""


class Inquiries:
    """The open questions of one runtime.

    ``responder`` is asked first. With ``attended`` false (for this inquiry, where it depends) nobody
    else will answer: such an inquiry ends as ``unattended`` at once, so nothing ever hangs. An approval
    that nobody answered for ``patience`` seconds ends as ``expired``; 0 waits as long as it takes.
    """

    def __init__(
        self,
        bus: Bus,
        clock: Clock,
        *,
        attended: bool | Attends,
        responder: Responder | None = None,
        beside: Beside | None = None,
        patience: float = 0,
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._attended = attended
        self._responder = responder
        self._beside = beside
        self._patience = patience or None
        self._open: dict[InquiryId, tuple[Inquiry, asyncio.Future[Answer | None]]] = {}
        self._ahead: dict[InquiryId, Answer] = {}
        self._left: set[InquiryId] = set()

    async def ask(
        self,
        conversation: ConversationId,
        call: CallId,
        request: ApprovalRequest | Question,
        announcement: Announcement = ALONE,
    ) -> InquiryOutcome:
        """Open a question and wait for its end. Cancelling the caller withdraws it."""
        started = self._clock.monotonic()
        inquiry = Inquiry(InquiryId(mint("inq")), conversation, call, request)
        answer = self._responder(inquiry) if self._responder else None
        if answer is not None:
            return self._end(inquiry, "answered", answer, started, announce=True)
        if not self._attends(inquiry):
            return self._end(inquiry, "unattended", None, started, announce=True)
        inquiry = replace(inquiry, before=announcement.before, coming=announcement.coming())
        try:
            outcome = await self._opened(inquiry, started)
        finally:
            ahead = {c.id: self._ahead.pop(c.id) for c in inquiry.coming if c.id in self._ahead}
        return replace(outcome, ahead=ahead)

    async def _opened(self, inquiry: Inquiry, started: float) -> InquiryOutcome:
        future: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._open[inquiry.id] = (inquiry, future)
        self._bus.publish(InquiryOpened(inquiry))
        limit = self._patience if isinstance(inquiry.request, ApprovalRequest) else None
        waiting = asyncio.timeout(limit)
        try:
            async with waiting:
                answer = await self._waited(inquiry, future)
        except TimeoutError:
            if not waiting.expired():
                raise
            if future.cancelled() or not future.done():
                return self._end(inquiry, "expired", None, started)
            answer = future.result()  # given in the very moment
        except asyncio.CancelledError:
            self._end(inquiry, "withdrawn", None, started)
            raise
        finally:
            self._open.pop(inquiry.id, None)
        closed = "unattended" if inquiry.id in self._left else _CLOSED[answer is None]
        self._left.discard(inquiry.id)
        return self._end(inquiry, closed, answer, started)

    async def _waited(
        self, inquiry: Inquiry, future: asyncio.Future[Answer | None]
    ) -> Answer | None:
        work = self._beside(inquiry) if self._beside is not None else None
        if work is None:
            return await future
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            try:
                return await future
            finally:
                task.cancel()

    def answer(self, inquiry: InquiryId, answer: Answer) -> bool:
        """Give the one answer. False when it no longer waits; nothing changes then.

        One to come can be answered as long as the question that announced it waits.
        """
        if inquiry in {coming.id for entry in self.pending() for coming in entry.coming}:
            return self._ahead.setdefault(inquiry, answer) is answer
        entry = self._open.get(inquiry)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(answer)
        return True

    def withdraw(self, request: ApprovalRequest | Question) -> None:
        """Take back an open question that has become needless."""
        for inquiry, future in self._open.values():
            if inquiry.request is request and not future.done():
                future.set_result(None)

    def leave(self, inquiry: InquiryId) -> None:
        """End an open question as ``unattended``: nobody can answer it any more."""
        entry = self._open.get(inquiry)
        if entry is not None and not entry[1].done():
            self._left.add(inquiry)
            entry[1].set_result(None)

    def pending(self) -> list[Inquiry]:
        """The open questions, oldest first."""
        return [inquiry for inquiry, future in self._open.values() if not future.done()]

    def _attends(self, inquiry: Inquiry) -> bool:
        return self._attended(inquiry) if callable(self._attended) else self._attended

    def _end(
        self,
        inquiry: Inquiry,
        closed: ClosedAs,
        answer: Answer | None,
        started: float,
        *,
        announce: bool = False,
    ) -> InquiryOutcome:
        if announce:
            self._bus.publish(InquiryOpened(inquiry))
        self._bus.publish(InquiryClosed(inquiry.conversation, inquiry.id, closed))
        return InquiryOutcome(closed, answer, self._clock.monotonic() - started)
