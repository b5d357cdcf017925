"""Our tools as MCP tools: each call goes through ``execute``, its guard and the gate of its phase."""

import asyncio
import base64
import json
import os
import stat
from collections.abc import AsyncGenerator, Collection, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast
from weakref import WeakValueDictionary

import mcp_types as types

from sam_tui.core.agent.budget import Budget
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import ConversationInUse
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.contract import Schedule
from sam_tui.core.tooling.executor import CallPlan, Executed
from sam_tui.mcp_server.calls import Call
from sam_tui.mcp_server.clients import CONVERSATION_META, DECISION_META, Client
from sam_tui.mcp_server.json_text import plain_json, sendable

LARGEST_IMAGE: Final = 4 * 1024 * 1024
"""The most bytes of an image that is sent; a larger one is only named."""
_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call of a tool as the client sent it."""

    name: str
    arguments: Mapping[str, Any]
    client: Client
    call: Call
    structured: bool = False
    """Whether the client requested the data of the result in addition to its text."""


class Toolbox(Protocol):
    """Tools of one kind. ``run`` answers with a result, never with an exception of the tool's."""

    @property
    def tools(self) -> tuple[types.Tool, ...]: ...
    def knows(self, name: str) -> bool: ...
    async def run(self, request: ToolRequest) -> types.CallToolResult: ...


def _hints(
    *, reads: bool = False, destroys: bool = False, outside: bool = False
) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        read_only_hint=reads, destructive_hint=destroys, open_world_hint=outside
    )


_HINTS: Final[dict[str, types.ToolAnnotations]] = {
    "think": _hints(reads=True),
    "user_collaboration": _hints(),
    "list_system_prompts": _hints(reads=True),
    "list_mini_prompts": _hints(reads=True),
    "read_tool_result": _hints(reads=True),
    "recall_history": _hints(reads=True),
    "memory_operations": _hints(),
    "todo_operations": _hints(),
    "workflow": _hints(),
    "web_operations": _hints(outside=True),
    "document_operations": _hints(outside=True),
    "image_generation": _hints(outside=True),
    "run_subagent": _hints(destroys=True, outside=True),
    "file_operations": _hints(destroys=True),
    "terminal_operations": _hints(destroys=True, outside=True),
    "build_and_version_control": _hints(destroys=True, outside=True),
}
"""Annotations for the most dangerous use of each tool; others keep the protocol's cautious defaults."""


_ELSEWHERE = f"End that program, or name another conversation in _meta “{CONVERSATION_META}”."


class GuardedToolbox:
    """Tools of the registry, offered as to our own model: the same names and schemas."""

    def __init__(self, runtime: Runtime, offered: Collection[str]) -> None:
        self._runtime = runtime
        withheld = [name for name in runtime.registry.names if name not in offered]
        self._executor = runtime.executor.narrowed(withheld, asker="")
        self._tools = tuple(_tool(s["function"]) for s in self._executor.registry.schemas)
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @property
    def tools(self) -> tuple[types.Tool, ...]:
        """The same list, in the same order, for as long as the server runs."""
        return self._tools

    def knows(self, name: str) -> bool:
        """Whether a call by this name finds a tool: its own, a dotted one, or a bare operation's."""
        return self._executor.registry.knows(name)

    async def run(self, request: ToolRequest) -> types.CallToolResult:
        """Run one call. A cancelled call publishes its one event, too, as in a turn."""
        conversation = request.call.conversation
        try:
            self._runtime.conversations.claim(conversation)
        except ConversationInUse as error:
            return _refused(f"{error}\n{_ELSEWHERE}")
        arguments_json = json.dumps(request.arguments, ensure_ascii=False)
        plan = self._executor.plan(ToolCall(request.call.id, request.name, arguments_json))
        try:
            async with self._turn(plan, conversation):
                with self._budgeted(plan, conversation):
                    executed = await self._executor.run(plan, conversation)
        except asyncio.CancelledError:
            self._executor.cancelled(plan, conversation, "The call was cancelled.")
            raise
        return self._result(executed, request)

    @asynccontextmanager
    async def _turn(self, plan: CallPlan, conversation: ConversationId) -> AsyncGenerator[None]:
        """A serial or blocking call waits for the one of the same tool before it."""
        if plan.schedule is Schedule.PARALLEL:
            yield
            return
        key = (conversation, plan.key.partition(".")[0])
        lock = self._turns.setdefault(key, asyncio.Lock())
        async with lock:
            yield

    @contextmanager
    def _budgeted(self, plan: CallPlan, conversation: ConversationId) -> Generator[None]:
        """A subagent takes its model and budget from the turn around it: here from the call."""
        model, budgets = self._runtime.model, self._runtime.engine.budgets
        if plan.key != "run_subagent" or model is None or budgets.get(conversation) is not None:
            yield
            return
        limits = self._runtime.limits
        with budgets.running(conversation, Budget(limits.steps, limits=limits), model):
            yield

    def _result(self, executed: Executed, request: ToolRequest) -> types.CallToolResult:
        """Return the result as text, with data only on request, as clients may send a model the data
        instead."""
        finished, decision = executed.finished, executed.decision
        text = sendable(finished.text)
        blocks: list[types.ContentBlock] = [types.TextContent(text=text)]
        blocks += [types.TextContent(text=sendable(note)) for note in executed.notes]
        blocks += images(executed.data, self._runtime.workspace)
        meta: dict[str, Any] = {CONVERSATION_META: request.call.conversation}
        if decision is not None and (request.structured or not decision.allowed):
            judged = {"outcome": decision.outcome, "by": decision.by, "rule": decision.rule}
            meta[DECISION_META] = judged
        if not request.structured:
            return types.CallToolResult(content=blocks, is_error=not finished.ok, _meta=meta)
        structured = {
            "success": finished.ok,
            "operation": finished.operation,
            "mimeType": executed.mime_type,
            "data": plain_json(executed.data),
            "durationMs": round(finished.seconds * 1000),
        }
        return types.CallToolResult(
            content=blocks, structured_content=structured, is_error=not finished.ok, _meta=meta
        )


def _refused(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sendable(why))], is_error=True)


def offered_names(runtime: Runtime) -> list[str]:
    """Return the names of our tools that are useful to a client with a loop of its own.

    A subagent needs a model of ours, and no turn of ours exists whose limit could be raised.
    """
    pointless = ["increase_max_iterations", *(["run_subagent"] if runtime.model is None else [])]
    return [name for name in runtime.registry.names if name not in pointless]


def images(data: Mapping[str, Any], workspace: Workspace) -> list[types.ImageContent]:
    """The images that a tool says it has written into the workspace."""
    paths: Any = data.get("imagePaths")
    named = cast("list[Any]", paths) if isinstance(paths, list) else []
    loaded = (_image(path, workspace) for path in named if isinstance(path, str))
    return [image for image in loaded if image is not None]


def _image(path: str, workspace: Workspace) -> types.ImageContent | None:
    kind = _IMAGES.get(os.path.splitext(path)[1].lower())
    where = workspace.locate(path)
    if kind is None or where.root is None:
        return None
    try:
        descriptor = os.open(where.real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST_IMAGE:
            return None
        content = base64.b64encode(file.read(LARGEST_IMAGE)).decode()
    return types.ImageContent(data=content, mime_type=kind)


def _tool(function: Mapping[str, Any]) -> types.Tool:
    name = function["name"]
    return types.Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=function["description"],
        input_schema=function["parameters"],
        annotations=_HINTS.get(name),
    )
