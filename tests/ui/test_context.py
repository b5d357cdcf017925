"""How much of the model's window is in use, and by what."""

import asyncio

import pytest

from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.usage import Usage
from sam_tui.ui.screens.reader import Reader
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Stage, app_over, driven


@pytest.mark.requirement("ui:context")
async def test_the_share_of_the_window_is_the_providers_or_a_marked_estimate(
    stage: Stage, model: RawModel
) -> None:
    model.context_tokens = 200_000
    created = calls(("create_file", {"filePath": "a.txt", "content": "hello"}))
    go_on = asyncio.Event()
    counted = UsageDelta(Usage(input_tokens=33_000, output_tokens=1_000))
    model.answers += [[*created, counted], [go_on, TextDelta("made it")]]
    async with driven(app_over(stage), (120, 40)) as me:
        standing = me.app.chat.status.standing
        await me.ready()
        assert standing.context == ""
        await me.send("make a file")
        await me.until(lambda: standing.context == "ctx 17%")
        go_on.set()
        await me.until(lambda: "made it" in me.transcript() and not me.bench.turns.running)
        assert standing.context.startswith("ctx ~")
        assert standing.context in me.drawn()
        await me.send("/context")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        await me.until(lambda: "200,000" in me.drawn())
        for part in ("system prompt", "tools", "your messages", "file_operations.create_file"):
            assert part in me.drawn()
        await me.pilot.press("escape")
        await me.send("/new")
        await me.until(lambda: standing.context == "")
