"""The screen of fleets, over fleets on disk. About 0.5 s of CPU: one app."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.app import App
from textual.widgets import Input

from sam_tui.adapters.fleet.messages import Ask
from sam_tui.adapters.fleet.records import FleetFolder, FleetQuestion, Fleets, FleetSettings
from sam_tui.adapters.fleet.tasks import FleetLimits, FleetTask
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.screens.fleets import FleetsScreen
from tests.ui.driver import Stage, Watch, app_over, driven


def fleet(data: Path, name: str, *states: str) -> FleetFolder:
    """A fleet whose tasks are in these states; the first one asks two questions."""
    tasks = [FleetTask(id=f"t{n}", prompt="p") for n, _ in enumerate(states)]
    settings = FleetSettings(id=name, workspace="/w", limits=FleetLimits())
    made = Fleets(str(data)).create(settings, tasks)
    for record, state in zip(made.records.values(), states, strict=True):
        record.state, record.answer = state, f"said {record.id}"  # pyright: ignore[reportAttributeAccessIssue]
        made.save(record)
    asks = [Ask(id=id, title=f"{id}?", targets=("/etc/[b]x",)) for id in ("q1", "q2")]
    made.post([FleetQuestion(task="t0", work=f"{name}.t0-1", ask=ask) for ask in asks])
    return made


@pytest.mark.requirement("ui:fleets")
async def test_a_fleet_is_watched_answered_cancelled_and_gone_on_with(tmp_path: Path) -> None:
    made = fleet(tmp_path, "20261122-b", "queued", "done", "failed", "waiting")
    fleet(tmp_path, "20261122-a", "done")
    launched: list[Sequence[str]] = []
    watch = Watch()
    screen = FleetsScreen(Fleets(str(tmp_path), launched.append), Patience(0, 1, clock=watch))

    def text(selector: str) -> str:
        return str(screen.query_one(selector).render())

    class Window(App[None]):
        def on_mount(self) -> None:
            self.push_screen(screen)

    async with Window().run_test() as pilot:

        async def until(part: str, selector: str = "#run-head") -> None:
            while part not in text(selector):
                await pilot.pause(0.02)

        await until("2 of 4")
        assert "1 done, 1 failed, 1 queued, 1 waiting" in text("#run-head")
        lines = text("#run-steps Static").splitlines()
        assert [line.split()[0] for line in lines] == ["queued", "failed", "waiting", "done"]
        await pilot.press("down")
        await until("20261122-a")
        await pilot.press("up")
        await until("20261122-b")
        while screen._view.fleet != "20261122-b":  # pyright: ignore[reportPrivateUsage]
            await pilot.pause(0.02)

        inbox = screen._inbox  # pyright: ignore[reportPrivateUsage]
        watch.time += 2
        await pilot.press("d", "enter")  # from the fleets to the questions
        assert made.answers() == []  # the keys were not in the list of questions
        await pilot.press("d")
        made.post(made.inbox()[1:])
        while inbox.option_count != 1:
            await pilot.pause(0.02)
        # What takes the place of a question that is gone is marked, and answered, by nobody but the person.
        await pilot.press("a", "enter")
        assert inbox.highlighted is None and not screen.query_one(Input).display
        await pilot.press("down", "d")
        assert [(a.ask, a.reply) for a in made.answers()] == [("q1", "deny")]
        # q2 was marked for less than a second when the key came.
        await pilot.press("enter")
        screen.query_one(Input).value = "not there"
        await pilot.press("enter")
        await until("Answered", "#run-keys")
        assert [(a.ask, a.reply) for a in made.answers()] == [("q2", "not there")]

        await pilot.press("x")
        await until("Press x again", "#run-keys")
        assert not made.cancelled
        await pilot.press("x")
        await until("2 cancelled")
        assert made.cancelled
        await pilot.press("t")
        await until("program of its own", "#run-keys")
    ((*_, command, verb, id, option, folder),) = launched
    assert [command, verb, id, option, folder] == [
        "fleet", "retry", "20261122-b", "--data-dir", str(tmp_path),
    ]  # fmt: skip


@pytest.mark.requirement("ui:fleets")
async def test_the_workbench_shows_the_fleets_of_its_data_folder(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/fleet")
        await me.until(lambda: isinstance(me.app.screen, FleetsScreen))
        screen = me.app.screen
        await me.until(lambda: "There is no fleet" in str(screen.query_one("#run-head").render()))
        await me.pilot.press("escape")
        await me.until(lambda: screen is not me.app.screen)
