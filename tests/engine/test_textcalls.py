"""Calls written as text: three strict forms count, everything else is prose (spec/sam.md 10.4)."""

import json

import pytest

from sam_tui.core.agent.answer import read_text_calls, writes_call
from sam_tui.core.messages import AssistantMessage, ReminderMessage, ToolMessage
from sam_tui.core.ports.model import CallDelta, TextDelta
from tests.fakes.engine_kit import Kit, RawModel, open_talk

pytestmark = pytest.mark.requirement("turn:text-calls")

CALL = '{"name": "ping", "arguments": {"a": "é"}}'
OTHER = '{"name": "ping", "parameters": {}}'


def known(name: str) -> bool:
    """Only ping exists."""
    return name == "ping"


@pytest.mark.parametrize(
    ("text", "count", "left"),
    [
        (f"<tool_call>{CALL}</tool_call>", 1, ""),
        (f"a <tool_call>\n{CALL}\n</tool_call> b <tool_call>{OTHER}</tool_call>", 2, "a  b"),
        (f"Let me look.\n```json\n{CALL}\n```", 1, "Let me look."),
        (CALL, 1, ""),
        (f"  {OTHER}\n", 1, ""),
    ],
)
def test_these_are_calls(text: str, count: int, left: str) -> None:
    found = read_text_calls(text, known)
    assert (len(found.calls), found.text) == (count, left)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        f"I would send {CALL} now.",
        f"The format is:\n\n{CALL}\n\nas you see.",
        f"> {CALL}",
        f"For example:\n```json\n{CALL}\n```\nand so on.",
        "<tool_call>{broken</tool_call>",
        '<tool_call>{"name": "nothing", "arguments": {}}</tool_call>',
        f"<function_call>{CALL}</function_call>",
        f"[TOOL_CALLS] {CALL}",
        'Calling tool: ping {"a": 1}',
        "FUNCTION ping ARGS {}",
        '{"name": "ping"}',
        "[1, 2]",
    ],
)
def test_these_are_not(text: str) -> None:
    found = read_text_calls(text, known)
    assert (found.calls, found.text) == ((), text)


async def test_a_call_written_as_text_runs_like_any_other(kit: Kit) -> None:
    said = TextDelta('Looking.\n<tool_call>{"name": "ping", "arguments": {}}</tool_call>')
    talk = open_talk(kit, RawModel([said], [TextDelta("done")]))
    assert (await talk.session.run("go")).answer == "done"
    first = talk.session.messages[1]
    assert isinstance(first, AssistantMessage)
    assert (first.text, first.calls[0].name) == ("Looking.", "ping")
    assert [m.text for m in talk.session.messages if isinstance(m, ToolMessage)] == ["c"]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n<function=ping>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        f"[TOOL_CALLS][{CALL}]",
        f"<|python_tag|>{OTHER}",
        'I look.\n<function_calls>\n<invoke name="ping">\n</invoke>\n</function_calls>',
        "<｜tool▁calls▁begin｜>function ping\n<｜tool▁calls▁end｜>",
        'Calling tool: ping {"a": 1}',
    ],
)
async def test_a_call_in_another_form_is_not_run_and_the_model_is_asked_once_to_call(
    kit: Kit, text: str
) -> None:
    said = TextDelta(text)
    model = RawModel([said], [said])
    talk = open_talk(kit, model)
    assert (await talk.session.run("go")).answer == text
    assert [len(seen) for seen in model.seen] == [1, 3]
    assert not any(isinstance(message, ToolMessage) for message in talk.session.messages)
    asked = talk.session.messages[2]
    assert isinstance(asked, ReminderMessage) and "did not run" in asked.text


@pytest.mark.parametrize(
    "text",
    ["Write <function=ping> there.", "<function=other></function>", "[TOOL_CALLS] are lists >"],
)
def test_what_is_said_of_such_calls_is_none(text: str) -> None:
    assert not writes_call(text, known)


@pytest.mark.requirement("turn:arguments")
async def test_arguments_are_one_object_however_they_are_wrapped(kit: Kit) -> None:
    plain = '{"text": "a\\nb"}'
    sent = [plain, json.dumps(plain), '{"text": "a\nb"}', '"no object"']
    pieces = [CallDelta(at, f"k{at}", "murmur", text) for at, text in enumerate(sent)]
    talk = open_talk(kit, RawModel(pieces, [TextDelta("done")]))
    await talk.session.run("go")
    first = talk.session.messages[1]
    assert isinstance(first, AssistantMessage)
    assert [call.arguments for call in first.calls] == [plain, plain, plain, '"no object"']
