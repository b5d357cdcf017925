"""Up goes back through what was asked here before."""

import pytest

from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.screens.dialogs import Picker
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Stage, app_over, driven


@pytest.mark.requirement("ui:history")
@pytest.mark.requirement("ui:history-search")
async def test_behind_the_first_prompt_come_those_of_earlier_conversations_here(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[TextDelta("the answer")]]
    store = stage.runtime.conversations
    for number, root in enumerate((stage.runtime.workspace.root, "/elsewhere")):
        store.create(ConversationId(f"c{number}"), root)
        asked = [UserMessage(f"{words} {number}") for words in ("old", "new", "old")]
        store.append(ConversationId(f"c{number}"), asked)
    async with driven(app_over(stage)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await me.send("mine")
        await me.until(lambda: "the answer" in me.transcript() and not me.bench.turns.running)
        seen: list[str] = []
        for _ in range(4):
            await me.pilot.press("up")
            seen.append(area.text)
        assert seen == ["mine", "old 0", "new 0", "new 0"]
        area.put("")
        await me.send("/new")
        await me.pilot.press("up", "up")
        assert area.text == "old 0"
        # Those of other folders are found as well.
        await me.pilot.press("ctrl+r")
        await me.until(lambda: isinstance(me.app.screen, Picker) and "new 1" in me.drawn())
        rows = {row.split("│")[1].strip() for row in me.drawn().splitlines() if "just now" in row}
        assert {"mine  just now", "new 1  just now · /elsewhere"} <= rows
        await me.pilot.press(*"new 1")
        await me.until(lambda: "old 1" not in me.drawn())
        await me.pilot.press("enter")
        await me.until(lambda: area.text == "new 1" and area.has_focus)
