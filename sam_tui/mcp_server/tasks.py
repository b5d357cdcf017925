"""Calls that outlast their request: the tasks extension of protocol 2026-07-28 (SEP-2663).

A client that declares it gets a handle for a call that is not over soon. With it the client asks for
the state of the call, answers its questions and cancels it. The handle is unguessable, and of use to
its client alone.
"""

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from pydantic import Field, ValidationError

from sam_tui.core.inquiry import Inquiry
from sam_tui.loopback.access import GONE
from sam_tui.mcp_server.calls import Call, Calls
from sam_tui.mcp_server.clients import Client, Context, is_modern
from sam_tui.mcp_server.elicitation import answer_of, form_of
from sam_tui.mcp_server.follower import refused

EXTENSION: Final = "io.modelcontextprotocol/tasks"
GRACE_SECONDS: Final = 2.0
"""Seconds after which a call becomes a task; a call that asks something becomes one at once."""
LASTING_SECONDS: Final = 3600.0
"""Seconds after its creation when a task is removed, and ended if it still runs."""
POLL_MILLISECONDS: Final = 1000
MOST_TASKS: Final = 256
"""The most tasks; further calls are answered by their own requests."""
_MISSING_CAPABILITY: Final = -32021

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]


class TaskState(types.Result):
    """A task as it goes over the wire. ``result_type`` is ``task`` where a call became one."""

    result_type: Literal["task", "complete"] = "complete"
    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl_ms: int = round(LASTING_SECONDS * 1000)
    poll_interval_ms: int = POLL_MILLISECONDS
    result: types.CallToolResult | None = None
    error: types.ErrorData | None = None
    input_requests: dict[str, types.ElicitRequest] | None = None


class UpdateTaskParams(types.GetTaskRequestParams):
    """Answers to questions of a task, by their keys."""

    input_responses: dict[str, Any] = Field(default_factory=dict)


@dataclass
class ServerTask:
    """A call with its task id; ``owner`` is the client that started it."""

    id: str
    call: Call
    owner: str
    created: str
    changed: str
    status: TaskStatus = "working"


class ServerTasks:
    """All tasks of one server."""

    def __init__(self, calls: Calls, *, grace: float = GRACE_SECONDS) -> None:
        self._calls = calls
        self._grace = grace
        self._tasks: dict[str, ServerTask] = {}

    async def created(self, call: Call, context: Context, client: Client) -> TaskState | None:
        """A task for a call that does not end soon; None if its own request answers it."""
        if not _declared(context) or len(self._tasks) >= MOST_TASKS:
            return None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._grace):
                    await call.changed.wait()
        except BaseException:
            call.running.cancel()
            raise
        hangup = context.request.scope.get(GONE) if context.request is not None else None
        if call.running.done() or (hangup is not None and hangup.is_set()):
            return None
        now = _now()
        task = ServerTask(secrets.token_urlsafe(24), call, client.key, now, now)
        self._tasks[task.id] = task
        asyncio.get_running_loop().call_later(LASTING_SECONDS, self._expire, task.id)
        return TaskState(
            result_type="task",
            task_id=task.id,
            status="working",
            created_at=now,
            last_updated_at=now,
        )

    def state(self, task_id: str, context: Context, client: Client) -> TaskState:
        """The state of a task, with open questions or the result. Raises ``MCPError`` for an unknown
        task."""
        task = self._owned(task_id, context, client)
        questions = self._questions(task)
        running = task.call.running
        state = TaskState(
            task_id=task.id,
            status="input_required" if questions else "working",
            created_at=task.created,
            last_updated_at=task.changed,
        )
        if running.done():
            _conclude(state, task.call)
        elif questions:
            forms = {key: form_of(i, context.protocol_version) for key, i in questions.items()}
            state.input_requests = {
                key: types.ElicitRequest(
                    params=types.ElicitRequestFormParams(
                        message=form.message, requested_schema=form.schema
                    )
                )
                for key, form in forms.items()
            }
        if state.status != task.status:
            task.status, task.changed = state.status, _now()
            state.last_updated_at = task.changed
        return state

    def update(self, params: UpdateTaskParams, context: Context, client: Client) -> None:
        """Take answers to questions that are open. Raises ``MCPError`` for an invalid answer."""
        task = self._owned(params.task_id, context, client)
        questions = self._questions(task)
        for key, response in params.input_responses.items():
            inquiry = questions.get(key)
            if inquiry is None:
                continue
            try:
                answer = answer_of(inquiry, types.ElicitResult.model_validate(response))
            except ValidationError:
                raise MCPError(types.INVALID_PARAMS, f"No answer to a form: {key}") from None
            if answer is None:
                task.call.give_up("The person did not answer the question.")
            else:
                self._calls.answer(inquiry.id, answer)

    def cancel(self, task_id: str, context: Context, client: Client) -> None:
        """Cancel a task; a finished one stays finished."""
        self._owned(task_id, context, client).call.running.cancel()

    def _questions(self, task: ServerTask) -> dict[str, Inquiry]:
        return {str(i.id): i for i in task.call.inquiries if self._calls.waiting(i.id)}

    def _owned(self, task_id: str, context: Context, client: Client) -> ServerTask:
        if not is_modern(context):
            raise MCPError(types.METHOD_NOT_FOUND, "Tasks need protocol 2026-07-28")
        if not _declared(context):
            raise MCPError(
                _MISSING_CAPABILITY,
                f"Declare the extension {EXTENSION}",
                {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
            )
        named = context.request.headers.get(MCP_NAME_HEADER) if context.request else None
        if named is not None and decode_header_value(named) != task_id:
            raise MCPError(types.HEADER_MISMATCH, "Mcp-Name is not that of the task")
        task = self._tasks.get(task_id)
        if task is None or task.owner != client.key:
            raise MCPError(types.INVALID_PARAMS, "There is no such task")
        return task

    def _expire(self, task_id: str) -> None:
        task = self._tasks.pop(task_id)
        task.call.give_up("The client did not ask for the task in time.")


def _declared(context: Context) -> bool:
    """Whether the client supports tasks."""
    capabilities = context.session.client_capabilities
    extensions = capabilities.extensions if capabilities is not None else None
    return is_modern(context) and EXTENSION in (extensions or {})


def _conclude(state: TaskState, call: Call) -> None:
    """Set the end of a task. A tool that failed is a result; an error is one of the server's."""
    running = call.running
    if running.cancelled():
        state.status = "completed" if call.unanswered else "cancelled"
        state.result = refused(call.unanswered) if call.unanswered else None
    elif running.exception() is not None:
        state.status = "failed"
        state.error = types.ErrorData(code=types.INTERNAL_ERROR, message="The call failed here.")
    else:
        state.status, state.result = "completed", running.result()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
