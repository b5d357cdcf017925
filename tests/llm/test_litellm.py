"""What only the litellm adapter does: loading, quiet, thinking blocks, caching, prices."""

import contextlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.llm.choice import Wish, choose
from sam_tui.adapters.llm.litellm_model import LiteLLMModel, LiteLLMOptions
from sam_tui.core.errors import ModelError, ModelNotFound, ModelRejected, ModelUnavailable
from sam_tui.core.ids import CallId
from sam_tui.core.messages import Message, ToolMessage, UserMessage
from tests.fakes.openai_server import FakeServer, Reply, background
from tests.fakes.preloaded import SCRIPT
from tests.llm.folding import LITELLM_WARNINGS, answer, request

pytestmark = LITELLM_WARNINGS

_PROBE = """
import asyncio, gc, os, sys, types
# The adapter sets litellm's variables for its process; here it has to do so again.
for name in [name for name in os.environ if name.startswith("LITELLM")]:
    del os.environ[name]
# As with -c: without a file of its own, what reads a .env looks for it in the working folder.
sys.modules["__main__"] = types.ModuleType("__main__")
seen = []
watched = ("socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto")
def hook(event, args):
    if event in watched and "127.0.0.1" not in repr(args):
        seen.append(args)
sys.addaudithook(hook)
from sam_tui.adapters.llm import litellm_model
from sam_tui.adapters.llm.choice import Wish, choose, warm
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.model import ModelRequest
assert "litellm" not in sys.modules
model = choose(Wish("openai/x", api_base=sys.argv[1], api_key="k", provider="litellm"), {})
thread = warm(model)
assert thread.daemon
thread.join()
assert "litellm" in sys.modules and gc.isenabled()

async def ask():
    request = ModelRequest("", "[]", [UserMessage("hi")])
    texts = [getattr(delta, "text", "") async for delta in model.stream(request)]
    await model.close()
    return "".join(texts)

assert asyncio.run(ask()) == "quiet"
assert not seen, seen
assert "FROM_DOTENV" not in os.environ
"""


@pytest.mark.requirement("model:litellm-offline", "model:silent-terminal", "model:litellm-warm")
def test_a_run_looks_up_no_name_prints_nothing_and_reads_no_dotenv(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n", "utf-8")
    with background([Reply(text="quiet", usage={"prompt_tokens": 1})]) as server:
        command = [*SCRIPT, _PROBE, server.base]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def events(*pairs: tuple[str, dict[str, Any]]) -> str:
    typed = [(name, {"type": name, **data}) for name, data in pairs]
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in typed)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[Any]:
    return [
        ("content_block_start", {"index": index, "content_block": start}),
        *(("content_block_delta", {"index": index, "delta": delta}) for delta in deltas),
        ("content_block_stop", {"index": index}),
    ]


