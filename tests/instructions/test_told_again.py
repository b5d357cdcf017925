"""What people wrote for the agent is told once, and again: after a compaction, and where it is pinned."""

from collections import Counter
from pathlib import Path

import pytest

from sam_tui.core.agent.notes.planned import WhatLeaves
from sam_tui.core.agent.session import Session
from sam_tui.core.messages import ReminderMessage
from sam_tui.core.prompt.reminders import AGAIN_CALLS
from sam_tui.core.runtime import Runtime
from tests.hooks.conftest import Place, Step, call

DONE: Step = {"text": "Done."}
READ: Step = {"calls": [call("file_operations", "read_file", filePath="web/a.ts")]}
SILENT = ("user_context", "instructions", "skills", "agents", "pins")
"""The reminders that say nothing while the model still has what they said."""


def written(place: Place) -> None:
    """One file of each kind, believed."""
    for name, text in {
        "cfg/AGENTS.md": "Answer in Latin.",
        "cfg/skills/tide/SKILL.md": "---\nname: tide\ndescription: How tides are read\n---\nx",
        "cfg/agents/diver.md": "---\nname: diver\ndescription: Looks deep\n---\nDive.",
        "ws/web/AGENTS.md": "Use pnpm.",
        "ws/.sam/rules/types.md": "---\npaths: web/*.ts\n---\nNo any.",
        "ws/web/a.ts": "1",
    }.items():
        path = Path(place.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    place.trust()


def reminders(session: Session) -> list[ReminderMessage]:
    return [message for message in session.messages if isinstance(message, ReminderMessage)]


def opened(place: Place, *steps: Step, conversation: str = "") -> tuple[Runtime, Session]:
    runtime = place.build(*steps)
    return runtime, runtime.open_session(*(filter(None, [conversation])))  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("memory:notes-reminders", "instructions:nested")
@pytest.mark.parametrize("resumed", [False, True])
async def test_a_compaction_has_everything_told_anew_that_holds_also_of_what_is_worked_on(
    place: Place, *, resumed: bool
) -> None:
    written(place)
    runtime, session = opened(place, READ, DONE, DONE, DONE)
    runtime.conversations.keep_pins(session.conversation, ["Mind the tide."])
    for prompt in ("one", "two", "three"):
        await session.run(prompt)
    planned, _ = await session.planner.plan(None, WhatLeaves("up to", 2))
    session.planner.apply(planned)
    assert not any("Use pnpm." in message.text for message in session.messages)
    if resumed:
        session.close()
        runtime, session = opened(place, READ, *[DONE] * 4, conversation=session.conversation)
    kept = len(session.messages)
    await session.run("four")
    told = {m.name: m.text for m in session.messages[kept:] if isinstance(m, ReminderMessage)}
    assert told.keys() >= set(SILENT)
    for words in ("Answer in Latin.", "Use pnpm.", "No any."):
        assert words in told["instructions"]
    assert "How tides are read" in told["skills"] and "Looks deep" in told["agents"]
    assert "Mind the tide." in told["pins"]


@pytest.mark.requirement("reminders:choices")
async def test_each_that_is_pinned_stands_again_whole_in_a_long_loop_also_once_resumed(
    place: Place,
) -> None:
    written(place)
    loop = [READ] * (AGAIN_CALLS + 1)
    runtime, session = opened(place, DONE, *loop, DONE)
    runtime.conversations.keep_pins(session.conversation, ["Mind the tide."])
    choices = runtime.engine.requests.injectors.choices
    await session.run("one")
    for name in SILENT[1:]:
        choices.choose(session.conversation, name, "pinned")
    await session.run("two")
    first = {message.name: message.text for message in reversed(reminders(session))}
    again = [message for message in reminders(session) if message.name in SILENT]
    told = Counter(message.name for message in again)
    assert told == dict.fromkeys(SILENT[1:], 2) | {"user_context": 1, "instructions": 3}
    for message in again[-len(SILENT[1:]) :]:
        assert message.text == first[message.name] or message.name == "instructions"
    whole = next(m.text for m in reversed(again) if m.name == "instructions")
    assert all(words in whole for words in ("Answer in Latin.", "Use pnpm.", "No any."))
    choices.choose(session.conversation, "skills", "muted")
    session.close()
    _, session = opened(place, DONE, *loop, DONE, *loop, DONE, conversation=session.conversation)
    await session.run("three")
    later = Counter(message.name for message in reminders(session)) - Counter(told)
    assert {name: later[name] for name in SILENT} == {
        "user_context": 0, "instructions": 1, "skills": 0, "agents": 1, "pins": 1
    }  # fmt: skip
