"""Copies that end at a block, lines to remember, side questions, goals. About 2 s of CPU: one app."""

import pytest
from textual.widgets import TextArea

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.screens.reader import Reader
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Stage, app_over, driven


@pytest.mark.requirement("sessions:fork-here", "definitions:remembered", "goals:pursued")
async def test_a_copy_ends_at_the_marked_block_and_a_prompt_comes_back_for_editing(
    stage: Stage, model: RawModel
) -> None:
    created = calls(("create_file", {"filePath": "a.txt", "content": "hello\n"}))
    model.answers += [[TextDelta("good morning")], created, [TextDelta("made it")]]
    async with driven(app_over(stage), (120, 40)) as me:
        pane, area = me.app.chat.transcript, me.app.chat.prompt.area
        await me.ready()
        for prompt, answer in (("hello", "good morning"), ("make a file", "made it")):
            await me.send(prompt)
            await me.until(lambda a=answer: a in me.transcript() and not me.bench.turns.running)

        async def fork_at(words: str) -> str:
            """What the copy shows that ends at the block with these words."""
            before = me.bench.conversations.on_show
            pane.focus()
            pane.cursor = next(b.group for b in pane.ledger if words in pane.source_of(b))
            await me.pilot.press("alt+f")
            await me.until(lambda: me.bench.conversations.on_show != before)
            return me.transcript()

        shown = await fork_at("a.txt")
        assert "a.txt" in shown and "made it" not in shown
        shown = await fork_at("make a file")
        assert "good morning" in shown and "a.txt" not in shown
        assert area.text == "make a file"
        area.put("hello")
        model.answers += [[TextDelta("good evening")]]
        await me.pilot.press("enter")
        await me.until(lambda: "good evening" in me.transcript() and not me.bench.turns.running)
        shown = await fork_at("good morning")
        assert "good evening" not in shown and shown.count("hello") == 1, "the first of two"
        assert len(stage.runtime.conversations.recent(None, 9)) == 4

        own = stage.workspace.parent / "settings/AGENTS.md"
        for line in ("# Use tabs.", "#Be brief."):
            area.focus()
            await me.send(line)
            await me.until(lambda word=line[-5:]: own.exists() and word in own.read_text("utf-8"))
        assert own.read_text("utf-8") == "- Use tabs.\n- Be brief.\n"
        assert "Added to your instructions" in me.transcript()
        assert not me.bench.turns.running

        model.answers += [[TextDelta("It is aside.")]]
        await me.send("/btw What is it?")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        assert "It is aside." in str(me.app.screen.query_one(TextArea).text)
        await me.pilot.press("escape")
        assert "It is aside." not in me.transcript()
        area.focus()
        last = calls(("create_file", {"filePath": "b.txt", "content": "x"}), ids=["c7"])
        model.answers += [[TextDelta("still red")], last, [TextDelta("now it is")]]
        await me.send("/goal cat b.txt")
        await me.until(lambda: "The goal is reached: cat b.txt passes." in me.transcript())
        assert "The check does not pass yet" in me.transcript()
