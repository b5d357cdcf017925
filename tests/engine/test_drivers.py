"""Goals that take several turns, and questions beside a conversation. About 1.2 s of CPU."""

import json

import pytest

from sam_tui.cli.main import main
from sam_tui.core.agent.drivers.side_question import complete
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import CallId
from sam_tui.core.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.usage import Usage
from tests.fakes.engine_kit import RawModel, calls
from tests.hooks.conftest import Place
from tests.hooks.conftest import folder as folder
from tests.hooks.conftest import place as place

DONE = [TextDelta("Done.")]


@pytest.mark.requirement("goals:pursued")
async def test_a_goal_goes_on_until_its_check_passes_or_its_turns_end(place: Place) -> None:
    runtime = place.build()
    create = calls((
        "file_operations",
        {"operation": "create_file", "filePath": "a", "content": "x"},
    ))
    model = RawModel(DONE, create, DONE, DONE, DONE)
    runtime.use_model(model)
    session = runtime.open_session()
    goal = session.goal("cat a", turns=5)
    await goal.pursue(session.run, await session.run(goal.opening))
    assert goal.passed and goal.outcome == "The goal is reached: cat a passes."
    prompts = [m.text for m in session.messages if isinstance(m, UserMessage)]
    assert len(prompts) == 2 and "No such file" in prompts[1] and "4 more turns" in prompts[1]

    short = session.goal("false", turns=2)
    await short.pursue(session.run, await session.run("go"))
    assert not short.passed and "not reached in 2 turns" in short.outcome
    assert model.answers == []
    refused = session.goal("make deploy", turns=3)
    runtime.guard.use_mode("plan")
    model.answers += [DONE]
    await refused.pursue(session.run, await session.run("go"))
    assert "may not run" in refused.outcome
    model.answers += [DONE]
    runtime.guard.use_mode("ask")
    dear = session.goal("false", turns=9, cost=1.0)
    await dear.pursue(session.run, await session.run("go"))
    assert "the limit of $1 cannot be enforced" in dear.outcome and model.answers == []
    with pytest.raises(UsageError, match="needs a command"):
        session.goal(" ", turns=1)


@pytest.mark.requirement("goals:pursued")
def test_a_headless_goal_that_is_not_reached_says_so_with_its_code(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(place.folder / "data"))
    words = ["run", "-C", str(place.workspace), "--output-format", "json", "--goal-turns", "2"]
    script = place.script({"text": "One."}, {"text": "Two."})
    outcomes: dict[str, tuple[int, str]] = {}
    for check in ("true", "false"):
        code = main([*words, "--model", script, "--goal", check, "go"])
        result = json.loads(capfd.readouterr().out.splitlines()[-1])
        outcomes[check] = (code, result["result"])
        assert result["is_error"] is (code != 0)
    assert outcomes == {"true": (0, "One."), "false": (53, "Two.")}


@pytest.mark.requirement("side-questions:apart", "sessions:fork-prefix")
async def test_a_side_question_has_the_context_and_leaves_nothing_in_the_conversation(
    place: Place,
) -> None:
    price = "[raw]\ninput = 1000000\noutput = 2000000\n"  # dollars for a million tokens
    (place.config / "prices.toml").write_text(price, encoding="utf-8")
    runtime = place.build()
    used = UsageDelta(Usage(input_tokens=7, output_tokens=3))
    model = RawModel([TextDelta("Hello.")], [TextDelta("It is a."), used])
    runtime.use_model(model)
    session = runtime.open_session()
    await session.run("Hi")
    before = list(session.messages)
    answer = await session.ask_aside("What is AKIAABCDEFGHIJKLMNOP?")
    assert answer.text == "It is a." and list(session.messages) == before
    assert answer.usage.cost == 7 + 2 * 3
    asked = model.seen[1]
    assert asked[:-1] == before and asked[: len(model.seen[0])] == model.seen[0]
    assert model.systems[0] == model.systems[1]
    assert "asked aside" in asked[-1].text and "AKIAABCDEFGHIJKLMNOP" not in asked[-1].text
    assert runtime.conversations.everything(session.conversation) == before
    model.answers += [[TextDelta("Yes.")]]
    copy = runtime.open_session(session.conversation, how="fork")
    await copy.run("Go on.")
    assert model.seen[2][: len(before)] == before and model.systems[2] == model.systems[0]
    with pytest.raises(UsageError, match="no question"):
        await session.ask_aside(" ")

    made = [ToolCall(CallId(name), "x", "{}") for name in ("a", "b")]
    running = [UserMessage("go"), AssistantMessage("", calls=tuple(made))]
    results = [ToolMessage(call.id, "x", "", ok=True) for call in made]
    assert complete([*running, results[0]]) == running[:1], "calls that run have no results yet"
    assert complete([*running, *results]) == [*running, *results]
