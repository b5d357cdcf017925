"""Searching the transcript. Costs one app."""

import pytest
from rich.style import Style

from sam_tui.core.display import Text
from sam_tui.core.events import ToolFinished
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import AssistantMessage, UserMessage
from tests.ui.driver import Driver, Stage, app_over, driven


def marked(me: Driver) -> list[str]:
    """What stands out as the place of the search."""
    pane = me.app.chat.transcript
    strips = pane.render_lines(pane.size.region)
    here = Style(reverse=True, bold=True)
    return [
        segment.text
        for strip in strips
        for segment in strip
        if segment.style and segment.style.reverse and segment.style.bold == here.bold
    ]


@pytest.mark.requirement("ui:search")
async def test_ctrl_f_counts_what_is_found_and_goes_from_one_to_the_next_into_folded_blocks(
    stage: Stage,
) -> None:
    async with driven(app_over(stage), size=(80, 24)) as me:
        await me.ready()
        pane = me.app.chat.transcript
        filler = "\n\n".join(f"paragraph {n}" for n in range(400))
        answer = f"the [Needle] once\n\n{filler}\n\nand needle needle again\n\n{filler}"
        pane.load([UserMessage("where?"), AssistantMessage(answer)])
        text = "\n".join([*(f"row {n}" for n in range(50)), "a needle in the output"])
        card = ToolFinished(
            ConversationId("c"), CallId("a"), "t.r", "Reading: x", True, "", (Text(text),), 1.0
        )
        pane.finish_tool(card)
        await me.pilot.press("ctrl+f")
        await me.until(lambda: me.app.chat.query("#search Input").first().has_focus)
        drawn = pane.draws
        await me.pilot.press(*"needle")
        await me.until(lambda: "4 of 4" in me.drawn())
        assert marked(me) == ["needle"] and "a needle in the output" in me.drawn()
        await me.pilot.press("enter")
        await me.until(lambda: "3 of 4" in me.drawn())
        assert "needle needle again" in me.drawn() and marked(me) == ["needle"]
        await me.pilot.press("up", "up")
        await me.until(lambda: "1 of 4" in me.drawn())
        assert marked(me) == ["Needle"] and "paragraph 3" in me.drawn()
        await me.pilot.press("up")
        await me.until(lambda: "4 of 4" in me.drawn())
        await me.pilot.press("down")
        await me.until(lambda: "1 of 4" in me.drawn())
        # What is looked at is drawn, not all that is searched.
        assert pane.draws - drawn < 250
        await me.pilot.press("x")
        await me.until(lambda: "none" in me.drawn())
        assert not marked(me)
        await me.pilot.press("backspace", "escape")
        await me.until(lambda: not me.app.chat.query("#search"))
        assert pane.has_focus and pane.cursor == pane.ledger[1].group
        assert not marked(me) and "needle needle again" in me.drawn()
        me.app.chat.focus_bottom()
        await me.send("/find [Needle]")
        await me.until(lambda: "1 of 1" in me.drawn())
