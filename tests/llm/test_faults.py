"""One suite of faults for both adapters: answers that break off, end too early, or never end."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sam_tui.adapters.llm.choice import Route, Wish, choose
from sam_tui.adapters.llm.direct import DirectModel
from sam_tui.adapters.llm.litellm_model import LiteLLMModel, LiteLLMOptions
from sam_tui.core import errors
from sam_tui.core.ports.model import Model
from tests.fakes.clocks import pass_time
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.llm.folding import LITELLM_WARNINGS, Folded, answer, request

pytestmark = LITELLM_WARNINGS


def event(finish: str | None = None, **delta: Any) -> bytes:
    chunk = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


WORDS, STOP, DONE = event(content="Half"), event("stop"), b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Stage:
    """An adapter before a server."""

    route: Route
    server: FakeServer

    def open(self, *replies: Reply) -> Model:
        """A model that will get these replies."""
        self.server.replies += replies
        return choose(Wish("openai/x", self.server.base, "k3y-of-mine", self.route, 20.0), {})

    async def answer(self, reply: Reply) -> Folded:
        """What comes of a reply."""
        model = self.open(reply)
        try:
            return await answer(model)
        finally:
            await model.close()


@pytest.fixture(params=["direct", "litellm"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with FakeServer() as server:
        yield Stage(request.param, server)


HALF_CALL = Call("read", '{"path": "a')
BROKEN: Mapping[str, tuple[Reply, type[errors.ModelError]]] = {
    "a clean close without a finish reason": (
        Reply(text="Half", finish="", done=False),
        errors.ModelCut,
    ),
    "the same after a whole call": (
        Reply(calls=(Call("read", {"path": "a"}),), finish="", done=False),
        errors.ModelCut,
    ),
    "half a tool call": (Reply(calls=(HALF_CALL,), finish="", done=False), errors.ModelCut),
    "a broken chunk": (
        Reply(raw=WORDS + b'data: {"choices": [{"del\n\n' + STOP + DONE),
        errors.ModelCut,
    ),
    "the same without a blank": (
        Reply(raw=WORDS + b'data:{"choices": [{"del\n\n' + STOP + DONE),
        errors.ModelCut,
    ),
    "a JSON answer that is none": (Reply(body={"detail": "no such page"}), errors.ModelRejected),
    "half a JSON line": (Reply(raw=WORDS + STOP[:30]), errors.ModelCut),
    "a reset": (Reply(text="half an answer", chunk=4, cut=3), errors.ModelCut),
    "nothing at all": (Reply(raw=""), errors.ModelCut),
    "comments alone": (Reply(raw=": working\n\n: working\n\n"), errors.ModelCut),
    "half of the first event": (Reply(raw=WORDS[:40]), errors.ModelCut),
    "half of a field's name": (Reply(raw=": working\n\ndat"), errors.ModelCut),
    "a role and no more": (Reply(raw=event(role="assistant")), errors.ModelCut),
    "a web page that says it is a stream": (Reply(raw="<html>\n"), errors.ModelRejected),
    "an answer that was withheld": (
        Reply(text="Half", finish="content_filter"),
        errors.ModelRejected,
    ),
    "a compressed answer": (
        Reply(raw=WORDS + STOP, headers={"content-encoding": "gzip"}),
        errors.ModelRejected,
    ),
}


@pytest.mark.requirement("model:faults")
@pytest.mark.parametrize("fault", BROKEN)
async def test_no_broken_answer_counts_as_one(stage: Stage, fault: str) -> None:
    reply, kind = BROKEN[fault]
    with pytest.raises(errors.ModelError) as caught:
        await stage.answer(reply)
    assert type(caught.value) is kind


@pytest.mark.requirement("model:no-redirect")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_takes_no_request_elsewhere(stage: Stage, status: int) -> None:
    async with FakeServer([Reply(text="Elsewhere.")]) as elsewhere:
        there = {"location": f"{elsewhere.base}/chat/completions"}
        with pytest.raises(errors.ModelRejected, match=f"redirects elsewhere .{status}"):
            await stage.answer(Reply(status=status, body="", headers=there))
        assert elsewhere.requests == []


@pytest.mark.requirement("model:faults")
@pytest.mark.parametrize("split", [0, 1])
async def test_bytes_that_are_no_text_cost_one_character_each(stage: Stage, split: int) -> None:
    spoiled = event(content="Gr~e").replace(b"~", b"\xff\xc3\xbc\xe2\x82\xc3\x9f")
    got = await stage.answer(Reply(raw=spoiled + STOP + DONE, split=split))
    assert got.text == "Gr\ufffdü\ufffdße"


@pytest.mark.requirement("model:faults")
async def test_done_without_a_finish_reason_is_the_end(stage: Stage) -> None:
    got = await stage.answer(Reply(text="Whole", finish=""))
    assert (got.text, got.truncated) == ("Whole", False)


@pytest.mark.requirement("model:faults")
async def test_a_whole_answer_is_not_held_back_by_what_is_sent_after_its_end(stage: Stage) -> None:
    model = stage.open(Reply(raw=WORDS + STOP + DONE, endless=b": still there\n\n" * 99))
    assert (await answer(model, replace(request(), limits=NARROW))).text == "Half"
    await stage.server.gone.wait()
    await model.close()


@pytest.mark.requirement("model:faults")
async def test_the_limit_of_length_is_told(stage: Stage) -> None:
    got = await stage.answer(Reply(text="Half", finish="length"))
    assert (got.text, got.truncated) == ("Half", True)


def claude_events(*, stop: str) -> str:
    message: Mapping[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "c",
    }
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    pairs: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {**message, "usage": {"input_tokens": 1}}}),
        ("content_block_start", block),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Half"}}),
    ]
    if stop:
        end = {"delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}}
        pairs += [
            ("content_block_stop", {"index": 0}),
            ("message_delta", end),
            ("message_stop", {}),
        ]
    typed = [(name, json.dumps({"type": name, **data})) for name, data in pairs]
    return "".join(f"event: {name}\ndata: {data}\n\n" for name, data in typed)


@pytest.mark.requirement("model:faults")
async def test_anthropics_wire_ends_like_the_others() -> None:
    replies = [Reply(raw=claude_events(stop=stop)) for stop in ("end_turn", "max_tokens", "")]
    async with FakeServer(replies) as server:
        options = LiteLLMOptions(api_base=f"http://127.0.0.1:{server.port}", api_key="k")
        model = LiteLLMModel("anthropic/claude-sonnet-4-5", options)
        whole, truncated = await answer(model), await answer(model)
        with pytest.raises(errors.ModelCut):
            await answer(model)
    assert (whole.text, whole.truncated) == ("Half", False)
    assert (truncated.text, truncated.truncated) == ("Half", True)


NARROW = replace(request().limits, size=20_000)
ENVELOPE = b'data: {"id": "c", "choices": [], "padding": "'
ENDLESS: Mapping[str, tuple[bytes, bytes]] = {
    "comments": (b"", b": still there\n\n"),
    "a line": (b"data: ", b" " * 100),
    "lines of one event": (b"", b"data: 1,\n"),
    "empty chunks": (b"", ENVELOPE + b'"}\n\n'),
    "one chunk": (ENVELOPE, b"x" * 100),
}


@pytest.mark.requirement("model:answer-limits")
@pytest.mark.parametrize("kind", ENDLESS)
async def test_what_never_ends_is_broken_off_at_the_limit(stage: Stage, kind: str) -> None:
    first, again = ENDLESS[kind]
    model = stage.open(Reply(raw=WORDS + first, endless=again * 40))
    with pytest.raises(errors.AnswerTooLarge) as caught:
        await answer(model, replace(request(), limits=NARROW))
    await model.close()
    assert "answer_bytes" in caught.value.hint
    await stage.server.gone.wait()
    assert stage.server.sent < 2**25  # what the system's buffers hold, and not what there is


SHORT_LINES: Mapping[str, tuple[bytes, bool]] = {
    "comments": (b":\n\n", True),
    "empty lines": (b"\n", True),
    "events that say nothing": (b"data: {}\n\n", False),
    "names of events": (b"event: x\n\n", False),
}


@pytest.mark.requirement("model:answer-limits")
@pytest.mark.parametrize("kind", SHORT_LINES)
async def test_lines_that_say_nothing_cost_no_time_or_are_counted(stage: Stage, kind: str) -> None:
    line, whole = SHORT_LINES[kind]
    model = stage.open(Reply(raw=line * 1000 + WORDS + STOP + DONE))
    narrow = replace(request(), limits=NARROW)
    if whole:
        assert (await answer(model, narrow)).text == "Half"
    else:
        with pytest.raises(errors.AnswerTooLarge, match="more than 625 lines"):
            await answer(model, narrow)
    await model.close()


@pytest.mark.requirement("model:faults")
async def test_a_server_that_only_ever_says_that_it_will_answer_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = asyncio.Event()

    async def promise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            for second in itertools.count():
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                await writer.drain()
                if second < 100:  # no two of them are far apart
                    pass_time(1, monkeypatch)
                await asyncio.sleep(0)
        gone.set()
        writer.close()

    server = await asyncio.start_server(promise, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    made = choose(Wish("openai/x", base, "k", "direct", 30), {})
    assert isinstance(made, DirectModel)
    model = DirectModel(replace(made.endpoint, connect_timeout=30))
    with pytest.raises(errors.ModelUnavailable, match="silent"):
        await answer(model)
    await gone.wait()
    await model.close()
    server.close()
