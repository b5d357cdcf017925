"""Approvals answered by a tool of an MCP server, or by the program on standard input.

Both are asked as ``claude -p --permission-prompt-tool`` asks: the tool, its input and the call's id; the
answer is ``{"behavior": "allow", "updatedInput": …}`` or ``{"behavior": "deny", "message": …}``. A question
to which neither comes stays unanswered, so that the run counts as blocked.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

from sam_tui.core.events import Answered, InquiryOpened, Noticed
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.inquiries import Responder
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.headless.dialogue.messages import MessageInput, beside
from sam_tui.headless.ledger import tool_input

STDIO = "stdio"
"""The name that stands for the program at standard input in place of a tool."""
CHANGED_TOOL = "mcp.changed_tool"
"""The operation in questions about a changed tool: answers for the tool's own name do not apply."""
_LONGEST_REASON = 400


class _NoAnswer(Exception):  # the tool failed, not the run
    """The reason why a question has no answer."""


class PermissionTool:
    """The tool that ``--permission-prompt-tool`` names. Its own calls are approved: a person named it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._calls: set[CallId] = set()
        self._listening = False

    def responder(self, before: Responder | None) -> Responder:
        """Return the responder without this tool, with a yes for calls of the tool itself."""

        def respond(inquiry: Inquiry) -> Answer | None:
            if self._asks_for_itself(inquiry):
                return Approval("once")
            return before(inquiry) if before is not None else None

        return respond

    def _asks_for_itself(self, inquiry: Inquiry) -> bool:
        """Whether it is about a call of the tool, and not about a change of it or its server's wishes."""
        request = inquiry.request
        if inquiry.call not in self._calls or not isinstance(request, ApprovalRequest):
            return False
        return request.operation == self.name and not request.revision

    def attends(self, inquiry: Inquiry) -> bool:
        """Whether the tool is asked: about approvals, once its server runs, but not about its own
        server's accesses during its call."""
        if not self._listening or inquiry.call in self._calls:
            return False
        return isinstance(inquiry.request, ApprovalRequest)

    @contextmanager
    def listening(self) -> Generator[None]:
        """A context in which the permission tool answers inquiries."""
        self._listening = True
        try:
            yield
        finally:
            self._listening = False

    async def ask(
        self, runtime: Runtime, inquiry: Inquiry, question: Mapping[str, object]
    ) -> object:
        """Return the tool's answer to a question. Raises ``_NoAnswer``."""
        call = ToolCall(CallId(mint("call")), self.name, json.dumps(question))
        self._calls.add(call.id)
        try:
            # Not in the conversation that waits: the guard asks there one thing at a time.
            beside_it = ConversationId(f"{inquiry.conversation}-permissions")
            done = await runtime.executor.execute(call, beside_it)
        finally:
            self._calls.discard(call.id)
        text = " ".join(done.finished.text.split())[:_LONGEST_REASON]
        if not done.finished.ok:
            raise _NoAnswer(f"it failed: {text}")
        try:  # what its server was refused can follow
            return json.JSONDecoder().raw_decode(done.finished.text.lstrip())[0]
        except (ValueError, RecursionError):
            raise _NoAnswer(f"it answered: {text}") from None


@asynccontextmanager
async def permission_prompts(
    runtime: Runtime, tool: PermissionTool, messages: MessageInput | None
) -> AsyncGenerator[None]:
    """Have the tool, or the program behind ``messages``, answer approvals meanwhile."""
    with tool.listening():
        async with beside(_ask_forever(runtime, tool, messages)):
            yield


async def _ask_forever(
    runtime: Runtime, tool: PermissionTool, messages: MessageInput | None
) -> None:
    calls: dict[CallId, ToolCall] = {}
    events = runtime.bus.subscribe()
    try:
        async with asyncio.TaskGroup() as group:
            while True:
                for event in await events.batch():
                    if isinstance(event, Answered):
                        calls |= {call.id: call for call in event.message.calls}
                    elif isinstance(event, InquiryOpened):
                        call = calls.get(event.inquiry.call)
                        answer = _answer(runtime, tool, messages, (event.inquiry, call))
                        group.create_task(answer, name="permission")
    finally:
        events.close()


async def _answer(
    runtime: Runtime,
    tool: PermissionTool,
    messages: MessageInput | None,
    subject: tuple[Inquiry, ToolCall | None],
) -> None:
    inquiry, call = subject
    if inquiry not in runtime.inquiries.pending():
        return  # answered at once
    assert isinstance(inquiry.request, ApprovalRequest)
    name, arguments = _described(inquiry.request, call)
    question = {"tool_name": name, "input": arguments, "tool_use_id": inquiry.call}
    try:
        if tool.name == STDIO and messages is not None:
            reason = {"decision_reason": inquiry.request.why}
            answer: object = await messages.ask({"subtype": "can_use_tool", **question, **reason})
        else:
            answer = await tool.ask(runtime, inquiry, question)
        runtime.inquiries.answer(inquiry.id, _approval(answer, arguments))
    except _NoAnswer as why:
        words = f"{tool.name} did not answer about {inquiry.request.operation}: {why}"
        if inquiry in runtime.inquiries.pending():
            runtime.bus.publish(Noticed(inquiry.conversation, "warning", words))
            runtime.inquiries.leave(inquiry.id)


def _described(request: ApprovalRequest, call: ToolCall | None) -> tuple[str, dict[str, object]]:
    """Return the subject of an inquiry: the call itself, or its further need, in the guard's words."""
    tool = request.operation.partition(".")[0]
    if call is not None and not request.revision and tool == call.name.partition(".")[0]:
        return call.name, tool_input(call.arguments)
    described: dict[str, object] = {"summary": request.summary, "targets": list(request.targets)}
    change = {"change": request.difference} if request.preview else {}
    operation = CHANGED_TOOL if request.revision else request.operation
    return operation, {**described, "why": request.why, **change}


def _approval(answer: object, arguments: dict[str, object]) -> Approval:
    """Return an answer as an approval. Raises ``_NoAnswer`` if it is neither a yes nor a no."""
    if answer is None:
        raise _NoAnswer("the program on standard input is gone, or answered with an error")
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if fields.get("behavior") == "deny":
        return Approval("deny", str(fields.get("message") or ""))
    if fields.get("behavior") != "allow":
        raise _NoAnswer("its answer has no “behavior” that is “allow” or “deny”")
    if fields.get("updatedInput") not in (None, {}, arguments):
        changed = json.dumps(fields["updatedInput"])[:2000]
        return Approval("deny", f"Call it with this input, which would be allowed: {changed}")
    return Approval("once")
