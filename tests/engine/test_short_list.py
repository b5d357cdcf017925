"""What ``find_tools`` finds, and what a call through ``call_tool`` stands for."""

import json
from typing import Any

import pytest

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.executor import Executed
from tests.fakes.engine_kit import Kit


async def execute(kit: Kit, name: str, arguments: Any) -> Executed:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return await kit.executor.execute(ToolCall(CallId("c1"), name, text), ConversationId("c"))


@pytest.mark.requirement("room:find-tools")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("voice.note", "voice.note: write it down"),
        ("note", '"filePath":{"description":"where","type":"string"}'),
        ("voice", "- voice.shout: say it"),
        ("writing down", "voice.note: write it down"),
        ("ping", 'Call: call_tool {"name":"ping","arguments":{}}'),
        ("voice say", "\n\nAlso:\n- "),
        ("zzzz", "Nothing fits 'zzzz'. There are: voice, ping."),
        ("off", "Nothing fits 'off'"),
    ],
)
async def test_tools_are_found_by_name_and_by_words(kit: Kit, query: str, expected: str) -> None:
    done = await execute(kit, "find_tools", {"query": query})
    assert done.finished.ok
    assert expected in done.finished.text


@pytest.mark.requirement("room:call-tool")
@pytest.mark.parametrize(
    "given",
    [
        {"name": "voice", "arguments": {"operation": "murmur", "text": "hi"}},
        {"name": "voice.murmur", "arguments": {"text": "hi"}},
        {"name": "murmur", "arguments": '{"text": "hi"}'},
        {"name": "murmur", "text": "hi"},
    ],
)
async def test_a_call_through_call_tool_is_the_call_itself(kit: Kit, given: Any) -> None:
    done = await execute(kit, "call_tool", given)
    assert (done.finished.operation, done.finished.text) == ("voice.murmur", "hi")
    assert done.decision is not None and done.decision.operation == "voice.murmur"


@pytest.mark.requirement("room:call-tool")
async def test_call_tool_opens_no_way_around_the_guard(kit: Kit) -> None:
    outside = {"name": "note", "arguments": {"filePath": "/etc/passwd", "text": "x"}}
    refused = await execute(kit, "call_tool", outside)
    assert not refused.finished.ok
    assert "voice.note needs an approval" in refused.finished.text
    wrong: list[tuple[Any, str]] = [
        ({"name": "off", "arguments": {}}, "disabled"),
        ({"name": "call_tool", "arguments": {"name": "ping"}}, "name of another tool"),
        ({"arguments": {}}, "name of another tool"),
        ("[1", "not valid JSON"),
    ]
    for given, why in wrong:
        done = await execute(kit, "call_tool", given)
        assert not done.finished.ok
        assert why in done.finished.text
    narrowed = kit.executor.narrowed({"voice"}, asker="x")
    call = ToolCall(CallId("c2"), "call_tool", '{"name": "murmur", "arguments": {"text": "hi"}}')
    assert not (await narrowed.execute(call, ConversationId("c"))).finished.ok
    found = ToolCall(CallId("c3"), "find_tools", '{"query": "murmur"}')
    assert "voice" not in (await narrowed.execute(found, ConversationId("c"))).finished.text
