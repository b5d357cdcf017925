"""Bytes to deltas: events and calls cut anywhere, and what servers leave out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.adapters.llm.deltas import ChunkReader, ThinkTags, read_usage
from sam_tui.adapters.llm.response_bytes import EventParser
from sam_tui.core.ports.model import Delta
from sam_tui.core.usage import Usage
from tests.llm.folding import Folded, fold


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def piece(arguments: str = "", **fields: Any) -> dict[str, Any]:
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return {**fields, "function": {**name, "arguments": arguments}}


def read(chunks: Sequence[Mapping[str, Any]]) -> Folded:
    reader = ChunkReader("me")
    out: list[Delta] = []
    for one in chunks:
        out += reader.read(one)
    return fold(out + reader.end())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def cut(draw: st.DrawFn, text: str | bytes) -> list[Any]:
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.requirement("model:stream-calls")
@settings(max_examples=80, deadline=None)
@given(data=st.data(), values=st.lists(st.dictionaries(st.text(), json_values), max_size=3))
def test_calls_survive_any_cut_of_their_arguments_and_of_the_bytes(
    data: st.DataObject, values: list[dict[str, Any]]
) -> None:
    escaped = data.draw(st.booleans())
    chunks: list[dict[str, Any]] = [chunk(role="assistant", content="é🙂")]
    for index, value in enumerate(values):
        text = json.dumps(value, ensure_ascii=escaped)
        chunks.append(chunk(tool_calls=[piece(index=index, id=f"c{index}", name="n")]))
        parts = data.draw(cut(text))
        chunks += [chunk(tool_calls=[piece(part, index=index)]) for part in parts]
    end = data.draw(st.sampled_from(["\n\n", "\r\n\r\n", "\r\r"]))
    events = (f"data: {json.dumps(c, ensure_ascii=escaped)}{end}" for c in chunks)
    wire = f": hello{end}{''.join(events)}data: [DONE]{end}"
    parser = EventParser()
    seen: list[bytes] = []
    for part in data.draw(cut(wire.encode("utf-8"))):
        seen += parser.feed(part)
    seen += parser.close()
    assert seen.pop() == b"[DONE]"
    got = read([json.loads(event) for event in seen])
    assert got.text == "é🙂"
    assert got.arguments == values


@pytest.mark.requirement("model:tolerant-stream")
def test_events_are_taken_apart_as_servers_write_them() -> None:
    parser = EventParser()
    text = b'data:{"a":1}\n\n:note\nid: 3\ndata: {"b":\ndata: 2}\n\ndata: {"c":3}\ndata: {"d":4}\n'
    assert parser.feed(text) == [b'{"a":1}', b'{"b":\n2}', b'{"c":3}']
    assert parser.close() == [b'{"d":4}']
    assert not parser.failed
    assert parser.feed(b"event: error\ndata: {}\n\n") == [b"{}"]
    assert parser.failed


@pytest.mark.requirement("model:stream-reasoning")
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_think_tags_at_the_start_are_reasoning_wherever_they_are_cut(data: st.DataObject) -> None:
    text = "\n<think>a < b </thin\n</think>\n\nAnswer with <think>a tag</think>."
    tags = ThinkTags()
    out: list[Delta] = []
    for part in data.draw(cut(text)):
        out += tags.feed(part)
    got = fold(out + tags.end())
    assert got.reasoning == "a < b </thin\n"
    assert got.text == "Answer with <think>a tag</think>."


@pytest.mark.requirement("model:stream-reasoning")
@pytest.mark.parametrize(
    ("text", "reasoning", "rest"),
    [
        ("<thinking hard>", "", "<thinking hard>"),
        ("<thi", "", "<thi"),
        ("  x<think>", "", "  x<think>"),
        ("<think>never closed </thi", "never closed </thi", ""),
        ("<think></think>x", "", "x"),
    ],
)
def test_what_only_looks_like_think_tags_stays_text(text: str, reasoning: str, rest: str) -> None:
    tags = ThinkTags()
    got = fold([d for c in text for d in tags.feed(c)] + tags.end())
    assert (got.reasoning, got.text) == (reasoning, rest)


@pytest.mark.requirement("model:tolerant-calls")
def test_calls_without_index_and_id_are_told_apart_and_get_ids() -> None:
    got = read([
        chunk(tool_calls=[piece('{"a":1}', name="x"), piece('{"b":2}', name="y")]),
        chunk(tool_calls=[piece('{"c":', name="z")]),
        chunk(tool_calls=[piece("3}")]),
    ])
    assert [n for _, n, _ in got.calls] == ["x", "y", "z"]
    assert got.arguments == [{"a": 1}, {"b": 2}, {"c": 3}]
    ids = [i for i, _, _ in got.calls]
    assert all(ids) and len(set(ids)) == 3


@pytest.mark.requirement("model:tolerant-calls")
def test_one_index_used_for_several_calls_is_several_calls() -> None:
    got = read([
        chunk(tool_calls=[piece("{}", index=0, id="a", name="x")]),
        chunk(tool_calls=[piece('{"q":1}', index=0, id="b", name="x")]),
        chunk(tool_calls=[piece("{}", index=0, id="", name="y")]),
    ])
    assert [(n, a) for _, n, a in got.calls] == [("x", "{}"), ("x", '{"q":1}'), ("y", "{}")]


@pytest.mark.requirement("model:tolerant-calls")
def test_a_repeated_id_is_replaced_and_a_repeated_name_is_no_new_call() -> None:
    got = read([
        chunk(tool_calls=[piece("", index=0, id="same", name="x")]),
        chunk(tool_calls=[piece('{"a"', index=0, id="same", name="x")]),
        chunk(tool_calls=[piece(":1}", index=0, id="", name="x")]),
        chunk(tool_calls=[piece("{}", index=1, id="same", name="x")]),
    ])
    assert [a for _, _, a in got.calls] == ['{"a":1}', "{}"]
    assert got.calls[0][0] == "same" != got.calls[1][0]


@pytest.mark.requirement("model:tolerant-calls")
def test_arguments_sent_as_an_object_become_text() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "x", "arguments": {"p": [1]}}}
    assert read([chunk(tool_calls=[call])]).arguments == [{"p": [1]}]


ODD: list[dict[str, Any]] = [
    {"choices": None},
    {"choices": [None]},
    {"choices": [{"delta": None}]},
    {"choices": [{"delta": {"content": 3, "tool_calls": "x", "reasoning_content": []}}]},
    {"choices": [{"delta": {"tool_calls": [None, {}, {"function": None}]}}]},
    {"usage": None},
]


@pytest.mark.requirement("model:tolerant-stream")
@pytest.mark.parametrize("odd", ODD)
def test_chunks_of_the_wrong_shape_say_nothing(odd: dict[str, Any]) -> None:
    assert read([odd]) == Folded()


@pytest.mark.requirement("model:stream-reasoning")
def test_content_in_parts_is_reasoning_and_text() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    got = read([chunk(content=[thinking]), chunk(content=[{"type": "text", "text": "so"}])])
    assert (got.reasoning, got.text) == ("hm", "so")


@pytest.mark.requirement("model:opaque")
def test_reasoning_details_are_joined_and_kept_to_be_sent_back() -> None:
    got = read([
        chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a"}]),
        chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b"}]),
        chunk(
            reasoning_details=[
                {"type": "reasoning.text", "index": 0, "signature": "S"},
                {"type": "reasoning.encrypted", "index": 1, "data": "X"},
            ]
        ),
    ])
    assert got.opaque == {
        "provider": "me",
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "S"},
            {"type": "reasoning.encrypted", "index": 1, "data": "X"},
        ],
    }


@pytest.mark.requirement("model:usage")
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3}, Usage(5, 3)),
        (
            {"prompt_tokens": 5, "prompt_tokens_details": {"cache_write_tokens": 4}, "cost": 0},
            Usage(5, 0, 4, cost=0.0),
        ),
        ({"prompt_tokens": "x", "completion_tokens": None, "cost": "much"}, Usage()),
        ({"completion_tokens": 2.0, "prompt_tokens_details": None, "cost": -1}, Usage(0, 0, 0, 2)),
    ],
)
def test_usage_is_read_in_every_provider_s_spelling(raw: dict[str, Any], expected: Usage) -> None:
    assert read_usage(raw) == expected
