"""Large pastes: chips in the prompt, sent whole. Costs about one app."""

import pytest
from textual import events

from sam_tui.core.ports.model import TextDelta
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven

LINES = "".join(f"row {n} [x]\r\n" for n in range(500))


async def paste(me: Driver, text: str) -> None:
    """As the terminal hands it over."""
    me.app.post_message(events.Paste(text))
    await me.pilot.pause()


@pytest.mark.requirement("ui:paste-chip")
async def test_a_large_paste_is_a_chip_edited_as_one_character_opened_on_enter_and_sent_whole(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append([TextDelta("first")])
    async with driven(app_over(stage)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await paste(me, "\n".join("short" for _ in range(10)))
        assert area.text.count("\n") == 9
        area.put("look at ")  # and words that only look like a chip are words
        await paste(me, LINES)
        assert area.text == "look at [pasted 500 lines]"
        await paste(me, "x" * 1001)
        await paste(me, "y" * 1001)
        assert area.text.endswith("lines][pasted 1001 characters][pasted 1001 characters #2]")
        await me.pilot.press("backspace")
        assert area.text.endswith("[pasted 1001 characters]")
        # Within a chip typing goes behind it, and whatever takes a part of it takes all.
        area.move_cursor((0, 12))
        await me.pilot.press("!")
        assert area.text == "look at [pasted 500 lines]![pasted 1001 characters]"
        area.move_cursor((0, 40))
        await me.pilot.press("ctrl+k")
        assert area.text == "look at [pasted 500 lines]!"
        await me.pilot.press("ctrl+underscore", "end", "ctrl+w")
        assert area.text == "look at [pasted 500 lines]!"
        area.insert("[pasted 7 lines]")
        await me.pilot.press("enter")
        await me.until(lambda: "first" in me.transcript())
        pasted = LINES.replace("\r", "")
        sent = [m.text for m in model.seen[0] if m.kind == "user"]
        assert sent == [f"look at {pasted}![pasted 7 lines]"]
        # Opened: the lines stand in the prompt.
        await paste(me, LINES)
        area.move_cursor((0, 5))
        await me.pilot.press("enter")
        assert area.text == pasted
