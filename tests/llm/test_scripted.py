"""The scripted model: order, conditions, pace, waiting, and what a broken file says."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.llm.script import read_file
from sam_tui.adapters.llm.scripted import CLOSING, DEMO, ScriptedModel
from sam_tui.core.errors import ConfigurationError, ModelLimited, ModelUnavailable
from sam_tui.core.ids import CallId
from sam_tui.core.messages import Message, ToolMessage, UserMessage
from sam_tui.core.usage import Usage
from tests.llm.folding import Folded, answer, request


async def converse(model: ScriptedModel, history: list[Message], *more: Message) -> Folded:
    """Answer after ``more``, and add both to the history."""
    history += more
    got = await answer(model, request(*history))
    history.append(got.message)
    return got


def result(ok: bool, text: str, *, name: str = "file_operations") -> ToolMessage:
    return ToolMessage(CallId("call_0_0"), name, text, ok)


BRANCHING: list[dict[str, Any]] = [
    {"text": "I ask.", "calls": [{"name": "file_operations", "arguments": {"a": 1}}]},
    {"when": {"last_tool": "file_operations", "ok": True}, "text": "Done."},
    {"when": {"ok": False, "contains": "denied"}, "text": "Then not."},
    {"when": {"user": "bye"}, "text": "Goodbye."},
]


@pytest.mark.requirement("model:script-branches")
@pytest.mark.parametrize(
    ("ok", "text", "expected"),
    [(True, "written", "Done."), (False, "denied by you", "Then not."), (False, "?", CLOSING)],
)
async def test_a_script_branches_on_what_the_tool_said(ok: bool, text: str, expected: str) -> None:
    model, history = ScriptedModel(BRANCHING), list[Message]()
    first = await converse(model, history, UserMessage("go"))
    assert first.calls == [("call_0_0", "file_operations", '{"a": 1}')]
    assert (await converse(model, history, result(ok, text))).text == expected
    assert (await converse(model, history, UserMessage("bye then"))).text == "Goodbye."
    assert (await converse(model, history, UserMessage("and now"))).text == CLOSING


@pytest.mark.requirement("model:script-position")
async def test_the_position_is_the_conversation_s() -> None:
    steps = [{"text": "one"}, {"text": "two"}, {"text": "three"}]
    first: list[Message] = []
    second: list[Message] = []
    model = ScriptedModel(steps)
    assert (await converse(model, first, UserMessage("a"))).text == "one"
    assert (await converse(model, second, UserMessage("b"))).text == "one"
    assert (await converse(model, first, UserMessage("a"))).text == "two"
    again = ScriptedModel(steps)  # another process, the conversation resumed
    assert (await converse(again, first, UserMessage("a"))).text == "three"
    assert (await converse(model, second, UserMessage("b"))).text == "two"
    # What compaction leaves of a conversation is its end.
    assert (await converse(model, first[-2:], UserMessage("a"))).text == CLOSING


@pytest.mark.requirement("model:script-position")
async def test_an_answer_that_was_not_kept_is_played_again() -> None:
    model = ScriptedModel([{"text": "one"}, {"text": "two"}])
    assert (await answer(model)).text == "one"
    assert (await answer(model)).text == "one"


@pytest.mark.requirement("model:script-errors")
async def test_a_scripted_error_comes_once_after_its_text() -> None:
    step = {"text": "half", "error": {"type": "ModelLimited", "retry_after": 3, "status": 429}}
    model = ScriptedModel([step, {"text": "better"}])
    with pytest.raises(ModelLimited) as caught:
        await answer(model)
    assert (caught.value.retry_after, caught.value.status) == (3, 429)
    assert (await answer(model)).text == "better"


@pytest.mark.requirement("model:script-timing")
async def test_raw_arguments_ids_and_usage_are_played_as_written() -> None:
    calls = [{"name": "x", "arguments": '{"broken', "id": "mine"}, {"name": "y"}]
    usage = {"input_tokens": 5, "cost": 0.5}
    got = await answer(ScriptedModel([{"calls": calls, "usage": usage, "chunk": 2}]))
    assert got.calls == [("mine", "x", '{"broken'), ("call_0_1", "y", "{}")]
    assert got.usages == [Usage(input_tokens=5, cost=0.5)]


@pytest.mark.requirement("model:script-timing")
async def test_a_rate_streams_token_by_token() -> None:
    got = await answer(ScriptedModel([{"text": "0123456789", "rate": 2000}]))
    assert (got.text, got.pieces) == ("0123456789", 1 + 3)
    got = await answer(ScriptedModel([{"text": "0123456789", "delay": 0.001, "chunk": 2}]))
    assert (got.text, got.pieces) == ("0123456789", 1 + 5)


@pytest.mark.requirement("model:script-timing")
async def test_a_step_waits_for_a_file_beside_the_script(tmp_path: Path) -> None:
    wait = {"file": "ready", "contains": "go"}
    (tmp_path / "s.json").write_text(json.dumps([{"wait_for": wait, "text": "here"}]), "utf-8")
    model = ScriptedModel.from_file(tmp_path / "s.json")
    assert model.name == "scripted:s.json"
    async with asyncio.TaskGroup() as group:
        task = group.create_task(answer(model))
        await asyncio.sleep(0)
        (tmp_path / "ready").write_text("wait", "utf-8")
        await asyncio.sleep(0)
        assert not task.done()
        (tmp_path / "ready").write_text("now go", "utf-8")
    assert task.result().text == "here"


@pytest.mark.requirement("model:script-timing")
async def test_a_wait_in_vain_ends_in_an_error() -> None:
    model = ScriptedModel([{"wait_for": {"contains": "never said", "timeout": 0.05}}])
    with pytest.raises(ModelUnavailable, match="never said"):
        await answer(model)
    model = ScriptedModel([{"wait_for": {"contains": "hi", "timeout": 0.05}, "text": "heard"}])
    assert (await answer(model)).text == "heard"


@pytest.mark.requirement("model:script-invalid")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[{]", "line 1, column 3"),
        ("{}", "not a list"),
        ('[{"text": "a"}, {"txt": 1}]', "step 2, txt"),
        ('[{"calls": [{"name": "a"}, {"nam": "b"}]}]', "step 1, calls[1].name"),
        ('[{"rate": 1, "delay": 1}]', "rate and delay"),
        ('[{"wait_for": {}}]', "step 1, wait_for"),
        ('[{"error": {"type": "Boom"}}]', "step 1, error.type"),
        ("[3]", "step 1"),
        ("\udcff", "UTF-8"),
    ],
)
def test_a_broken_script_names_the_file_and_the_place(
    tmp_path: Path, content: str, said: str
) -> None:
    file = tmp_path / "broken.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigurationError) as caught:
        ScriptedModel.from_file(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.requirement("model:script-invalid")
def test_a_script_that_is_not_there_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not there"):
        ScriptedModel.from_file(tmp_path / "none.json")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        ScriptedModel.from_file(tmp_path)


@pytest.mark.requirement("model:embedded-script")
@pytest.mark.parametrize("allowed", [True, False])
async def test_the_embedded_script_plays_to_its_end_either_way(allowed: bool) -> None:
    unpaced = [step.model_copy(update={"rate": None}) for step in read_file(DEMO)]
    model, history = ScriptedModel(unpaced), list[Message]()
    first = await converse(model, history, UserMessage("hello"))
    assert [name for _, name, _ in first.calls] == ["todo_operations", "file_operations"]
    second = await converse(
        model, history, result(True, "ok", name="todo_operations"), result(True, "a.py")
    )
    assert second.arguments[0]["operation"] == "create_file"
    third = await converse(model, history, result(allowed, "" if allowed else "denied"))
    assert third.calls == [] and ("Done" in third.text) is allowed
    assert (await converse(model, history, UserMessage("more"))).text == CLOSING
