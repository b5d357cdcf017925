"""The screen of runs where something is wrong: it says so, and stays."""

import pytest
from textual.widgets import Static

from sam_tui.ui.screens.runs import RunsScreen
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_runs import Bench, define


@pytest.mark.requirement("ui:runs")
async def test_a_store_that_cannot_be_read_is_told_and_nothing_ends(stage: Stage) -> None:
    define(stage)
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/workflow")
        await me.until(lambda: isinstance(me.app.screen, RunsScreen))
        bench = Bench(me, stage)
        assert "n begins one" in bench.text("#run-head")
        stage.runtime.workflows.close()
        await me.until(lambda: "already closed" in bench.text("#run-head"))
        await me.pilot.press("g", "p", "x", "x")
        assert isinstance(me.app.screen, RunsScreen)
        await me.pilot.press("escape")
        await me.until(lambda: me.app.screen is me.app.chat)


@pytest.mark.requirement("ui:runs")
async def test_every_part_is_seen_at_every_size(stage: Stage) -> None:
    define(stage)
    stage.runtime.workflows.workflows().start("colours", {"room": "hall"})
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        for size in ((120, 40), (80, 24), (40, 12)):
            await me.pilot.resize_terminal(*size)
            await me.send("/workflow")
            await me.until(lambda: isinstance(me.app.screen, RunsScreen))
            await me.until(lambda size=size: tuple(me.app.screen.size) == size)
            await me.until(lambda: "gate" in Bench(me, stage).text("#run-head"))
            parts = ["#runs", "#run-steps", "#run-kept", "#run-events"]
            for name in parts if size[1] > 20 else parts[:2]:
                region = me.app.screen.query_one(name).region
                assert region.height >= 3 and region.width >= 10, (name, size)
                assert region.bottom <= size[1], (name, size)
            assert me.app.screen.query_one("#run-keys", Static).region.height == 1
            await me.pilot.press("escape")
            await me.until(lambda: me.app.screen is me.app.chat)
