"""The direct adapter against a server that misbehaves."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest

from sam_tui.adapters.llm.direct import DirectModel
from sam_tui.adapters.llm.endpoint import Endpoint
from sam_tui.adapters.llm.failures import FailureSource, read_refusal
from sam_tui.adapters.llm.failures import failure as failure_of
from sam_tui.core.errors import (
    ContextExceeded,
    ModelAuthError,
    ModelCut,
    ModelError,
    ModelLimited,
    ModelRejected,
    ModelUnavailable,
    UsageError,
)
from sam_tui.core.messages import Message, UserMessage
from tests.fakes.openai_server import Call, FakeServer, Reply, background, failure
from tests.llm.folding import USAGE, answer, fold, request


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as made:
        yield made


def model_at(server: FakeServer, *replies: Reply, **fields: Any) -> DirectModel:
    server.replies += replies
    return DirectModel(Endpoint(model="m", base=server.base, name="openai/m", **fields))


async def refused(model: DirectModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await answer(model)
    await model.close()
    return caught.value


@pytest.mark.requirement("model:stream-calls")
async def test_an_answer_written_byte_by_byte_is_whole(server: FakeServer) -> None:
    calls = (Call("read", {"path": "ä\u2028🙂"}), Call("grep", {"q": "\\n"}))
    model = model_at(server, Reply(text="Grüße 🙂", reasoning="hm", calls=calls, split=1))
    got = await answer(model)
    assert (got.text, got.reasoning) == ("Grüße 🙂", "hm")
    assert got.arguments == [{"path": "ä\u2028🙂"}, {"q": "\\n"}]
    await model.close()


@pytest.mark.requirement("model:connection-reuse")
async def test_a_conversation_keeps_its_connection(server: FakeServer) -> None:
    model = model_at(server, Reply(text="a", usage=USAGE), failure(500, "x"), Reply(text="b"))
    await answer(model)
    with pytest.raises(ModelUnavailable):
        await answer(model)
    await answer(model)
    assert server.connections == 1
    await model.close()


@pytest.mark.requirement("model:prefix-extension")
async def test_bodies_on_the_wire_extend_each_other(server: FakeServer) -> None:
    model = model_at(server, *(Reply(text=f"answer {n}") for n in range(4)))
    history: list[Message] = []
    for n in range(4):
        history.append(UserMessage(f"question {n}"))
        history.append((await answer(model, request(*history))).message)
    bodies = [r.body for r in server.posts]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))
    await model.close()


@pytest.mark.requirement("model:cut")
async def test_the_end_is_done_or_a_finish_reason_and_nothing_else(server: FakeServer) -> None:
    model = model_at(
        server,
        Reply(text="only done", finish=""),
        Reply(text="only reason", done=False),
        Reply(text="neither", finish="", done=False),
    )
    assert (await answer(model)).text == "only done"
    assert (await answer(model)).text == "only reason"
    assert isinstance(await refused(model), ModelCut)


@pytest.mark.requirement("model:cut")
async def test_a_drop_after_the_finish_reason_is_no_cut(server: FakeServer) -> None:
    reply = Reply(text="whole", chunk=16, cut=3)
    model = model_at(server, reply)
    assert (await answer(model)).text == "whole"
    await model.close()


@pytest.mark.requirement("model:tolerant-stream")
async def test_a_whole_completion_instead_of_a_stream_is_understood(server: FakeServer) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    message = {"role": "assistant", "content": "<think>hm</think>hi", "tool_calls": [call]}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE}
    model = model_at(server, Reply(body=body))
    got = await answer(model)
    assert (got.text, got.reasoning, got.calls) == ("hi", "hm", [("a", "read", "{}")])
    assert got.usages[0].cost == 0.25
    await model.close()


@pytest.mark.requirement("model:error-table")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(body={"error": {"message": "slow", "code": 429}}), ModelLimited),
        (Reply(error={"message": "slow", "code": "rate_limit_exceeded"}), ModelLimited),
        (Reply(error={"message": "maximum context length is 9"}), ContextExceeded),
        (Reply(body={"detail": "no such page"}), ModelRejected),
        (Reply(text="x", error={"message": "boom"}), ModelCut),
        (Reply(error={"message": "boom", "type": "server_error"}), ModelUnavailable),
        (Reply(raw='event: error\ndata: {"message":"bad","type":"x"}\n\n'), ModelUnavailable),
        (Reply(raw="data: {}\n\ndata: nonsense\n\n"), ModelCut),
        (Reply(raw="nonsense"), ModelRejected),
        (Reply(raw=""), ModelCut),
        (Reply(body="<html><title>Login</title></html>"), ModelRejected),
        (Reply(finish="content_filter"), ModelRejected),
    ],
)
async def test_an_answer_that_is_none_gets_its_error(
    server: FakeServer, reply: Reply, kind: type[ModelError]
) -> None:
    error = await refused(model_at(server, reply))
    assert type(error) is kind
    assert str(error)


@pytest.mark.requirement("model:no-redirect")
async def test_a_redirect_is_reported_and_not_followed(server: FakeServer) -> None:
    async with FakeServer([Reply(text="stolen")]) as other:
        location = {"location": f"{other.base}/chat/completions"}
        model = model_at(server, Reply(status=307, body="", headers=location), key="secret")
        error = await refused(model)
        assert isinstance(error, ModelRejected)
        assert "redirect" in str(error)
        assert other.requests == []


@pytest.mark.requirement("model:key-never-shown")
async def test_the_key_is_sent_and_never_shown(server: FakeServer) -> None:
    model = model_at(server, failure(401, "Incorrect key sk-12345 \x1b[31m"), key="sk-12345")
    error = await refused(model)
    assert server.posts[0].headers["authorization"] == "Bearer sk-12345"
    assert "sk-12345" not in error.explain() and "\x1b" not in str(error)
    assert "sk-12345" not in repr(model.endpoint)


@pytest.mark.requirement("model:key-never-shown")
@pytest.mark.parametrize(
    "echo",
    ["sk-a/b+c=d%", "sk-a%2Fb%2Bc%3Dd%25", "…-a/b+c=d%", "sk-a/b+c…", "Bearer sk-a/b+c=d%."],
)
async def test_no_spelling_and_no_piece_of_the_key_comes_back(
    server: FakeServer, echo: str
) -> None:
    model = model_at(server, failure(401, f"Incorrect API key provided: {echo}"), key="sk-a/b+c=d%")
    said = (await refused(model)).explain()
    assert "[key]" in said
    assert "b+c" not in said and "b%2Bc" not in said


@pytest.mark.requirement("model:key-never-shown")
@pytest.mark.parametrize("key", ["two words", "line\n", "schlüssel"])
def test_a_key_that_cannot_be_one_is_refused_unseen(key: str) -> None:
    with pytest.raises(ModelAuthError) as caught:
        Endpoint(model="m", base="http://127.0.0.1/v1", name="m", key=key)
    assert key not in caught.value.explain()


@pytest.mark.requirement("model:choice-base")
@pytest.mark.parametrize("base", ["", "ftp://x/v1", "http://", "http://[::1", "http://x:port/v1"])
def test_an_address_that_is_none_is_refused(base: str) -> None:
    with pytest.raises(UsageError):
        Endpoint(model="m", base=base, name="m")


@pytest.mark.requirement("model:error-table")
async def test_a_refused_connection_and_an_unknown_name_are_told_apart() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        base = f"http://127.0.0.1:{port}/v1"
        error = await refused(DirectModel(Endpoint(model="m", base=base, name="m")))
    assert isinstance(error, ModelUnavailable)
    assert f"127.0.0.1:{port}" in str(error) and "Start the server" in error.hint
    base = "http://nowhere.invalid/v1"
    error = await refused(DirectModel(Endpoint(model="m", base=base, name="m")))
    assert isinstance(error, ModelUnavailable)
    assert "cannot be resolved" in str(error)


@pytest.mark.requirement("model:error-table")
@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HTTPS_PROXY", "http://bob:p4ss@h:99999", "The proxy in the environment cannot be used"),
        ("HTTPS_PROXY", "http://bob:p4/ss@h:80", "The proxy in the environment cannot be used"),
        ("ALL_PROXY", "socks9://bob:p4ss@h", "The proxy in the environment cannot be used"),
        ("SSL_CERT_FILE", "/no/such", "cannot be read: No such file or directory."),
    ],
)
async def test_a_proxy_and_certificates_that_cannot_be_used_are_said_and_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    error = await refused(DirectModel(Endpoint(model="m", base="https://h.invalid/v1", name="m")))
    assert isinstance(error, ModelRejected) and not error.retryable
    assert words in str(error) and variable in error.explain()
    assert "p4" not in error.explain()


@pytest.mark.requirement("model:error-table")
async def test_https_to_a_server_without_it_says_so() -> None:
    def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as plain:
        base = f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/v1"
        error = await refused(DirectModel(Endpoint(model="m", base=base, name="m")))
    assert isinstance(error, ModelRejected)
    assert "http://" in error.hint


@pytest.mark.requirement("model:request-timeout")
async def test_silence_in_the_middle_is_a_cut(server: FakeServer) -> None:
    reply = Reply(text="half", hang="middle", cut=2)
    error = await refused(model_at(server, reply, timeout=2))
    assert isinstance(error, ModelCut)
    assert "2 s" in str(error)


@pytest.mark.requirement("model:no-proxy-to-this-machine")
async def test_a_proxy_in_the_environment_is_not_used_for_this_machine(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    model = model_at(server, Reply(text="straight"))
    assert (await answer(model)).text == "straight"
    await model.close()


@pytest.mark.requirement("model:error-table")
async def test_retry_after_may_be_seconds_milliseconds_or_a_date(server: FakeServer) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    their_now = datetime.now(UTC).replace(microsecond=0) - timedelta(days=365)
    past = their_now + timedelta(seconds=40)
    model = model_at(
        server,
        failure(429, "x", retry_after="2.5"),
        failure(429, "x", retry_after_ms="1500"),
        failure(503, "x", retry_after=soon),
        failure(429, "x", retry_after="later"),
        failure(503, "x", retry_after=format_datetime(past), date=format_datetime(their_now)),
        failure(429, "x", retry_after="7200"),
    )
    waits: list[float | None] = []
    hints: list[str] = []
    for _ in range(6):
        with pytest.raises(ModelError) as caught:
            await answer(model)
        waits.append(caught.value.retry_after)
        hints.append(caught.value.hint)
    assert waits[0] == 2.5 and waits[1] == 1.5 and waits[3] is None
    assert waits[2] is not None and 60 < waits[2] <= 90
    assert waits[4] == 40  # by the clock of the server, a year behind this one
    assert "Wait a little" in hints[0] and "Wait 120 minutes" in hints[5]
    await model.close()


@pytest.mark.requirement("model:cancel")
async def test_a_consumer_that_walks_away_closes_the_connection(server: FakeServer) -> None:
    model = model_at(server, Reply(text="on and on", chunk=1, hang="middle", cut=4))
    stream = model.stream(request())
    assert fold([await anext(stream)]).text == "o"
    assert isinstance(stream, AsyncGenerator)
    await stream.aclose()
    await server.gone.wait()
    await model.close()


@pytest.mark.requirement("model:connection-reuse")
def test_each_event_loop_gets_a_client_of_its_own() -> None:
    """Two runs of asyncio.run with one server: each opens its own client."""

    async def once(base: str) -> str:
        model = DirectModel(Endpoint(model="m", base=base, name="m"))
        try:
            return (await answer(model)).text
        finally:
            await model.close()

    with background([Reply(text="one"), Reply(text="two")]) as server:
        assert asyncio.run(once(server.base)) == "one"
        assert asyncio.run(once(server.base)) == "two"


TOO_LONG = {
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.": 8192,
    "prompt is too long: 205000 tokens > 200000 maximum": 200000,
    "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).": 1048576,
    "the request exceeds the available context size. try increasing the context size": None,
    "The decoder prompt (length 10000) is longer than the maximum model length of 4096.": 4096,
    "the model is loaded with context length of only 4096 tokens, which is not enough": 4096,
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length": 32768,
    "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens": 8193,
    "`inputs` must have less than 4096 tokens. Given: 5000": 4096,
    "too many tokens: total number of tokens cannot exceed 4081 - received 5000.": 4081,
    "prompt too long; exceeded max context length by 1000 tokens": None,
    "Your request exceeded model token limit: 8192": 8192,
    "Prompt exceeds max length": None,
    "Range of input length should be [1, 30720]": 30720,
    "prompt token count of 70000 exceeds the limit of 64000": 64000,
    "Your input exceeds the context window of this model.": None,
}
"""How providers say that a request is too long, and the context that they name."""


@pytest.mark.requirement("model:error-table")
def test_every_wording_of_too_long_is_understood_with_the_size_that_it_names() -> None:
    source = FailureSource("m", "here")
    for text, limit in TOO_LONG.items():
        body = json.dumps({"error": {"message": text}}).encode()
        error = failure_of(read_refusal(400, body, {}), source)
        assert isinstance(error, ContextExceeded), text
        assert error.limit == limit, text
    body = b'{"error": "registry/m does not support tools"}'
    assert "--tools ''" in failure_of(read_refusal(400, body, {}), source).explain()
