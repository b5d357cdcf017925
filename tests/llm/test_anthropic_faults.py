"""Answers of Anthropic's wire that break off, refuse, lie or never come."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sam_tui.adapters.llm.litellm_model import LiteLLMModel, LiteLLMOptions
from sam_tui.core import errors
from tests.fakes.openai_server import FakeServer, Reply
from tests.llm.folding import LITELLM_WARNINGS, Folded, answer, request

pytestmark = LITELLM_WARNINGS


def event(kind: str, **data: Any) -> str:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"


def error(kind: str, message: str) -> str:
    """An error in the middle of a stream."""
    return event("error", error={"type": kind, "message": message})


START = event(
    "message_start",
    message={
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "c",
        "usage": {"input_tokens": 1},
    },
)
TEXT = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
HALF = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Half"})
BEGUN = START + TEXT + HALF
STOPPED = event("content_block_stop", index=0)
CALL = event(
    "content_block_start",
    index=0,
    content_block={"type": "tool_use", "id": "t", "name": "read", "input": {}},
)
INPUT = event(
    "content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"path": "'}
)


def ended(reason: str | None, **usage: Any) -> str:
    """The end of an answer."""
    delta = event("message_delta", delta={"stop_reason": reason}, usage=usage)
    return STOPPED + delta + event("message_stop")


async def answered(*replies: Reply) -> tuple[Folded | errors.ModelError, int]:
    """What comes of replies, and how many requests were sent for it."""
    async with FakeServer(list(replies)) as server:
        options = LiteLLMOptions(api_base=f"http://127.0.0.1:{server.port}", api_key="k3y-of-mine")
        model = LiteLLMModel("anthropic/claude-sonnet-4-5", options)
        try:
            got: Folded | errors.ModelError = await answer(model)
        except errors.ModelError as failed:
            got = failed
        finally:
            await model.close()
        return got, len(server.requests)


def refusal(kind: str, message: str = "No.") -> str:
    """The body of a refusal."""
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}})


FAULTS: Mapping[str, tuple[Reply, type[errors.ModelError], str]] = {
    "a reset": (Reply(raw=BEGUN, cut=3, chunk=40), errors.ModelCut, ""),
    "a clean close": (Reply(raw=BEGUN), errors.ModelCut, "before the answer was complete"),
    "half of a call": (Reply(raw=START + CALL + INPUT), errors.ModelCut, ""),
    "an end without a reason": (Reply(raw=BEGUN + ended(None)), errors.ModelCut, ""),
    "a broken event": (
        Reply(raw=BEGUN + 'data: {"type": "content_blo\n\n' + ended("end_turn")),
        errors.ModelCut,
        "",
    ),
    "overload in the middle": (
        Reply(raw=BEGUN + error("overloaded_error", "Overloaded")),
        errors.ModelError,
        "Overloaded",
    ),
    "an error at once": (Reply(raw=error("api_error", "Down")), errors.ModelError, "Down"),
    "overload": (
        Reply(status=529, body=refusal("overloaded_error")),
        errors.ModelUnavailable,
        "529|No",
    ),
    "too many requests": (
        Reply(status=429, body=refusal("rate_limit_error"), headers={"retry-after": "7"}),
        errors.ModelLimited,
        "",
    ),
    "a wrong key": (
        Reply(status=401, body=refusal("authentication_error", "k3y-of-mine is none")),
        errors.ModelAuthError,
        "",
    ),
    "a page of a proxy": (
        Reply(status=502, body="<html>" + "x" * 100_000),
        errors.ModelUnavailable,
        "",
    ),
    "another model": (
        Reply(status=404, body=refusal("not_found_error", "model: c")),
        errors.ModelNotFound,
        "",
    ),
}


@pytest.mark.requirement("model:faults")
@pytest.mark.parametrize("fault", FAULTS)
async def test_no_fault_counts_as_an_answer_or_is_tried_again_unasked(fault: str) -> None:
    reply, kind, words = FAULTS[fault]
    got, requests = await answered(*[reply] * 3)
    assert isinstance(got, kind), got
    assert not words or any(word in str(got) for word in words.split("|")), got
    assert "k3y-of-mine" not in got.explain() and "litellm" not in str(got).lower()
    assert len(str(got)) < 1_000
    assert requests == 1
    if isinstance(got, errors.ModelLimited):
        assert got.retry_after == 7


@pytest.mark.requirement("model:faults")
async def test_the_end_of_the_window_is_told_and_numbers_that_cannot_be_do_not_count() -> None:
    text = BEGUN + ended("model_context_window_exceeded", output_tokens=10**30)
    got, _ = await answered(Reply(raw=text))
    assert isinstance(got, Folded)
    assert (got.text, got.truncated) == ("Half", True)
    assert [usage.output_tokens for usage in got.usages] == [0]


@pytest.mark.requirement("model:faults")
async def test_input_of_a_call_that_is_no_json_comes_as_it_was_sent() -> None:
    got, _ = await answered(Reply(raw=START + CALL + INPUT + ended("tool_use", output_tokens=2)))
    assert isinstance(got, Folded)
    assert got.calls == [("t", "read", '{"path": "')]


ENDLESS = {
    "comments": f": still there{' ' * 400}\n\n".encode() * 20,
    "pings": event("ping", at=" " * 400).encode() * 20,
    "text": HALF.encode() * 40,
    "calls": CALL.encode() * 40,
}


@pytest.mark.requirement("model:answer-limits")
@pytest.mark.parametrize("kind", ENDLESS)
async def test_what_never_ends_is_broken_off_at_the_limit(kind: str) -> None:
    async with FakeServer([Reply(raw=BEGUN, endless=ENDLESS[kind])]) as server:
        options = LiteLLMOptions(api_base=f"http://127.0.0.1:{server.port}", api_key="k")
        model = LiteLLMModel("anthropic/claude-sonnet-4-5", options)
        narrow = replace(request().limits, size=20_000)
        with pytest.raises(errors.AnswerTooLarge):
            await answer(model, replace(request(), limits=narrow))
        await model.close()
        await server.gone.wait()


@pytest.mark.requirement("model:tolerant-stream")
async def test_the_stream_is_read_however_its_lines_are_written() -> None:
    whole = BEGUN + ended("end_turn", output_tokens=1)
    data_alone = "".join(f"{x}\n\n" for x in whole.split("\n") if x.startswith("data"))
    for text in (whole.replace("\n", "\r\n"), whole.replace(": {", ":{"), data_alone):
        got, _ = await answered(Reply(raw=text, split=7))
        assert isinstance(got, Folded) and got.text == "Half"
