"""Undoing changes, reading subagents, turning on prompts, going on: each for the conversation on show."""

import asyncio

import pytest
from textual.widgets import OptionList

from sam_tui.core.messages import AssistantMessage, ReminderMessage, UserMessage
from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.usage import Usage
from sam_tui.ui.screens.dialogs import Picker
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Driver, Stage, app_over, driven


async def choose_first(me: Driver, command: str) -> None:
    """Open a picker by its slash command and take its first line."""
    await me.send(command)
    await me.until(lambda: isinstance(me.app.screen, Picker))
    await me.pilot.pause(0.1)
    await me.pilot.press("enter")
    await me.until(lambda: not isinstance(me.app.screen, Picker))


@pytest.mark.requirement("ui:undo")
async def test_a_file_change_is_taken_back(stage: Stage, model: RawModel) -> None:
    created = calls(("create_file", {"filePath": "a.txt", "content": "hello\n"}))
    model.answers += [created, [TextDelta("made it")]]
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        await me.send("make a file")
        await me.until(lambda: "made it" in me.transcript() and not me.bench.turns.running)
        assert (stage.workspace / "a.txt").exists()
        await choose_first(me, "/undo")
        await me.until(lambda: "Undone: create_file" in me.transcript())
        assert not (stage.workspace / "a.txt").exists()


@pytest.mark.requirement("ui:subagents")
async def test_a_subagents_transcript_is_opened(stage: Stage, model: RawModel) -> None:
    errand = calls(("run_subagent", {"task": "find the answer"}))
    spent = UsageDelta(Usage(10, output_tokens=5, cost=0.0123))
    model.answers += [errand, [TextDelta("it is 42"), spent], [TextDelta("the helper says 42")]]
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        await me.send("ask a helper")
        await me.until(lambda: "the helper says" in me.transcript() and not me.bench.turns.running)
        await me.send("/agents")
        await me.until(lambda: "$0.0123" in me.drawn())
        await me.pilot.press("enter")
        await me.until(lambda: "find the answer" in me.transcript())
        assert "the helper says" not in me.transcript()


@pytest.mark.requirement("ui:subagents")
async def test_a_subagent_at_work_is_cancelled_and_its_sender_goes_on(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [
        calls(("run_subagent", {"task": "wait for ever"})),
        [TextDelta("so far"), asyncio.Event()],
        [TextDelta("went on without it")],
    ]
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        await me.send("ask a helper")
        await me.until(lambda: len(model.seen) == 2)
        await me.send("/agents")
        await me.until(lambda: isinstance(me.app.screen, Picker))
        await me.until(lambda: me.app.screen.query_one(OptionList).option_count)
        await me.pilot.press("enter")
        await me.until(lambda: me.app.screen.query_one(OptionList).option_count == 2)
        await me.pilot.press("down", "enter")
        await me.until(lambda: "went on without it" in me.transcript())
        assert "Cancelled: wait for ever" in me.transcript()


@pytest.mark.requirement("ui:mini-prompts")
async def test_a_mini_prompt_is_turned_on_and_reaches_the_model(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[TextDelta("one")], [TextDelta("two")]]
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: "one" in me.transcript() and not me.bench.turns.running)
        await choose_first(me, "/prompts")
        await me.until(lambda: "is on here" in me.transcript())
        await me.send("second")
        await me.until(lambda: "two" in me.transcript() and not me.bench.turns.running)
        assert any("miniPromptReminder" in m.text for m in model.seen[-1])


@pytest.mark.requirement("ui:resume-unfinished")
@pytest.mark.parametrize("answered", [True, False])
async def test_a_conversation_whose_last_turn_was_cut_says_so(stage: Stage, answered: bool) -> None:
    session = stage.runtime.open_session()
    said = [UserMessage("first"), ReminderMessage("late", "word")]
    answers = [AssistantMessage("the answer")] if answered else []
    stage.runtime.conversations.append(session.conversation, [*said, *answers])
    async with driven(app_over(stage, conversation=session.conversation)) as me:
        await me.ready()
        await me.until(lambda: "first" in me.transcript())
        assert ("did not finish" in me.transcript()) is not answered


@pytest.mark.requirement("ui:undo")
async def test_before_the_first_prompt_a_command_on_a_conversation_says_what_it_needs(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        for command in ("/undo", "/agents", "/prompts", "/topic shop"):
            await me.send(command)
            words = f"{command.split()[0]} needs a conversation: send a first prompt"
            await me.until(lambda words=words: words in me.transcript())
