"""One contract, three adapters: direct and litellm against a real server, scripted from steps."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from sam_tui.adapters.llm.choice import Route, Wish, choose
from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.core import errors
from sam_tui.core.ids import CallId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.model import Model, TextDelta
from sam_tui.core.usage import Usage
from tests.fakes.openai_server import Call, FakeServer, Reply, failure
from tests.llm.folding import LITELLM_WARNINGS, USAGE, answer, request, until_text

pytestmark = LITELLM_WARNINGS

TOOLS = json.dumps(
    [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
    separators=(",", ":"),
)


class Stage:
    """An adapter and what plays behind it: a server, or steps."""

    def __init__(self, route: Route, server: FakeServer) -> None:
        self.route: Route = route
        self.server = server
        self.models: list[Model] = []

    def open(self, *replies: Reply, timeout: float = 20.0) -> Model:
        """A model that will get these replies."""
        if self.route == "scripted":
            model: Model = ScriptedModel([_step(reply) for reply in replies])
        else:
            self.server.replies += replies
            wish = Wish("openai/x", self.server.base, "k3y-of-mine", self.route, timeout)
            model = choose(wish, {})
        self.models.append(model)
        return model


def _step(reply: Reply) -> dict[str, Any]:
    step: dict[str, Any] = {"text": reply.text, "reasoning": reply.reasoning, "chunk": reply.chunk}
    step["calls"] = [{"name": c.name, "arguments": c.arguments} for c in reply.calls]
    if reply.hang:
        step["delay"] = 30
    if reply.cut is not None or reply.error is not None:
        step["error"] = {"type": "ModelCut"}
    if reply.status != 200:
        kind = _EXPECTED[(reply.status, (reply.body["error"]["code"] or ""))]
        step["error"] = {"type": kind.__name__, "status": reply.status, "retry_after": 7}
    if reply.usage is not None:
        step["usage"] = {
            "input_tokens": 1000,
            "cached_tokens": 400,
            "output_tokens": 50,
            "reasoning_tokens": 7,
            "cost": 0.25,
        }
    return step


@pytest.fixture(params=["direct", "litellm", "scripted"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with FakeServer() as server:
        made = Stage(request.param, server)
        yield made
        for model in made.models:
            await model.close()
            await model.close()


@pytest.mark.requirement("model:stream-text")
async def test_text_streams_in_pieces_and_in_order(stage: Stage) -> None:
    text = "Grüße — 你好, 🙂 and a long enough answer to be cut in pieces."
    got = await answer(stage.open(Reply(text=text, chunk=3)))
    assert got.text == text
    assert got.reasoning == "" and got.calls == []
    assert got.pieces > 10


@pytest.mark.requirement("model:stream-reasoning")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_told_from_text(stage: Stage, field: str) -> None:
    reply = Reply(reasoning="First I think.", text="Then I say.", reasoning_field=field, chunk=4)
    got = await answer(stage.open(reply))
    assert (got.reasoning, got.text) == ("First I think.", "Then I say.")


@pytest.mark.requirement("model:stream-calls")
@pytest.mark.parametrize("chunk", [1, 7])
@pytest.mark.parametrize("interleave", [False, True])
async def test_several_calls_come_whole_wherever_they_were_cut(
    stage: Stage, chunk: int, interleave: bool
) -> None:
    first = {"path": 'a "quoted"\\\n\u2028 näme 🙂', "lines": [1, 2, 3]}
    second = {"nested": {"a": {"b": None}}, "s": "\\u00e9"}
    calls = (Call("read", first), Call("grep", second), Call("none", {}))
    reply = Reply(text="Look:", calls=calls, chunk=chunk, interleave=interleave)
    got = await answer(stage.open(reply))
    assert got.text == "Look:"
    assert [name for _, name, _ in got.calls] == ["read", "grep", "none"]
    assert got.arguments == [first, second, {}]
    assert len({id_ for id_, _, _ in got.calls}) == 3


@pytest.mark.requirement("model:usage")
async def test_usage_counts_cached_and_reasoning_tokens_and_the_cost(stage: Stage) -> None:
    got = await answer(stage.open(Reply(text="x", usage=USAGE)))
    expected = Usage(
        input_tokens=1000, cached_tokens=400, output_tokens=50, reasoning_tokens=7, cost=0.25
    )
    assert got.usages == [expected]


@pytest.mark.requirement("model:cost-never-guessed")
async def test_no_usage_is_made_up_where_none_was_sent(stage: Stage) -> None:
    assert (await answer(stage.open(Reply(text="some words")))).usages == []


@pytest.mark.requirement("model:cost-never-guessed")
async def test_the_cost_is_unknown_where_nobody_says_it(stage: Stage) -> None:
    silent = {k: v for k, v in USAGE.items() if k != "cost"}
    if stage.route == "scripted":
        model: Model = ScriptedModel([{"text": "x", "usage": {"input_tokens": 1}}])
    else:
        model = stage.open(Reply(text="x", usage=silent))
    assert [u.cost for u in (await answer(model)).usages] == [None]


_EXPECTED: Mapping[tuple[int, str], type[errors.ModelError]] = {
    (401, "invalid_api_key"): errors.ModelAuthError,
    (403, "forbidden"): errors.ModelAuthError,
    (404, "model_not_found"): errors.ModelNotFound,
    (400, "bad_request"): errors.ModelRejected,
    (400, "context_length_exceeded"): errors.ContextExceeded,
    (402, "no_credit"): errors.ModelRejected,
    (413, "too_large"): errors.ContextExceeded,
    (429, "rate_limit_exceeded"): errors.ModelLimited,
    (429, "insufficient_quota"): errors.ModelRejected,
    (408, "timeout"): errors.ModelUnavailable,
    (500, "server_error"): errors.ModelUnavailable,
    (503, "unavailable"): errors.ModelUnavailable,
    (529, "overloaded"): errors.ModelUnavailable,
}


@pytest.mark.requirement("model:error-table", "model:no-own-retry", "model:key-never-shown")
@pytest.mark.parametrize(("status", "code"), _EXPECTED)
async def test_a_refusal_becomes_its_error_after_one_request(
    stage: Stage, status: int, code: str
) -> None:
    model = stage.open(failure(status, "it was k3y-of-mine.", code=code, retry_after="7"))
    with pytest.raises(errors.ModelError) as caught:
        await answer(model)
    assert type(caught.value) is _EXPECTED[(status, code)]
    assert "k3y-of-mine" not in caught.value.explain()
    if status == 429:
        assert caught.value.retry_after == 7
    if stage.route != "scripted":
        assert len(stage.server.posts) == 1


@pytest.mark.requirement("model:cut")
async def test_a_dropped_connection_is_a_cut_after_the_text_that_came(stage: Stage) -> None:
    model = stage.open(Reply(text="half an answer", chunk=4, cut=3))
    got = ""
    with pytest.raises(errors.ModelCut):
        async for delta in model.stream(request()):
            got += delta.text if isinstance(delta, TextDelta) else ""
    assert got.startswith("half")


@pytest.mark.requirement("model:cut")
async def test_an_error_event_in_the_middle_is_a_cut(stage: Stage) -> None:
    overloaded = {"message": "overloaded", "type": "server_error", "code": 529}
    with pytest.raises(errors.ModelCut):
        await answer(stage.open(Reply(text="half", error=overloaded)))


@pytest.mark.requirement("model:cancel")
async def test_cancelling_ends_the_stream_and_its_connection(stage: Stage) -> None:
    reply = Reply(text="on and on", chunk=2, hang="middle", cut=3)
    model = stage.open(reply)
    reading = asyncio.Event()

    async def read() -> None:
        stream = model.stream(request())
        if stage.route != "scripted":
            await until_text(stream)
        reading.set()
        async for _ in stream:
            pass

    task = asyncio.get_running_loop().create_task(read())
    async with asyncio.timeout(90):
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if stage.route != "scripted":
            await stage.server.gone.wait()


@pytest.mark.requirement("model:request-timeout")
async def test_a_silent_server_is_unavailable_after_the_request_timeout(stage: Stage) -> None:
    if stage.route == "scripted":
        model: Model = ScriptedModel([{"wait_for": {"file": "/nonexistent", "timeout": 0.05}}])
    else:
        model = stage.open(Reply(hang="start"), timeout=0.1)
    with pytest.raises(errors.ModelUnavailable):
        async with asyncio.timeout(90):
            await answer(model)


@pytest.mark.requirement("model:silent-terminal")
async def test_nothing_is_printed_by_answers_or_failures(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    model = stage.open(
        failure(500, "boom", code="server_error"),
        Reply(text="abc", cut=2),
        failure(400, "bad", code="bad_request"),
        Reply(text="x", usage=USAGE),
    )
    for _ in range(3):
        with pytest.raises(errors.ModelError):
            await answer(model)
    assert (await answer(model)).text == "x"
    assert capfd.readouterr() == ("", "")


@pytest.mark.requirement("model:history")
async def test_a_conversation_with_tools_goes_on(stage: Stage) -> None:
    model = stage.open(
        Reply(calls=(Call("read", {"path": "a"}),)), Reply(text="It says hello.", usage=USAGE)
    )
    history: list[Message] = [ReminderMessage("date", "Friday"), UserMessage("What does it say?")]
    first = await answer(model, request(*history, tools=TOOLS))
    call = first.calls[0]
    history += [first.message, ToolMessage(CallId(call[0]), "read", "hello", True)]
    second = await answer(model, request(*history, tools=TOOLS))
    assert second.text == "It says hello."
    if stage.route != "scripted":
        sent = stage.server.posts[1].json
        assert sent["tools"] == json.loads(TOOLS)
        assert [m["role"] for m in sent["messages"]] == [
            "system",
            "user",
            "user",
            "assistant",
            "tool",
        ]
        assert sent["messages"][1]["content"] == "<system-reminder>\nFriday\n</system-reminder>"
        assert sent["messages"][3]["tool_calls"][0]["id"] == call[0]
        assert sent["messages"][4]["tool_call_id"] == call[0]


@pytest.mark.requirement("model:history")
async def test_arguments_that_are_not_json_do_not_spoil_the_history(stage: Stage) -> None:
    model = stage.open(Reply(text="fine"))
    broken = ToolCall(CallId("call_1"), "file operations.read", '{"path": "a')
    history = (
        UserMessage("go \ud800"),
        AssistantMessage("", calls=(broken,)),
        ToolMessage(CallId("call_1"), "file_operations", "Not JSON.", False),
    )
    assert (await answer(model, request(*history, tools=TOOLS))).text == "fine"
    if stage.route != "scripted":
        function = stage.server.posts[0].json["messages"][2]["tool_calls"][0]["function"]
        assert function == {"name": "file_operations_read", "arguments": "{}"}
