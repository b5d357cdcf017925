"""Hooks around a turn: its message, its beginning and its end."""

import asyncio
import os

import pytest

from sam_tui.core.agent.notes.planned import WhatLeaves
from sam_tui.core.agent.turn_hooks import MOST_STOPS
from sam_tui.core.errors import UsageError
from sam_tui.core.events import HistoryShortened, HookFinished, Noticed
from sam_tui.core.inquiry import Approval
from sam_tui.core.messages import ReminderMessage, UserMessage
from tests.hooks.conftest import Place, gone, keeps, one_call, says, shell, turn

DONE = {"text": "Done."}


@pytest.mark.requirement("hooks:prompt")
async def test_a_message_that_a_hook_refuses_reaches_neither_the_model_nor_the_history(
    place: Place,
) -> None:
    place.user(
        "grep -q secret && { echo no secrets >&2; exit 2; } || true", event="UserPromptSubmit"
    )
    runtime = place.build(DONE)
    refused = await turn(runtime, "my secret")
    assert refused.finished is not None
    assert (refused.finished.reason, refused.finished.exit_code) == ("failed", 3)
    assert "The message was not sent: no secrets" in refused.finished.error
    assert refused.finished.steps == 0
    assert not any(isinstance(message, UserMessage) for message in refused.messages)
    sent = await turn(runtime, "hello")
    assert sent.finished is not None and sent.finished.answer == "Done."


@pytest.mark.requirement("hooks:prompt")
async def test_of_messages_that_are_typed_meanwhile_a_hook_refuses_one_and_the_other_is_answered(
    place: Place,
) -> None:
    place.user(
        "grep -q secret && { echo no secrets >&2; exit 2; } || true", event="UserPromptSubmit"
    )
    runtime = place.build(shell("true"), {"text": "And hello."})
    session, heard = runtime.open_session(), runtime.bus.subscribe()
    typed = ["my secret", "hello"]

    def steering() -> list[str]:
        messages, typed[:] = [*typed], []
        return messages

    finished = await session.run("go", steering)
    assert (finished.answer, finished.steps) == ("And hello.", 2)
    sent = [m.text for m in session.messages if isinstance(m, UserMessage)]
    assert sent == ["go", "hello"]
    warnings = [event.text for event in heard.drain() if isinstance(event, Noticed)]
    assert ["no secrets" in text for text in warnings] == [True]


@pytest.mark.requirement("hooks:prompt")
async def test_what_hooks_add_to_a_message_stands_right_before_it(place: Place) -> None:
    place.user("echo the branch is main", event="UserPromptSubmit")
    own = {"hookEventName": "UserPromptSubmit", "additionalContext": "it is Friday"}
    place.project(says(hookSpecificOutput=own), event="UserPromptSubmit")
    place.user(keeps("told.json"), event="UserPromptSubmit")
    ran = await turn(place.build(DONE), "hello")
    at = next(i for i, m in enumerate(ran.messages) if isinstance(m, UserMessage))
    before = ran.messages[at - 2 : at]
    assert [isinstance(m, ReminderMessage) and m.name for m in before] == ["hooks", "hooks"]
    assert before[0].text.endswith("says:\nthe branch is main")
    assert before[1].text.endswith("says:\nit is Friday")
    assert place.told("told.json")["prompt"] == "hello"


@pytest.mark.requirement("hooks:input")
async def test_a_hook_gets_no_secret_of_a_message_and_what_it_prints_is_masked_before_it_is_cut(
    place: Place,
) -> None:
    key = "ghp_" + "q7Lx2vKf9TzW4mNc8RbY1sHd6GjP3aUe5QoE"
    place.user(keeps("told.json"), event="UserPromptSubmit")
    place.user(f"printf %0490d 0 >&2; echo {key} >&2; exit 1", event="UserPromptSubmit")
    ran = await turn(place.build({"text": "Done."}), f"use {key}")
    assert place.told("told.json")["prompt"].startswith("use <secret:")
    (warning,) = ran.warnings
    assert "failed (exit code 1)" in warning and "ghp_" not in warning


@pytest.mark.requirement("hooks:session")
async def test_a_session_begins_once_and_says_how(place: Place) -> None:
    place.user("cat >> told", event="SessionStart")
    place.user("touch resumed", event="SessionStart", matcher="resume")
    runtime = place.build(DONE, DONE, DONE)
    session = runtime.open_session()
    await session.run("one")
    await session.run("two")
    assert (place.workspace / "told").read_text().count('"source": "startup"') == 1
    assert not (place.workspace / "resumed").exists()
    await runtime.open_session(session.conversation).run("three")
    assert (place.workspace / "told").read_text().count('"source": "resume"') == 1
    assert (place.workspace / "resumed").exists()


@pytest.mark.requirement("hooks:compaction")
async def test_a_hook_hears_of_a_compaction_and_may_refuse_one_that_was_asked_for(
    place: Place,
) -> None:
    refusing = "! grep -q refuse told.json || { echo not today >&2; exit 2; }"
    place.user(f"{keeps('told.json')}; {refusing}", event="PreCompact", matcher="manual")
    place.user("cat >> auto.json; exit 2", event="PreCompact", matcher="auto")
    steps = [{"text": "what was said long ago " * 100} for _ in range(12)]
    runtime = place.build(*steps, context_tokens=6000)
    session, heard = runtime.open_session(), runtime.bus.subscribe()
    for _ in steps:
        assert (await session.run("go on")).reason == "finished"
    told = (place.workspace / "auto.json").read_text()
    shortened = [event for event in heard.drain() if isinstance(event, HistoryShortened)]
    assert told.count('"trigger": "auto"') == len(shortened) > 0
    leaving = WhatLeaves(instructions="keep the names")
    planned, _ = await session.planner.plan(None, leaving)
    assert planned.compacted.dropped
    said = place.told("told.json")
    assert (said["trigger"], said["custom_instructions"]) == ("manual", "keep the names")
    with pytest.raises(UsageError, match="It is not summarised: not today") as refusal:
        await session.planner.plan(None, WhatLeaves(instructions="refuse"))
    assert refusal.value.hint.startswith("The hook: ")


