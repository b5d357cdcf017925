"""The requests of a client and their handlers, over toolboxes, library and subscriptions."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.shared.exceptions import MCPError

from sam_tui import __version__
from sam_tui.core.errors import SamError
from sam_tui.mcp_server.calls import Call, Calls
from sam_tui.mcp_server.clients import Client, Clients, Context, can_ask, wants_data
from sam_tui.mcp_server.follower import Follower, owner_of
from sam_tui.mcp_server.json_text import plain_json
from sam_tui.mcp_server.library import Library
from sam_tui.mcp_server.subscriptions import Subscriptions
from sam_tui.mcp_server.tasks import (
    EXTENSION,
    GRACE_SECONDS,
    ServerTasks,
    TaskState,
    UpdateTaskParams,
)
from sam_tui.mcp_server.toolbox import Toolbox, ToolRequest

PAGE: Final = 100
"""The default number of entries of a page."""
T = TypeVar("T")


def page(
    entries: Sequence[T], params: types.PaginatedRequestParams | None, size: int
) -> tuple[list[T], str | None]:
    """One page and the cursor of the next. Raises ``MCPError`` for a cursor that was never given."""
    cursor = params.cursor if params is not None else None
    start = 0 if cursor is None else _start(cursor)
    if cursor is not None and not 0 < start < len(entries):
        raise _unknown()
    end = start + size
    return list(entries[start:end]), _cursor(end) if end < len(entries) else None


def _cursor(start: int) -> str:
    return base64.urlsafe_b64encode(f"from {start}".encode()).decode()


def _start(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor, altchars=b"-_", validate=True).decode("ascii")
    except (ValueError, binascii.Error):
        raise _unknown() from None
    head, _, number = text.partition(" ")
    if head != "from" or not number.isascii() or not number.isdigit() or len(number) > 9:
        raise _unknown()
    return int(number)


def _unknown() -> MCPError:
    return MCPError(types.INVALID_PARAMS, "Unknown cursor: list again from the beginning")


@dataclass(frozen=True, slots=True)
class ProtocolOffer:
    """A server's tools and resources in their order. ``instructions`` tell a model how to use it."""

    toolboxes: tuple[Toolbox, ...]
    library: Library
    instructions: str
    page: int = PAGE
    grace: float = GRACE_SECONDS
    """Seconds after which a call becomes a task, if its client supports tasks."""


