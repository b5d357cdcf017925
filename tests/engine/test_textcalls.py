"""Calls written as text: three strict forms count, everything else is prose (spec/sam.md 10.4)."""

import pytest

from sam_tui.core.agent.answer import read_text_calls
from sam_tui.core.messages import AssistantMessage, ToolMessage
from sam_tui.core.ports.model import TextDelta
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
