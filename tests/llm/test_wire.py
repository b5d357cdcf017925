"""Request bodies: what they say, that they only grow, and that nothing is written twice."""

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.adapters.llm.wire import OWNER, Dialect, RequestWriter, chat_messages
from sam_tui.core.ids import CallId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.model import ModelRequest

TOOLS = '[{"type":"function","function":{"name":"read","parameters":{}}}]'
texts = st.text(max_size=30)
calls = st.builds(
    ToolCall,
    id=st.text(string.ascii_letters, min_size=1, max_size=12).map(CallId),
    name=st.text(max_size=10),
    arguments=texts | st.just('{"a":1}'),
)
messages = st.one_of(
    st.builds(UserMessage, text=texts),
    st.builds(ReminderMessage, name=texts, text=texts),
    st.builds(AssistantMessage, text=texts, reasoning=texts, calls=st.tuples(calls) | st.just(())),
    st.builds(ToolMessage, call_id=texts.map(CallId), name=texts, text=texts, ok=st.booleans()),
)


def writer(**fields: Any) -> RequestWriter:
    return RequestWriter("m", Dialect(**fields), {"temperature": 0})


@pytest.mark.requirement("model:prefix-extension")
@settings(max_examples=60, deadline=None)
@given(turns=st.lists(st.lists(messages, min_size=1, max_size=4), min_size=1, max_size=6))
def test_each_request_extends_the_one_before_it_byte_for_byte(turns: list[list[Message]]) -> None:
    out = writer(echo_reasoning=True)
    history: list[Message] = []
    before = b""
    for turn in turns:
        history += turn
        body = out.body(ModelRequest("sys", TOOLS, list(history)))
        assert body.endswith(b"]}")
        assert body.startswith(before.removesuffix(b"]}"))
        fresh = writer(echo_reasoning=True).body(ModelRequest("sys", TOOLS, history))
        assert body == fresh
        parsed = json.loads(body)
        assert len(parsed["messages"]) == len(history) + 1
        before = body


@pytest.mark.requirement("model:prefix-extension")
def test_messages_are_the_last_field_and_tools_are_spliced_as_they_are() -> None:
    tools = '[ {"type" : "function"} ]'
    body = writer().body(ModelRequest("sys", tools, [UserMessage("ü")])).decode()
    assert body == (
        '{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,'
        f'"tools":{tools},"messages":[{{"role":"system","content":"sys"}},'
        '{"role":"user","content":"ü"}]}'
    )


@pytest.mark.requirement("model:prefix-extension")
def test_without_tools_and_system_prompt_neither_is_sent() -> None:
    body = json.loads(writer().body(ModelRequest("", "[]", [UserMessage("x")])))
    assert "tools" not in body
    assert body["messages"] == [{"role": "user", "content": "x"}]


class Counting(dict[str, Any]):
    """Opaque data that counts how often it was looked at, which happens once per writing."""

    reads = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.reads += 1
        return super().get(key, default)


@pytest.mark.requirement("model:serialise-once")
def test_a_message_is_serialised_once_per_conversation() -> None:
    data = Counting({OWNER: "me", "extra": 1})
    first: list[Message] = [UserMessage("hi"), AssistantMessage("a", opaque=data)]
    out = writer(owner="me")
    for round_ in range(5):
        first.append(UserMessage(f"and {round_}"))
        assert b'"extra":1' in out.body(ModelRequest("s", TOOLS, list(first)))
        out.body(ModelRequest("other", TOOLS, [UserMessage("another conversation")]))
    assert data.reads == 1


@pytest.mark.requirement("model:serialise-once")
def test_a_history_that_was_cut_is_written_anew_from_there() -> None:
    out = writer()
    history: list[Message] = [UserMessage(f"m{n}") for n in range(5)]
    out.body(ModelRequest("s", TOOLS, history))
    shorter = [*history[:2], UserMessage("other")]
    got = json.loads(out.body(ModelRequest("s", TOOLS, shorter)))
    assert [m["content"] for m in got["messages"]] == ["s", "m0", "m1", "other"]


@pytest.mark.requirement("model:opaque")
def test_opaque_data_goes_back_only_to_whom_it_came_from() -> None:
    message = AssistantMessage("a", opaque={OWNER: "me", "thinking_blocks": [1]})
    assert chat_messages("", [message], Dialect(owner="me"))[0]["thinking_blocks"] == [1]
    assert chat_messages("", [message], Dialect(owner="you")) == [
        {"role": "assistant", "content": "a"}
    ]
    assert chat_messages("", [message], Dialect()) == [{"role": "assistant", "content": "a"}]


@pytest.mark.requirement("model:dialects")
def test_strict_templates_get_alternating_roles_and_short_ids() -> None:
    call = ToolCall(CallId("call_0123456789abcdef"), "read", "{}")
    history: list[Message] = [
        ReminderMessage("a", "one"),
        UserMessage("two"),
        AssistantMessage("", calls=(call,)),
        ToolMessage(call.id, "read", "text", True),
        ReminderMessage("a", "three"),
    ]
    sent = chat_messages("sys", history, Dialect(strict=True))
    roles = [m["role"] for m in sent]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert sent[1]["content"].endswith("</system-reminder>\n\ntwo")
    id_ = sent[2]["tool_calls"][0]["id"]
    assert len(id_) == 9 and id_.isalnum() and sent[3]["tool_call_id"] == id_
    body = json.loads(writer(strict=True).body(ModelRequest("sys", TOOLS, history)))
    assert body["messages"] == sent


@pytest.mark.requirement("model:dialects")
def test_reasoning_goes_back_where_the_provider_demands_it() -> None:
    message = AssistantMessage("a", reasoning="because")
    echoed = chat_messages("", [message], Dialect(echo_reasoning=True))
    assert echoed[0]["reasoning_content"] == "because"
    assert "reasoning_content" not in chat_messages("", [message], Dialect())[0]


@pytest.mark.parametrize("arguments", ["", "[1]", "null", '{"a":NaN}', '{"a"', "[" * 100_000])
@pytest.mark.requirement("model:history")
def test_arguments_that_are_no_json_object_become_an_empty_one(arguments: str) -> None:
    call = ToolCall(CallId("c"), "read", arguments)
    sent = chat_messages("", [AssistantMessage("", calls=(call,))], Dialect())[0]
    assert sent["tool_calls"][0]["function"]["arguments"] == "{}"
    assert sent["content"] is None
