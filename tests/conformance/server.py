"""Our server with the names that the official conformance suite expects; it prints its URL.

Server, transport, calls, library and subscriptions are the product's. Only what the suite calls is
made here: a toolbox, resources, prompts, and the tools whose questions it words itself.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import mcp_types as types
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from sam_tui.assembly import Options, build
from sam_tui.core.bus import Bus
from sam_tui.core.events import Event, Noticed, ToolProgressed
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import ApprovalRequest
from sam_tui.core.runtime import Runtime
from sam_tui.loopback.server import listen, serve_until
from sam_tui.mcp_server.calls import Calls
from sam_tui.mcp_server.clients import Client, Clients, Context
from sam_tui.mcp_server.http.sessions import McpSessions
from sam_tui.mcp_server.library import Library, NotFound
from sam_tui.mcp_server.protocol import ProtocolOffer, SamServer
from sam_tui.mcp_server.subscriptions import Subscriptions
from sam_tui.mcp_server.tasks import EXTENSION, TaskState
from sam_tui.mcp_server.toolbox import ToolRequest
from tests.conformance.input_required import ROUNDS, answered

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
PAUSE = 0.05
STEPS = ("Tool execution started", "Tool processing data", "Tool execution completed")


def text(words: str) -> types.TextContent:
    """Words of a result."""
    return types.TextContent(text=words)


def resource(uri: str, kind: str, words: str) -> types.EmbeddedResource:
    """A resource inside a result."""
    inner = types.TextResourceContents(uri=uri, mime_type=kind, text=words)
    return types.EmbeddedResource(resource=inner)


image = types.ImageContent(data=IMAGE, mime_type="image/png")
RESULTS: Mapping[str, Sequence[types.ContentBlock]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [image],
    "test_audio_content": [types.AudioContent(data=SOUND, mime_type="audio/wav")],
    "test_embedded_resource": [
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        image,
        resource(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        ),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
    "test_tool_with_logging": [text("Logged.")],
    "test_tool_with_progress": [text("Done.")],
    "test_logging_tool": [text("Logged.")],
    "test_reconnection": [text("Reconnected.")],
    "greet": [],
    "slow_compute": [text("Computed.")],
    "failing_job": [text("This job returns an error")],
}
"""What tools answer that ask nothing."""

Field = dict[str, object]
STATES = ["active", "inactive", "pending"]
CHOICES: list[Field] = [{"const": "low", "title": "Low"}, {"const": "high", "title": "High"}]
FORMS: Mapping[str, Mapping[str, Field]] = {
    "test_elicitation": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "test_elicitation_sep1034_defaults": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": STATES, "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "test_elicitation_sep1330_enums": {
        "untitledSingle": {"type": "string", "enum": STATES},
        "titledSingle": {"type": "string", "oneOf": CHOICES},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": STATES}},
        "titledMulti": {"type": "array", "items": {"anyOf": CHOICES}},
        "legacyEnum": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
    },
}
DRAFT: dict[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
REGION = {"region": {"type": "string", "x-mcp-header": "Region"}}
ARGUMENTS: Mapping[str, dict[str, object]] = {
    "json_schema_2020_12_tool": DRAFT,
    "test_region": {"type": "object", "properties": REGION},
}
CONFIRMED = {"confirm_delete": ("confirm",), "multi_input": ("name", "confirm")}
"""Calls that wait for the person's leave, once for each word."""
FAULTY = "protocol_error_job"
WANTING = "test_missing_capability"
ASKING = ("test_sampling", WANTING, *FORMS, *ROUNDS)
NOTHING: dict[str, object] = {"type": "object", "properties": {}}