@pytest.mark.requirement("hooks:stop")
async def test_a_hook_may_send_the_agent_on_and_is_told_that_it_did(place: Place) -> None:
    place.user(
        "cat > told.json; [ -e once ] || { touch once; echo run the tests >&2; exit 2; }",
        event="Stop",
    )
    ran = await turn(place.build({"text": "Half."}, {"text": "Whole."}))
    assert ran.finished is not None
    assert (ran.finished.answer, ran.finished.steps) == ("Whole.", 2)
    (note,) = ran.notes
    assert "does not let you stop yet:\nrun the tests" in note
    told = place.told("told.json")
    assert (told["stop_hook_active"], told["last_assistant_message"]) == (True, "Whole.")


@pytest.mark.requirement("hooks:stop")
async def test_what_a_hook_adds_at_the_end_is_read_with_the_next_message_and_beside_a_no_at_once(
    place: Place,
) -> None:
    added = says(hookSpecificOutput={"additionalContext": "the tests took long"})
    refused = says(
        decision="block",
        reason="run them",
        hookSpecificOutput={"additionalContext": "there are two"},
    )
    place.user(f"[ -e once ] || {{ touch once; {refused}; exit; }}; {added}", event="Stop")
    ran = await turn(place.build({"text": "Half."}, {"text": "Whole."}))
    assert ran.finished is not None and ran.finished.steps == 2
    first, why, last = ran.notes
    assert first.endswith("says:\nthere are two") and why.endswith("run them")
    assert last.endswith("says:\nthe tests took long"), "stored, and no reason to go on"


@pytest.mark.requirement("hooks:stop")
async def test_a_hook_that_never_agrees_does_not_run_for_ever(place: Place) -> None:
    place.user("echo again >&2; exit 2", event="Stop")
    steps = [{"text": f"Answer {n}."} for n in range(MOST_STOPS + 5)]
    ran = await turn(place.build(*steps))
    assert ran.finished is not None
    assert ran.finished.steps == MOST_STOPS + 1
    assert ran.finished.reason == "finished"


@pytest.mark.requirement("hooks:halt")
async def test_a_session_may_be_stopped_before_it_begins(place: Place) -> None:
    place.user(says(**{"continue": False, "stopReason": "not on Fridays"}), event="SessionStart")
    ran = await turn(place.build(DONE))
    assert ran.finished is not None
    assert "not on Fridays" in ran.finished.error
    assert ran.finished.steps == 0


@pytest.mark.requirement("hooks:warn")
async def test_what_a_hook_says_to_the_person_is_shown_and_not_sent(place: Place) -> None:
    place.user(says(systemMessage="mind the gap"), event="UserPromptSubmit")
    ran = await turn(place.build(DONE))
    assert ran.notes == []
    assert any("says: mind the gap" in warning for warning in ran.warnings)


@pytest.mark.requirement("hooks:notification")
async def test_a_question_is_told_to_hooks_while_it_waits_and_its_answer_ends_them(
    place: Place,
) -> None:
    os.mkfifo(place.workspace / "gate")
    told = "cat > told.json; sleep 600 & echo $! > pid; echo x > gate; sleep 600"
    place.user(told, event="Notification", matcher="permission_prompt")
    place.user("touch other", event="Notification", matcher="question")
    runtime = place.build(attended=True)
    victim = place.folder / "outside.txt"
    made = asyncio.get_running_loop().create_task(
        one_call(runtime, "create_file", filePath=str(victim), content="x")
    )
    await asyncio.to_thread((place.workspace / "gate").read_text)
    (inquiry,) = runtime.inquiries.pending()
    assert runtime.inquiries.answer(inquiry.id, Approval("once"))
    ran = await made
    assert victim.exists() and ran.decisions[-1].by == "user"
    assert place.told("told.json")["notification_type"] == "permission_prompt"
    assert place.told("told.json")["message"].startswith("Permission is needed: ")
    assert not (place.workspace / "other").exists()
    assert gone(place.workspace / "pid")


@pytest.mark.requirement("hooks:notification")
async def test_what_tells_of_a_question_asks_none_itself(place: Place) -> None:
    victim = place.folder / "victim"
    place.user(f"touch {victim}; echo $? > code", event="Notification")
    runtime = place.build(attended=True)
    heard = runtime.bus.subscribe()
    made = asyncio.get_running_loop().create_task(
        one_call(runtime, "create_file", filePath=str(place.folder / "asked"), content="x")
    )
    ended = False
    while not ended:
        ended = any(isinstance(event, HookFinished) for event in await heard.batch())
    (inquiry,) = runtime.inquiries.pending()
    runtime.inquiries.answer(inquiry.id, Approval("deny"))
    await made
    assert not victim.exists()
    assert (place.workspace / "code").read_text() != "0\n"