class SamServer(Server[Any]):
    """The MCP server of one runtime, for any number of clients."""

    def __init__(
        self, offer: ProtocolOffer, calls: Calls, clients: Clients, subscriptions: Subscriptions
    ) -> None:
        super().__init__(
            "sam-tui",
            version=__version__,
            title="sam-tui",
            instructions=offer.instructions,
            get_tool_input_schema=self._schema,
            on_list_tools=self._list_tools,
        )
        self._offer = offer
        self._calls = calls
        self._clients = clients
        self._subscriptions = subscriptions
        self._tasks = ServerTasks(calls, grace=offer.grace)
        self._tools = [tool for box in offer.toolboxes for tool in box.tools]
        self.middleware.append(_explained)
        # Given to the constructor, this handler would be warned about on every start.
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        # Its result may be a task, which the constructor's handler has no type for.
        self.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        self._serve_tasks()
        if offer.library.resources:
            self._serve_resources()
        if offer.library.prompts:
            self._serve_prompts()
        if offer.library.resources or offer.library.prompts:
            self.add_request_handler(
                "completion/complete", types.CompleteRequestParams, self._complete
            )

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> Any:
        """Return the protocol's own, with the lists that announce changes: only that of resources."""
        changes = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)

    def _serve_tasks(self) -> None:
        self.extensions[EXTENSION] = {}
        by_id = types.GetTaskRequestParams
        self.add_request_handler("tasks/get", by_id, self._get_task)
        self.add_request_handler("tasks/update", UpdateTaskParams, self._update_task)
        self.add_request_handler("tasks/cancel", by_id, self._cancel_task)

    def _serve_resources(self) -> None:
        paginated = types.PaginatedRequestParams
        self.add_request_handler("resources/list", paginated, self._list_resources)
        self.add_request_handler("resources/templates/list", paginated, self._list_templates)
        self.add_request_handler(
            "resources/read", types.ReadResourceRequestParams, self._read_resource
        )
        self.add_request_handler(
            "resources/subscribe", types.SubscribeRequestParams, self._subscribe
        )
        self.add_request_handler(
            "resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe
        )
        self.add_request_handler(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen
        )

    def _serve_prompts(self) -> None:
        self.add_request_handler("prompts/list", types.PaginatedRequestParams, self._list_prompts)
        self.add_request_handler("prompts/get", types.GetPromptRequestParams, self._get_prompt)

    # -- tools ---------------------------------------------------------------------------------

    async def _list_tools(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools, following = page(self._tools, params, self._offer.page)
        return types.ListToolsResult(tools=tools, next_cursor=following)

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult | TaskState:
        client = self._clients.of(context)
        box = next((b for b in self._offer.toolboxes if b.knows(params.name)), None)
        if box is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        call = self._resumed(client, params)
        if call is None:
            call = self._begin(box, params, client, context)
            if (task := await self._tasks.created(call, context, client)) is not None:
                return task
            return await Follower(self._calls, call, context, client).follow(params)
        follower = Follower(self._calls, call, context, client)
        follower.resume(params)
        return await follower.follow(params)

    def _begin(
        self, box: Toolbox, params: types.CallToolRequestParams, client: Client, context: Context
    ) -> Call:
        arguments: dict[str, Any] = plain_json(params.arguments or {})
        structured = wants_data(context)

        async def work(call: Call) -> types.CallToolResult:
            return await box.run(ToolRequest(params.name, arguments, client, call, structured))

        return self._calls.begin(client.conversation, work, asks=can_ask(context))

    def _resumed(self, client: Client, params: types.CallToolRequestParams) -> Call | None:
        """The call that waits for the answers of this request."""
        if params.request_state is None:
            return None
        call = self._calls.unpark(params.request_state, owner_of(client, params))
        if call is None:
            raise MCPError(
                types.INVALID_PARAMS,
                "Nothing waits for this answer: the call has ended, or its arguments changed",
            )
        return call

    def _schema(self, name: str) -> Mapping[str, Any] | None:
        return next((tool.input_schema for tool in self._tools if tool.name == name), None)

    # -- tasks ---------------------------------------------------------------------------------

    async def _get_task(self, context: Context, params: types.GetTaskRequestParams) -> TaskState:
        return self._tasks.state(params.task_id, context, self._clients.of(context))

    async def _update_task(self, context: Context, params: UpdateTaskParams) -> types.EmptyResult:
        self._tasks.update(params, context, self._clients.of(context))
        return types.EmptyResult()

    async def _cancel_task(
        self, context: Context, params: types.GetTaskRequestParams
    ) -> types.EmptyResult:
        self._tasks.cancel(params.task_id, context, self._clients.of(context))
        return types.EmptyResult()

    # -- resources and prompts -----------------------------------------------------------------

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams
    ) -> types.ListResourcesResult:
        client = self._clients.of(context)
        self._subscriptions.meet(context, client)
        listed = [r for source in self._offer.library.resources for r in source.listed(client)]
        resources, following = page(listed, params, self._offer.page)
        return types.ListResourcesResult(resources=resources, next_cursor=following)

    async def _list_templates(
        self, _: Context, params: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
        listed = [t for source in self._offer.library.resources for t in source.templates]
        templates, following = page(listed, params, self._offer.page)
        return types.ListResourceTemplatesResult(
            resource_templates=templates, next_cursor=following
        )

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await self._offer.library.read(params.uri, context, self._clients.of(context))

    async def _subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        self._subscriptions.add(context, self._clients.of(context), params.uri)
        return types.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self._subscriptions.remove(self._clients.of(context), params.uri)
        return types.EmptyResult()

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        return await self._subscriptions.listen(context, self._clients.of(context), params)

    async def _list_prompts(
        self, _: Context, params: types.PaginatedRequestParams
    ) -> types.ListPromptsResult:
        listed: Sequence[types.Prompt] = [
            prompt for source in self._offer.library.prompts for prompt in source.listed()
        ]
        prompts, following = page(listed, params, self._offer.page)
        return types.ListPromptsResult(prompts=prompts, next_cursor=following)

    async def _get_prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        return self._offer.library.get_prompt(params.name, params.arguments or {})

    async def _complete(
        self, _: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        return types.CompleteResult(completion=self._offer.library.complete(params))

    # -- log -----------------------------------------------------------------------------------

    async def _set_level(
        self, context: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        self._clients.of(context).level = params.level
        return types.EmptyResult()


async def _explained(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Report an error of this program to the client with its own message, as an internal error."""
    try:
        return await call_next(ctx)
    except SamError as fault:
        raise MCPError(types.INTERNAL_ERROR, fault.explain()) from fault
