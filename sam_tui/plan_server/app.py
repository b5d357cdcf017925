"""The routes of the plan API, their forms, and the document that describes them."""

import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.config import JsonDict
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from sam_tui.core.errors import SamError, UsageError
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.workflow.views import WorkflowRefused
from sam_tui.plan_server.tasks import Fields, ServedTask, ServedTasks, TooMany

_MOST_FAULTS = 10
MOST_BODY = 2_500_000
"""The most bytes of a body: the longest task with each character as an escaped surrogate pair."""
PUBLIC = frozenset({("GET", "/"), ("GET", "/openapi.json")})
"""Method and path of requests that need no token."""
EVENTS = "text/event-stream"
Body = TypeVar("Body", bound=BaseModel)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_NEEDS: JsonDict = {
    "anyOf": [
        {
            "required": ["task"],
            "properties": {
                "task": {"type": "string", "pattern": r"\S"},
                "mode": {"enum": ["EXECUTE_FULL_PLAN", "PLAN_ONLY", None]},
            },
        },
        {
            "required": ["mode", "taskIdToLoad"],
            "properties": {
                "mode": {"enum": ["SYNTHESIZE_ONLY", "EXECUTE_PLANNED_TASK"]},
                "taskIdToLoad": {"type": "string", "minLength": 1},
            },
        },
    ]
}
"""The fields that each mode needs, for the OpenAPI document; ``PlannedTasks`` enforces them."""


def _describe(schema: JsonDict) -> None:
    """Complete the document's schema of a request: null as a type of each field, and the needs of modes.

    pydantic says ``anyOf`` for null, of which schemathesis cannot make examples beside that of the modes.
    """
    for form in cast("dict[str, dict[str, Any]]", schema["properties"]).values():
        form |= {**form.pop("anyOf")[0], "type": ["string", "null"]}
        if "enum" in form:
            form["enum"] = [*form["enum"], None]
    schema |= _NEEDS


class PlanRequest(_Form):
    """The body of ``POST /api/generate-plan``, as seed 002 has it; null is as if it were not there."""

    model_config = ConfigDict(json_schema_extra=_describe)

    task: Annotated[str, Field(max_length=200_000)] | None = None
    mode: (
        Literal["EXECUTE_FULL_PLAN", "PLAN_ONLY", "SYNTHESIZE_ONLY", "EXECUTE_PLANNED_TASK"] | None
    ) = None
    taskIdToLoad: Annotated[str, Field(max_length=200)] | None = None
    aiService: Annotated[str, Field(max_length=100)] | None = None


class ReplyRequest(_Form):
    """The body of an answer."""

    reply: Annotated[str, Field(min_length=1, max_length=20_000)]


