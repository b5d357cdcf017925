"""What happens to a turn whose model is overloaded or goes in circles. About 1 s of CPU."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.agent.retry import COOLING_SECONDS, FallbackModel
from sam_tui.core.errors import ModelLimited, ModelRejected, ModelUnavailable
from sam_tui.core.messages import Message
from sam_tui.core.ports.model import Delta, ModelRequest, TextDelta
from tests.fakes.engine_kit import RawModel

Sam = Callable[..., tuple[int, str]]


def conversation(data: Path) -> list[Message]:
    with open_storage(data) as storage:
        return storage.conversations.everything(storage.conversations.recent(None, 1)[0].id)


@pytest.mark.requirement("model:fallback")
def test_another_model_answers_while_the_first_is_overloaded(
    sam: Sam, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = [{"error": {"type": "ModelUnavailable", "message": "overloaded"}}]
    (workspace / "first.json").write_text(json.dumps(failing))
    (workspace / "second.json").write_text(json.dumps([{"text": "Second here."}]))
    monkeypatch.setenv("SAM_TUI_FALLBACK_MODEL", f"scripted:{workspace}/second.json")
    words = ("run", "hello", "-o", "answer.txt", "--model", f"scripted:{workspace}/first.json")
    assert sam(*words)[0] == 0
    assert (workspace / "answer.txt").read_text() == "Second here."
    monkeypatch.delenv("SAM_TUI_FALLBACK_MODEL")
    sam(*words)
    assert (workspace / "answer.txt").read_text() != "Second here."
    sam(*words, "--fallback-model", f"scripted:{workspace}/second.json")
    assert (workspace / "answer.txt").read_text() == "Second here."


@pytest.mark.requirement("model:fallback")
async def test_the_first_is_asked_again_later_and_what_began_is_never_begun_anew() -> None:
    now, told = [0.0], list[str]()
    first = RawModel([ModelLimited("slow down")], [TextDelta("one")])
    second = RawModel(
        [TextDelta("two")],
        [TextDelta("half"), ModelUnavailable("gone")],
        [ModelRejected("no")],
    )
    first.name, second.name = "first", "second"
    first.context_tokens, second.context_tokens = 9000, 4000
    model = FallbackModel([first, second], lambda: now[0], told.append)
    assert model.context_tokens == 4000

    async def answer() -> list[Delta]:
        return [delta async for delta in model.stream(ModelRequest("", "[]", []))]

    assert await answer() == [TextDelta("two")]
    assert (model.name, told) == ("second", ["second answers instead of first: slow down"])
    with pytest.raises(ModelUnavailable):
        await answer()
    with pytest.raises(ModelRejected):
        await answer()
    now[0] = COOLING_SECONDS
    assert await answer() == [TextDelta("one")]
    assert told[1:] == ["first is asked again"]
    stream = model.stream(ModelRequest("", "[]", []))
    first.answers.append([TextDelta("a"), asyncio.Event()])
    assert await anext(stream) == TextDelta("a")
    await model.close()


@pytest.mark.requirement("reminders:loops")
def test_a_call_that_repeats_without_news_is_told(sam: Sam, data: Path, workspace: Path) -> None:
    (workspace / "a.txt").write_text("same")
    call = {"calls": [{"name": "file_operations", "arguments": {
        "operation": "read_file", "filePath": "a.txt"}}]}  # fmt: skip
    other = {"calls": [{"name": "think", "arguments": {"thoughts": "Hm"}}]}
    script = [*[call] * 3, other, call, call, {"text": "Enough."}]
    (workspace / "loop.json").write_text(json.dumps(script))
    assert sam("run", "look", "--model", f"scripted:{workspace}/loop.json")[0] == 0
    messages = conversation(data)
    loops = [m for m in messages if m.kind == "reminder" and m.name == "repeated_calls"]
    assert len(loops) == 1, "told once, not with every call"
    assert "4 times with the same arguments" in loops[0].text
    tools = [m for m in messages[: messages.index(loops[0])] if m.kind == "tool"]
    assert [m.name for m in tools].count("file_operations") == 4
