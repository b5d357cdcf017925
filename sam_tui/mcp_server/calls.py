"""Calls in flight: each runs in a task of its own, and its questions find the client that made it.

A call outlives the request that began it: with protocol 2026-07-28 a question ends the request, and the
answer comes with the next one, while the call waits in between.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

import mcp_types as types

from sam_tui.core.bus import Bus, Subscription
from sam_tui.core.ids import CallId, ConversationId, InquiryId, mint
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Answer, Inquiry

PARKED_SECONDS: Final = 600.0
"""Seconds that a call waits for the request that brings its answer."""
OVERTAKEN_SECONDS: Final = 120.0
"""Seconds after which a waiting call ends if its client begins another one in the same conversation: the
client may have forgotten it, and its question would delay the new call's."""
MOST_PARKED: Final = 64

Work = Callable[["Call"], Awaitable[types.CallToolResult]]


@dataclass(eq=False)
class Call:
    """One running call. ``asks`` says whether its client has a person to ask."""

    id: CallId
    conversation: ConversationId
    asks: bool
    subscription: Subscription
    inquiries: deque[Inquiry] = field(default_factory=deque[Inquiry])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the call asks a question or ends."""
    unanswered: str = ""
    """Why the call was ended without an answer to its question; empty if it was not."""
    task: "asyncio.Task[types.CallToolResult] | None" = None

    @property
    def running(self) -> asyncio.Task[types.CallToolResult]:
        """The task of a call that was started."""
        assert self.task is not None
        return self.task

    def give_up(self, why: str) -> None:
        """End the call: its question has no answer."""
        self.unanswered = why
        self.running.cancel()


@dataclass(frozen=True, slots=True)
class Parked:
    """A call that waits for an answer from its owner; ``since`` by the loop's clock."""

    call: Call
    owner: str
    since: float
    expiry: asyncio.TimerHandle


_current: ContextVar[Call | None] = ContextVar("mcp_call", default=None)


class Calls:
    """Owns the tasks of all calls of one server."""

    def __init__(self) -> None:
        self._running: dict[CallId, Call] = {}
        self._parked: dict[str, Parked] = {}
        self._house: tuple[Bus, Inquiries] | None = None

    def connect(self, bus: Bus, inquiries: Inquiries) -> None:
        """Set the bus that hears of calls, and the inquiries that ``attends`` is asked about."""
        self._house = (bus, inquiries)

    def begin(self, conversation: ConversationId, work: Work, *, asks: bool) -> Call:
        """Start a call in a task of its own."""
        assert self._house is not None
        call = Call(CallId(mint("call")), conversation, asks, self._house[0].subscribe())
        self._overtake(conversation)
        token = _current.set(call)
        try:
            call.task = asyncio.get_running_loop().create_task(_worked(work, call), name=call.id)
        finally:
            _current.reset(token)
        self._running[call.id] = call
        call.task.add_done_callback(lambda _: self._ended(call))
        return call

    def attends(self, inquiry: Inquiry) -> bool:
        """Whether somebody will answer; if so, the call that asks is changed.

        The asking call is known by its id, else by the task that asks (a subagent's task descends
        from it), else by its conversation.
        """
        call = self._running.get(inquiry.call) or _current.get() or self._of(inquiry.conversation)
        if call is None or not call.asks or call.running.done():
            return False
        call.inquiries.append(inquiry)
        call.changed.set()
        return True

    def waiting(self, inquiry: InquiryId) -> bool:
        """Whether a question is still open."""
        assert self._house is not None
        return any(open_.id == inquiry for open_ in self._house[1].pending())

    def answer(self, inquiry: InquiryId, answer: Answer) -> None:
        """Give the answer; one that comes too late changes nothing."""
        assert self._house is not None
        self._house[1].answer(inquiry, answer)

    def park(self, call: Call, owner: str) -> str:
        """Keep a call until ``unpark``; the handle is unguessable and of use to its owner alone.

        The oldest one is ended when too many wait.
        """
        if len(self._parked) >= MOST_PARKED:
            self._expire(next(iter(self._parked)))
        handle, loop = secrets.token_urlsafe(32), asyncio.get_running_loop()
        expiry = loop.call_later(PARKED_SECONDS, self._expire, handle)
        self._parked[handle] = Parked(call, owner, loop.time(), expiry)
        return handle

    def unpark(self, handle: str, owner: str) -> Call | None:
        """The call that was parked, once; None for a handle that is unknown or another's."""
        entry = self._parked.get(handle)
        if entry is None or entry.owner != owner:
            return None
        del self._parked[handle]
        entry.expiry.cancel()
        return entry.call

    async def close(self) -> None:
        """End every call and wait until it is over."""
        for entry in self._parked.values():
            entry.expiry.cancel()
        self._parked.clear()
        tasks = [call.running for call in self._running.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _expire(self, handle: str) -> None:
        entry = self._parked.pop(handle)
        entry.expiry.cancel()
        entry.call.give_up("Nobody answered in time.")

    def _overtake(self, conversation: ConversationId) -> None:
        latest = asyncio.get_running_loop().time() - OVERTAKEN_SECONDS
        for handle, entry in list(self._parked.items()):
            if entry.call.conversation == conversation and entry.since < latest:
                self._expire(handle)

    def _ended(self, call: Call) -> None:
        self._running.pop(call.id, None)
        call.subscription.close()
        call.changed.set()
        if not call.running.cancelled():
            call.running.exception()  # for the client that follows the call, if one still does

    def _of(self, conversation: ConversationId) -> Call | None:
        mine = [call for call in self._running.values() if call.conversation == conversation]
        return mine[-1] if mine else None


async def _worked(work: Work, call: Call) -> types.CallToolResult:
    return await work(call)
