"""Tools of the conformance suite that answer with questions, round after round (protocol 2026-07-28).

What a round leaves for the next is signed: a state that was changed on the way is refused.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping

import mcp_types as types
from mcp.shared.exceptions import MCPError

from sam_tui.mcp_server.clients import Context

Asked = types.CallToolRequestParams | types.GetPromptRequestParams
Round = tuple[str, ...]
KEY = secrets.token_bytes(32)


def form(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    """A form of one field."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {field: {"type": kind}},
        "required": [field],
    }
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sampling(prompt: str, most: int = 100) -> types.CreateMessageRequest:
    """A question to a model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=most)
    )


QUESTIONS: Mapping[str, types.InputRequest] = {
    "user_name": form("What is your name?", "name"),
    "capital_question": sampling("What is the capital of France?"),
    "client_roots": types.ListRootsRequest(),
    "confirm": form("Please confirm", "ok", "boolean"),
    "greeting": sampling("Generate a greeting", 50),
    "step1": form("Step 1: What is your name?", "name"),
    "step2": form("Step 2: What is your favorite color?", "color"),
    "user_context": form("What context should the prompt use?", "context"),
}
ROUNDS: Mapping[str, tuple[Round, ...]] = {
    "test_input_required_result_elicitation": (("user_name",),),
    "test_streaming_elicitation": (("user_name",),),
    "test_tool_with_task": (("user_name",),),
    "test_input_required_result_sampling": (("capital_question",),),
    "test_input_required_result_list_roots": (("client_roots",),),
    "test_input_required_result_request_state": (("confirm",),),
    "test_input_required_result_multiple_inputs": (("user_name", "greeting", "client_roots"),),
    "test_input_required_result_multi_round": (("step1",), ("step2",)),
    "test_input_required_result_tampered_state": (("confirm",),),
    "test_input_required_result_capabilities": (("user_name", "capital_question"),),
    "test_input_required_result_prompt": (("user_context",),),
}
"""What each asks, round by round."""
STATELESS = frozenset(
    name for name in ROUNDS if name.rpartition("_")[2] in ("elicitation", "sampling")
)


def answered(context: Context, params: Asked) -> types.CallToolResult | types.InputRequiredResult:
    """The next questions, or the result once all are answered. Raises ``MCPError``."""
    rounds, number = ROUNDS[params.name], _number(params)
    responses = params.input_responses or {}
    wanted = _possible(context, rounds[number])
    if params.input_responses is not None and all(_fits(responses.get(key)) for key in wanted):
        number += 1
    if number < len(rounds):
        questions = {key: QUESTIONS[key] for key in _possible(context, rounds[number])}
        state = None if params.name in STATELESS else _signed(f"{params.name} {number}")
        return types.InputRequiredResult(input_requests=questions, request_state=state)
    words = " ".join(_words(responses[key]) for key in wanted)
    return types.CallToolResult(content=[types.TextContent(text=f"state-ok: {words}")])


def _number(params: Asked) -> int:
    if params.request_state is None:
        return 0
    text, _, _ = params.request_state.rpartition(".")
    name, _, number = text.partition(" ")
    if not hmac.compare_digest(_signed(text), params.request_state) or name != params.name:
        raise MCPError(types.INVALID_PARAMS, "This state is not as it was given")
    return int(number)


def _signed(text: str) -> str:
    return f"{text}.{hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()}"


def _possible(context: Context, keys: Round) -> list[str]:
    """The questions that the client can answer."""
    able = context.session.client_capabilities
    offered: dict[type, object] = {
        types.ElicitRequest: able and able.elicitation,
        types.CreateMessageRequest: able and able.sampling,
        types.ListRootsRequest: able and able.roots,
    }
    return [key for key in keys if offered[type(QUESTIONS[key])] is not None]


def _fits(response: object) -> bool:
    match response:
        case types.ElicitResult(content=content):
            return bool(content)
        case None:
            return False
        case _:
            return True


def _words(response: object) -> str:
    match response:
        case types.ElicitResult(content=content):
            return f"Hello, {', '.join(map(str, (content or {}).values()))}!"
        case types.CreateMessageResult(content=content):
            return str(getattr(content, "text", ""))
        case types.ListRootsResult(roots=roots):
            return ", ".join(str(root.uri) for root in roots)
        case _:
            return ""