USED = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 900,
    "output_tokens": 1,
}
MESSAGE: Mapping[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [],
    "model": "c",
    "stop_reason": None,
    "usage": USED,
}
ANSWER = events(
    ("message_start", {"message": MESSAGE}),
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "thinking_delta", "thinking": "m."},
        {"type": "signature_delta", "signature": "SIG"},
    ),
    *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Let me look."}),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"pa'},
        {"type": "input_json_delta", "partial_json": 'th":1}'},
    ),
    ("message_delta", {"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}),
    ("message_stop", {}),
)
TOOLS = '[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]'


def claude(server: FakeServer) -> LiteLLMModel:
    options = LiteLLMOptions(api_base=f"http://127.0.0.1:{server.port}", api_key="k")
    return LiteLLMModel("anthropic/claude-sonnet-4-5", options)


@pytest.mark.requirement("model:opaque", "model:prompt-cache")
async def test_thinking_goes_back_signed_and_the_prefix_is_marked_for_the_cache() -> None:
    async with FakeServer([Reply(raw=ANSWER), Reply(raw=ANSWER)]) as server:
        model = claude(server)
        history: list[Message] = [UserMessage("hi")]
        first = await answer(model, request(*history, tools=TOOLS))
        history += [first.message, ToolMessage(CallId("toolu_1"), "read", "text", True)]
        await answer(model, request(*history, tools=TOOLS))
        sent = server.posts[1].json
    assert (first.reasoning, first.text) == ("hmm.", "Let me look.")
    assert first.calls == [("toolu_1", "read", '{"path":1}')]
    thinking = {"type": "thinking", "thinking": "hmm.", "signature": "SIG"}
    assert sent["messages"][1]["content"][0] == thinking
    cached = {"type": "ephemeral"}
    assert sent["system"][0]["cache_control"] == cached
    assert sent["messages"][-1]["content"][-1]["cache_control"] == cached
    [usage] = first.usages
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (1010, 900, 100)
    assert usage.cost is not None and usage.cost > 0


@pytest.mark.requirement("model:error-table")
async def test_a_provider_s_own_words_are_what_the_error_says() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Too busy"}}
    async with FakeServer([Reply(status=529, body=overloaded)]) as server:
        with pytest.raises(ModelUnavailable) as caught:
            await answer(claude(server))
    assert str(caught.value).endswith(": Too busy")
    assert "Exception" not in str(caught.value) and "{" not in str(caught.value)


@pytest.mark.requirement("model:error-table")
async def test_an_unknown_provider_is_a_model_that_is_not_there() -> None:
    with pytest.raises(ModelNotFound, match="'nobody/knows'"):
        await answer(LiteLLMModel("nobody/knows"))


@pytest.mark.requirement("model:error-table")
async def test_a_server_that_is_not_there_is_unavailable() -> None:
    model = LiteLLMModel("openai/x", LiteLLMOptions(api_base="http://127.0.0.1:1/v1", api_key="k"))
    with pytest.raises(ModelUnavailable, match=r"Nothing answers at 127\.0\.0\.1:1"):
        await answer(model)


@pytest.mark.requirement("model:stream-text")
async def test_a_long_run_of_one_piece_is_no_failure() -> None:
    async with FakeServer([Reply(text="-" * 800, chunk=4)]) as server:
        options = LiteLLMOptions(api_base=server.base, api_key="k")
        assert (await answer(LiteLLMModel("openai/x", options))).text == "-" * 800


@pytest.mark.requirement("model:tolerant-stream")
@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
async def test_a_whole_completion_instead_of_a_stream_is_understood(provider: str) -> None:
    calls = [
        {"id": i, "type": "function", "function": {"name": "read", "arguments": "{}"}} for i in "ab"
    ]
    message = {"role": "assistant", "content": "hi", "tool_calls": calls}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {
        "id": "x",
        "model": "x",
        "object": "chat.completion",
        "choices": [choice],
        "usage": usage,
    }
    async with FakeServer([Reply(body=body), Reply(body={"detail": "no"})]) as server:
        options = LiteLLMOptions(api_base=server.base, api_key="k")
        got = await answer(LiteLLMModel(f"{provider}/x", options))
        with pytest.raises(ModelRejected, match="did not answer as a model does"):
            await answer(LiteLLMModel(f"{provider}/x", options))
    assert (got.text, got.calls) == ("hi", [("a", "read", "{}"), ("b", "read", "{}")])
    assert got.usages[-1].output_tokens == 5


@pytest.mark.requirement("model:keys")
@pytest.mark.parametrize("model", ["openai/x", "anthropic/claude-x"])
async def test_a_provider_s_key_is_sent_to_no_local_server_unless_it_was_given_for_it(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    key_of_provider = "sk-of-the-provider"
    secrets = {"OPENAI_API_KEY": key_of_provider, "ANTHROPIC_API_KEY": key_of_provider}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    with background([Reply(text="yes"), Reply(text="yes")]) as server:
        for key in ("", "of-this-server"):
            base = server.base.removesuffix("/v1") if model.startswith("anthropic") else server.base
            wish = Wish(model, api_base=base, api_key=key, provider="litellm")
            with contextlib.suppress(ModelError):  # an answer of the other wire is not understood
                await answer(choose(wish, secrets), request(UserMessage("hi")))
        sent = [json.dumps(dict(seen.headers)) for seen in server.requests]
    assert len(sent) >= 2
    assert not any("sk-of-the-provider" in headers for headers in sent)
    assert "of-this-server" in sent[-1]
