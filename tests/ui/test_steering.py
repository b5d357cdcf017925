"""Prompts for a turn that runs: at its next step, or at its end. About 1.5 s of CPU."""

import asyncio

import pytest
from textual.widgets import Static

from sam_tui.core.ports.model import TextDelta
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_chat import says


@pytest.mark.requirement("ui:steering")
async def test_a_prompt_joins_the_running_turn_behind_its_calls_and_tab_lets_one_wait(
    stage: Stage, model: RawModel
) -> None:
    hold = asyncio.Event()
    model.answers += [
        [hold, *calls(("think", {"thoughts": "Hm"}))],
        says("steered"),
        says("later"),
        says("latest"),
    ]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: me.bench.turns.running)
        await me.type("at the end")
        await me.pilot.press("tab")
        await me.type("at the very end")
        await me.pilot.press("alt+enter")
        await me.send("other way")
        queued = str(me.app.chat.query_one("#queued", Static).render())
        assert queued.splitlines() == ["↳ other way", "⇥ at the end", "⇥ at the very end"]
        hold.set()
        await me.until(lambda: "latest" in me.transcript())
        shown = me.transcript()
        stored = stage.runtime.conversations.latest(str(stage.workspace))
        assert stored is not None
        assert stage.runtime.conversations.queued(stored.id) == []
        assert shown.index("other way") < shown.index("steered") < shown.index("at the end")
    kinds = [m.kind for m in model.seen[1] if m.kind != "reminder"]
    assert kinds == ["user", "assistant", "tool", "user"]
    texts = [[m.text for m in messages if m.kind == "user"] for messages in model.seen]
    assert texts == [
        ["first"],
        ["first", "other way"],
        ["first", "other way", "at the end"],
        ["first", "other way", "at the end", "at the very end"],
    ]
    assert len(model.seen[2]) > len(model.seen[1])
    assert list(model.seen[1]) == list(model.seen[2])[: len(model.seen[1])], "only appended to"


@pytest.mark.requirement("ui:steering")
async def test_what_no_step_took_is_the_next_prompt_and_alt_enter_at_rest_is_a_line(
    stage: Stage, model: RawModel
) -> None:
    hold = asyncio.Event()
    model.answers += [[hold, TextDelta("one")], says("two")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.type("a")
        await me.pilot.press("alt+enter")
        await me.type("b")
        assert me.app.chat.prompt.area.text == "a\nb"
        await me.pilot.press("enter")
        await me.until(lambda: me.bench.turns.running)
        await me.send("c")
        hold.set()
        await me.until(lambda: "two" in me.transcript())
    assert [m.text for m in model.seen[1] if m.kind == "user"] == ["a\nb", "c"]