class SuiteTools:
    """The toolbox: results as they are, progress and log by the bus as tools of ours tell them."""

    def __init__(self, bus: Bus, inquiries: Inquiries) -> None:
        self._bus, self._inquiries = bus, inquiries
        names = [*RESULTS, *ARGUMENTS, *ASKING, *CONFIRMED, FAULTY]
        self.tools = tuple(
            types.Tool(name=n, description=n, input_schema=ARGUMENTS.get(n, NOTHING)) for n in names
        )

    def knows(self, name: str) -> bool:
        """Whether it is one of the suite's."""
        return any(tool.name == name for tool in self.tools)

    async def run(self, request: ToolRequest) -> types.CallToolResult:
        """Answer."""
        call, events = request.call, list[Event]()
        slow = request.name in ("failing_job", FAULTY, "test_tool_with_task")
        await asyncio.sleep(float(request.arguments.get("seconds", slow)))
        if request.name == FAULTY:
            raise MCPError(types.INTERNAL_ERROR, "This job fails")
        wanted = CONFIRMED.get(request.name, ())
        leaves = [ApprovalRequest(request.name, word, (), "it is a test", "/") for word in wanted]
        await asyncio.gather(
            *(self._inquiries.ask(call.conversation, call.id, leave) for leave in leaves)
        )
        if "logging" in request.name:
            events += [Noticed(call.conversation, "warning", words) for words in STEPS]
        elif request.name == "test_tool_with_progress":
            events += [ToolProgressed(call.conversation, call.id, words) for words in STEPS]
        for event in events:
            self._bus.publish(event)
            await asyncio.sleep(PAUSE)
        greeting = [text(f"Hello, {request.arguments.get('name', '')}!")]
        results = {**RESULTS, "greet": greeting}
        words = str(request.arguments.get("words", request.name))
        blocks = list(results.get(request.name, [text(words)]))
        return types.CallToolResult(
            content=blocks, is_error="error" in request.name or request.name == "failing_job"
        )


class SuiteResources:
    """Resources of the scheme ``test``."""

    scheme = "test"
    templates = (types.ResourceTemplate(uri_template="test://template/{id}/data", name="template"),)

    def listed(self, client: Client) -> Sequence[types.Resource]:
        """All of them."""
        kinds = {
            "static-text": "text/plain",
            "static-binary": "image/png",
            "watched-resource": None,
        }
        return [
            types.Resource(uri=f"test://{name}", name=name, description=name, mime_type=kind)
            for name, kind in kinds.items()
        ]

    async def read(
        self, uri: str, client: Client
    ) -> types.TextResourceContents | types.BlobResourceContents:
        """One of them."""
        parts = uri.removeprefix("test://").split("/")
        match parts:
            case ["static-text"]:
                words = "This is the content of the static text resource."
                return types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
            case ["static-binary"]:
                return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE)
            case ["watched-resource"]:
                return types.TextResourceContents(uri=uri, mime_type="text/plain", text="watched")
            case ["template", number, "data"]:
                data = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
                return types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
            case _:
                raise NotFound(f"There is no resource {uri}")

    def completions(
        self, template: str, argument: str, earlier: Mapping[str, str]
    ) -> Sequence[str]:
        """None."""
        return ()

    def touched(self, event: Event, client: Client) -> Sequence[str]:
        """None changes."""
        return ()

    def canonical(self, uri: str) -> str:
        """As it is written."""
        return uri


PROMPTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


