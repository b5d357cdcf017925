"""Follows one call on behalf of one request: progress, log, questions, and the result at the end."""

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from sam_tui.core import events
from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry
from sam_tui.core.todos.item import visible_text
from sam_tui.loopback.access import GONE
from sam_tui.mcp_server.calls import Call, Calls
from sam_tui.mcp_server.clients import Client, Context, is_modern
from sam_tui.mcp_server.elicitation import answer_of, form_of
from sam_tui.mcp_server.json_text import plain_json

_LEVELS: Final[tuple[types.LoggingLevel, ...]] = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
_TAIL = 4000
_QUESTION = "question"


class Follower:
    """Relays the progress and the questions of a call to the request that waits for it."""

    def __init__(self, calls: Calls, call: Call, context: Context, client: Client) -> None:
        self._calls = calls
        self._call = call
        self._context = context
        self._client = client
        self._steps = 0
        self._closed: set[InquiryId] = set()
        self._unsent: deque[events.Event] = deque()
        self._sending = asyncio.Lock()

    async def follow(
        self, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """The call's result; or, if the protocol demands it, a question for the person.

        Cancelling the request cancels the call, and so does a client that hangs up.
        """
        try:
            async with self._listening():
                return await self._result(params)
        except BaseException:
            self._call.running.cancel()
            raise

    async def _result(
        self, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        while True:
            await self._call.changed.wait()
            self._call.changed.clear()
            while self._call.inquiries:
                inquiry = self._call.inquiries.popleft()
                if not self._calls.waiting(inquiry.id):
                    continue
                if is_modern(self._context):
                    return self._deferred(inquiry, params)
                await self._ask(inquiry)
            if self._call.running.done():
                break
        if self._call.running.cancelled():
            return refused(self._call.unanswered or "The call was cancelled.")
        return self._call.running.result()

    # -- questions -----------------------------------------------------------------------------

    async def _ask(self, inquiry: Inquiry) -> None:
        """Ask on the request's own stream, until the inquiry closes."""
        form = form_of(inquiry, self._context.protocol_version)
        asking = asyncio.ensure_future(
            self._context.session.elicit_form(form.message, form.schema, self._context.request_id)
        )
        ended = asyncio.ensure_future(self._ends(inquiry.id))
        try:
            await asyncio.wait((asking, ended), return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                self.settle(inquiry, asking.result())
        except MCPError as error:
            self._unasked(inquiry, f"The client could not ask: {error.message}.")
        except ValidationError:
            self._unasked(inquiry, "The client's answer could not be read.")
        finally:
            # Not gathered: that would cancel the one twice, in the middle of taking its question back.
            for task in (asking, ended):
                task.add_done_callback(_seen)
                task.cancel()
            await asyncio.wait((asking, ended))

    async def _ends(self, inquiry: InquiryId) -> None:
        """Wait until a question is closed from elsewhere: an answer, an expiry, the call's end."""
        while inquiry not in self._closed and not self._call.running.done():
            await self._call.changed.wait()
            if self._call.running.done() or inquiry in self._closed:
                return
            self._call.changed.clear()

    def settle(self, inquiry: Inquiry, result: types.ElicitResult) -> None:
        """Answer an inquiry with the client's reply."""
        answer = answer_of(inquiry, result)
        if answer is None:
            self._call.give_up("The person did not answer the question.")
        else:
            self._calls.answer(inquiry.id, answer)

    def _unasked(self, inquiry: Inquiry, why: str) -> None:
        if isinstance(inquiry.request, ApprovalRequest):
            self._calls.answer(inquiry.id, Approval("deny", why))
        else:
            self._call.give_up(why)

    def _deferred(
        self, inquiry: Inquiry, params: types.CallToolRequestParams
    ) -> types.InputRequiredResult:
        """The question as a result; the client repeats the request with the answer."""
        form = form_of(inquiry, self._context.protocol_version)
        self._call.inquiries.appendleft(inquiry)
        handle = self._calls.park(self._call, owner_of(self._client, params))
        request = types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=form.message, requested_schema=form.schema)
        )
        return types.InputRequiredResult(input_requests={_QUESTION: request}, request_state=handle)

    def resume(self, params: types.CallToolRequestParams) -> None:
        """Answer the open inquiry with the reply in a repeated request."""
        response: object = (params.input_responses or {}).get(_QUESTION)
        inquiry = self._call.inquiries[0] if self._call.inquiries else None
        if inquiry is not None and isinstance(response, types.ElicitResult):
            self._call.inquiries.popleft()
            self.settle(inquiry, response)
        self._call.changed.set()

    # -- progress and log ----------------------------------------------------------------------

    @asynccontextmanager
    async def _listening(self) -> AsyncGenerator[None]:
        """Relay events during a block; all of them are sent when it ends."""
        relay = asyncio.ensure_future(self._relay())
        hangup = asyncio.ensure_future(self._hang_up())
        try:
            yield
            self._unsent.extend(self._call.subscription.drain())
            await self._send()
        finally:
            relay.cancel()
            hangup.cancel()

    async def _relay(self) -> None:
        while True:
            self._unsent.extend(await self._call.subscription.batch())
            await self._send()

    async def _send(self) -> None:
        async with self._sending:
            while self._unsent:
                await self._tell(self._unsent.popleft())

    async def _hang_up(self) -> None:
        request = self._context.request
        hangup = request.scope.get(GONE) if request is not None else None
        if hangup is not None:
            await hangup.wait()
            self._call.give_up("The client is gone.")

    async def _tell(self, event: events.Event) -> None:
        match event:
            case events.ToolProgressed(call=call, text=text) if call == self._call.id:
                self._steps += 1
                await self._context.session.report_progress(
                    self._steps, message=visible_text(text[-_TAIL:])
                )
            case events.InquiryClosed(inquiry=inquiry):
                self._closed.add(inquiry)
                self._call.changed.set()
            case _:
                await self._log(event)

    async def _log(self, event: events.Event) -> None:
        """Send log messages of this call at the level that the client set."""
        level, data = _entry(event, self._call)
        least = self._level()
        if level is None or least is None or _LEVELS.index(level) < _LEVELS.index(least):
            return
        params = types.LoggingMessageNotificationParams(
            level=level, logger="sam-tui", data=plain_json(data)
        )
        await self._context.session.send_notification(
            types.LoggingMessageNotification(params=params), self._context.request_id
        )

    def _level(self) -> types.LoggingLevel | None:
        if not is_modern(self._context):
            return self._client.level
        level = (self._context.meta or {}).get(types.LOG_LEVEL_META_KEY)
        return level if level in _LEVELS else None


def owner_of(client: Client, params: types.CallToolRequestParams) -> str:
    """A hash of client and call: a parked call is resumed only by the same call of the same client."""
    arguments = json.dumps(params.arguments or {}, sort_keys=True)
    identity = json.dumps([client.key, client.conversation, params.name, arguments])
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def refused(text: str, structured: Mapping[str, object] | None = None) -> types.CallToolResult:
    """A result with the reason of a refusal, for the model."""
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=dict(structured) if structured is not None else None,
        is_error=True,
    )


def _seen(task: "asyncio.Future[Any]") -> None:
    """Mark the exception as seen: nobody asks any more how the task ended."""
    if not task.cancelled():
        task.exception()


def _entry(event: events.Event, call: Call) -> tuple[types.LoggingLevel | None, dict[str, object]]:
    match event:
        case events.DecisionMade(call=of, decision=decision) if of == call.id:
            entry: dict[str, object] = {
                "operation": decision.operation,
                "outcome": decision.outcome,
                "by": decision.by,
                "rule": decision.rule,
                "reason": decision.reason,
            }
            return ("info" if decision.allowed else "warning"), entry
        case events.ToolStarted(call=of, operation=operation, summary=summary) if of == call.id:
            return "debug", {"started": operation, "summary": summary}
        case events.ToolFinished(call=of, operation=operation, ok=ok, seconds=seconds) if (
            of == call.id
        ):
            return "debug", {"finished": operation, "ok": ok, "seconds": round(seconds, 3)}
        case events.Noticed(conversation=conversation, level=level, text=text) if conversation in (
            None,
            call.conversation,
        ):
            return level, {"text": text}
        case _:
            return None, {}