def plan_app(tasks: ServedTasks, version: str) -> Starlette:
    """The application; ``HttpAccess`` checks its callers."""
    routes = PlanRoutes(tasks, version)
    return Starlette(
        routes=[
            Route("/", routes.health, methods=["GET"]),
            Route("/openapi.json", routes.document, methods=["GET"]),
            Route("/api/generate-plan", routes.generate, methods=["POST"]),
            Route("/api/tasks/{id}", routes.task, methods=["GET"]),
            Route("/api/tasks/{id}/events", routes.events, methods=["GET"]),
            Route("/api/tasks/{id}/cancel", routes.cancel, methods=["POST"]),
            Route("/api/inquiries", routes.inquiries, methods=["GET"]),
            Route("/api/inquiries/{id}", routes.answer, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _http_fault, SamError: _fault, TooMany: _busy},
    )


class PlanRoutes:
    """The handlers of the routes."""

    def __init__(self, tasks: ServedTasks, version: str) -> None:
        self._tasks, self._version = tasks, version

    async def health(self, request: Request) -> Response:
        """Status and time."""
        return JSONResponse({"status": "ok", "timestamp": datetime.now(UTC).isoformat()})

    async def document(self, request: Request) -> Response:
        """The OpenAPI document."""
        return JSONResponse(openapi(self._version))

    async def generate(self, request: Request) -> Response:
        """Begin a task: its end as JSON, its progress as events, or at once where that is preferred."""
        form = await _body(request, PlanRequest)
        if form.aiService and (fault := self._tasks.service_fault(form.aiService)):
            raise HTTPException(404, fault)
        served = self._tasks.begin(
            form.task or "",
            form.mode or "EXECUTE_FULL_PLAN",
            form.taskIdToLoad or "",
            form.aiService or "",
        )
        if EVENTS in request.headers.get("accept", ""):
            return self._stream(served)
        if "respond-async" in request.headers.get("prefer", ""):
            where = {"Location": f"/api/tasks/{served.id}"}
            return JSONResponse(self._state(served.id), 202, where)
        await self._tasks.finished(served)
        return self._ended(served)

    async def task(self, request: Request) -> Response:
        """The state of a task."""
        return JSONResponse(self._state(request.path_params["id"]))

    async def events(self, request: Request) -> Response:
        """The progress of a task from its beginning."""
        served = self._tasks.served.get(request.path_params["id"])
        if served is None:
            raise HTTPException(404, "This server has not run such a task.")
        return self._stream(served)

    async def cancel(self, request: Request) -> Response:
        """End a task."""
        id = request.path_params["id"]
        state = self._state(id)
        if not self._tasks.cancel(id):
            raise HTTPException(409, "The task does not run.")
        return JSONResponse({**state, "message": "The task is being ended."}, 202)

    async def inquiries(self, request: Request) -> Response:
        """The open inquiries."""
        return JSONResponse({"inquiries": self._tasks.inquiries()})

    async def answer(self, request: Request) -> Response:
        """A person's answer to one inquiry."""
        form = await _body(request, ReplyRequest)
        if not self._tasks.answer(request.path_params["id"], form.reply):
            raise HTTPException(404, "No such inquiry waits.")
        return JSONResponse({"success": True})

    def _state(self, id: str) -> Fields:
        return {**self._tasks.planned.result(id), "running": self._tasks.running(id)}

    def _ended(self, served: ServedTask) -> Response:
        """200 for a reached goal, 409 for a cancelled task, 500 for a failed one."""
        state = self._state(served.id)
        if state["success"]:
            return JSONResponse(state)
        error = served.fault or str(state["message"])
        return JSONResponse({**state, "error": error}, 409 if served.cancelled else 500)

    def _stream(self, served: ServedTask) -> Response:
        async def lines() -> AsyncGenerator[str]:
            yield _event("task", {"parentTaskId": served.id})
            async for line in self._tasks.progress(served):
                yield _event("progress", {"message": line})
            yield _event("result", {**self._state(served.id), "error": served.fault or None})

        return StreamingResponse(lines(), media_type=EVENTS, headers={"Cache-Control": "no-store"})


def _event(name: str, data: Fields) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def _body(request: Request, form: type[Body]) -> Body:
    """The body in its form. Raises ``HTTPException``: 400, 413 or 415."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "Send application/json.")
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BODY:
                raise HTTPException(413, f"A body has at most {MOST_BODY} bytes.")
    except ClientDisconnect:
        raise HTTPException(400, "The request broke off.") from None
    try:
        return form.model_validate_json(bytes(body))
    except ValidationError as error:
        raise HTTPException(400, f"{'; '.join(faults_of(error, 'body')[:_MOST_FAULTS])}.") from None


def _refused(status: int, why: str) -> Response:
    return JSONResponse({"success": False, "message": why}, status)


async def _http_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _refused(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


async def _fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, SamError)
    if isinstance(error, WorkflowRefused):
        return _refused(404 if error.code.endswith("_unknown") else 409, error.explain())
    return _refused(400 if isinstance(error, UsageError) else 500, error.explain())


async def _busy(request: Request, error: Exception) -> Response:
    return _refused(429, "No more tasks can run at once; try again when one has ended.")


def openapi(version: str) -> Fields:
    """The document of OpenAPI 3.1."""

    def answers(*statuses: int, form: str = "Message") -> Fields:
        ok = {s: form if s < 300 or s in (409, 500) else "Message" for s in statuses}
        return {
            str(status): {
                "description": _STATUS[status],
                "content": {"application/json": {"schema": _ref(name)}},
            }
            for status, name in {
                **ok,
                401: "Refusal",
                403: "Refusal",
                421: "Refusal",
                503: "Refusal",
            }.items()
        }

    def takes(form: str) -> Fields:
        return {"required": True, "content": {"application/json": {"schema": _ref(form)}}}

    id = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    any_object = {"type": "object"}
    message = {"type": "object", "properties": {"success": {"type": "boolean"}, "message": _TEXT}}
    generate = answers(200, 202, 400, 404, 409, 413, 415, 429, 500, form="Task")
    generate["200"] = {
        "description": _STATUS[200],
        "content": {"application/json": {"schema": _ref("Task")}, EVENTS: {"schema": _TEXT}},
    }
    events = answers(200, 404)
    events["200"] = {"description": _STATUS[200], "content": {EVENTS: {"schema": _TEXT}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sam-tui plan API", "version": version},
        "security": [{"token": []}],
        "paths": {
            "/": {"get": {"security": [], "responses": answers(200, form="Health")}},
            "/api/generate-plan": {
                "post": {"requestBody": takes("PlanRequest"), "responses": generate}
            },
            "/api/tasks/{id}": {
                "get": {"parameters": id, "responses": answers(200, 404, form="Task")}
            },
            "/api/tasks/{id}/events": {"get": {"parameters": id, "responses": events}},
            "/api/tasks/{id}/cancel": {
                "post": {"parameters": id, "responses": answers(202, 404, 409, form="Task")}
            },
            "/api/inquiries": {"get": {"responses": answers(200, form="Inquiries")}},
            "/api/inquiries/{id}": {
                "post": {
                    "parameters": id,
                    "requestBody": takes("ReplyRequest"),
                    "responses": answers(200, 400, 404, 413, 415),
                }
            },
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "PlanRequest": PlanRequest.model_json_schema(),
                "ReplyRequest": ReplyRequest.model_json_schema(),
                "Message": {**message, "required": ["success", "message"]},
                "Refusal": {**any_object, "properties": {"error": _TEXT}, "required": ["error"]},
                "Health": {**any_object, "properties": {"status": _TEXT, "timestamp": _TEXT}},
                "Inquiries": {**any_object, "properties": {"inquiries": {"type": "array"}}},
                "Task": message,
            },
        },
    }


_TEXT: Fields = {"type": "string"}
_STATUS = {
    200: "As asked.",
    202: "The task continues.",
    400: "The request has the wrong form, or lacks something.",
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another site.",
    404: "There is no such thing.",
    409: "Its state does not allow that, or it was cancelled.",
    413: "The body is too long.",
    415: "The body is not JSON.",
    421: "The request used another host name.",
    429: "No more tasks can run at once.",
    500: "The task failed.",
    503: "No more connections can be open at once.",
}


def _ref(name: str) -> Fields:
    return {"$ref": f"#/components/schemas/{name}"}