class SuitePrompts:
    """Prompts of the suite."""

    def listed(self) -> Sequence[types.Prompt]:
        """All of them."""
        return [
            types.Prompt(
                name=name,
                description=name,
                arguments=[types.PromptArgument(name=a, required=True) for a in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]

    def get(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult | None:
        """One of them."""
        blocks: dict[str, list[types.ContentBlock]] = {
            "test_simple_prompt": [text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments": [
                text("Prompt with arguments: " + ", ".join(f"{k}='{v}'" for k, v in arguments.items()))
            ],
            "test_prompt_with_embedded_resource": [
                resource(arguments.get("resourceUri", "test://none"), "text/plain",
                         "Embedded resource content for testing."),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image": [image, text("Please analyze the image above.")],
        }  # fmt: skip
        if name not in blocks:
            return None
        messages = [types.PromptMessage(role="user", content=block) for block in blocks[name]]
        return types.GetPromptResult(messages=messages)

    def completions(self, name: str, argument: str) -> Sequence[str]:
        """A few."""
        return ("paris", "park", "party")


def knows_tasks(context: Context) -> bool:
    """Whether the client declares tasks."""
    able = context.session.client_capabilities
    return EXTENSION in ((able.extensions if able is not None else None) or {})


class SuiteServer(SamServer):
    """Ours, with the calls that word their questions themselves."""

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult | TaskState:
        if params.name == WANTING:
            able = types.ClientCapabilities(sampling=types.SamplingCapability())
            data = types.MissingRequiredClientCapabilityErrorData(required_capabilities=able)
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                "This takes sampling",
                data.model_dump(by_alias=True, exclude_none=True),
            )
        if params.name == "test_tool_with_task":
            result = answered(context, params)
            if isinstance(result, types.InputRequiredResult):
                return result
            words = getattr(result.content[0], "text", "")
            given = {"arguments": {"words": words}, "input_responses": None, "request_state": None}
            return await super()._call_tool(context, params.model_copy(update=given))
        if params.name == "failing_job" and not knows_tasks(context):
            needed: dict[str, object] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This is a task", needed)
        if params.name in ROUNDS:
            return answered(context, params)
        if params.name in ASKING:
            return await asked(context, params)
        return await super()._call_tool(context, params)

    async def _get_prompt(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        if params.name != "test_input_required_result_prompt":
            return await super()._get_prompt(context, params)
        result = answered(context, params)
        if isinstance(result, types.InputRequiredResult):
            return result
        message = types.PromptMessage(role="user", content=result.content[0])
        return types.GetPromptResult(messages=[message])


async def asked(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """A call of protocols to 2025-11-25 that asks its client on the way."""
    arguments, session = params.arguments or {}, context.session
    if params.name == "test_sampling":
        prompt = types.SamplingMessage(role="user", content=text(str(arguments["prompt"])))
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(messages=[prompt], max_tokens=100)
        )
        reply = await session.send_request(request, types.CreateMessageResult)
        words = getattr(reply.content, "text", "")
        return types.CallToolResult(content=[text(f"LLM response: {words}")])
    form: dict[str, object] = {"type": "object", "properties": FORMS[params.name], "required": []}
    if params.name == "test_elicitation":
        form["required"] = ["username", "email"]
    message = str(arguments.get("message", "Please fill in"))
    answer = await session.elicit_form(message, form, context.request_id)
    kind = "User response" if params.name == "test_elicitation" else "Elicitation completed"
    return types.CallToolResult(
        content=[text(f"{kind}: action={answer.action}, content={answer.content or {}}")]
    )


async def main() -> None:
    """Serve until a signal comes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ws").mkdir()
        calls = Calls()
        options = Options(f"{folder}/ws", f"{folder}/data", attended=calls.attends)
        runtime = build(options, {"HOME": folder, "SAM_TUI_CONFIG_DIR": f"{folder}/cfg"})
        try:
            await serve(runtime, calls, print_url)
        finally:
            await runtime.close()


async def serve(runtime: Runtime, calls: Calls, announce: Callable[[int], Awaitable[None]]) -> None:
    """The product's server over the suite's offer, without a token: the suite sends none."""
    calls.connect(runtime.bus, runtime.inquiries)
    library = Library((SuiteResources(),), (SuitePrompts(),))
    subscriptions = Subscriptions(library, runtime.bus)
    offer = ProtocolOffer(
        (SuiteTools(runtime.bus, runtime.inquiries),), library, "For tests.", grace=0.3
    )
    server = SuiteServer(offer, calls, Clients(), subscriptions)
    listening = listen(0)
    security = TransportSecuritySettings(
        allowed_hosts=["127.0.0.1:*", "localhost:*"],
        allowed_origins=["http://127.0.0.1:*", "http://localhost:*"],
    )
    manager = McpSessions(server, security, 30)
    async with serve_until(manager.asgi_app, listening) as stopped, manager.run():
        await announce(listening.getsockname()[1])
        await stopped.wait()
    await calls.close()


async def print_url(port: int) -> None:
    """Say where it is."""
    sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
