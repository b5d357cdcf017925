"""What is to happen after a while happens, also where the loop was busy when it was asked for."""

import ast
import itertools
from pathlib import Path
from typing import Any

import pytest
from textual import _time
from textual.events import Resize
from textual.geometry import Region, Size

import sam_tui.ui
from tests.ui.driver import Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD, drawn, in_shell

pytestmark = pytest.mark.usefixtures("side_column")


@pytest.mark.requirement("ui:late-timers")
async def test_a_terminal_goes_on_being_drawn_where_timers_are_late(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        assert view.session is not None
        # Between any two looks at the clock 2 ms go by: no timer of Textual's for less ever calls.
        clock, looks = _time.get_time, itertools.count()
        monkeypatch.setattr(_time, "get_time", lambda: clock() + 0.002 * next(looks))
        for word in ("one", "two", "three"):
            view.session.write(f"echo {word}$((40+2))b\n".encode())
            await me.until(lambda word=word: f"{word}42b" in drawn(view))
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: me.app.chat.prompt.area.has_focus)


@pytest.mark.requirement("ui:late-timers")
def test_no_timer_of_textuals_that_calls_once_is_used() -> None:
    sources = list(Path(sam_tui.ui.__file__).parent.rglob("*.py"))
    assert len(sources) > 50
    calls = [
        f"{path.name}:{node.lineno}"
        for path in sources
        if "set_timer" in (source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr == "set_timer"
        and not isinstance(node.value, ast.Call)  # that of ``super()``, which is mended
    ]
    assert not calls, f"use sam_tui.ui.timers: {calls}"


@pytest.mark.requirement("ui:late-timers", "ui:new-sizes")
async def test_what_textual_itself_has_the_app_do_once_is_done_however_late(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        calls: list[bool] = []
        me.app.set_timer(1e-9, lambda: calls.append(True))  # as for a new size, which has 8 ms
        await me.until(lambda: calls)


@pytest.mark.requirement("ui:late-timers", "ui:new-sizes")
async def test_a_size_that_comes_and_goes_within_a_moment_has_all_drawn_anew(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        await me.pilot.pause()
        app, wide = me.app, Size(120, 40)
        compositor: Any = app.chat._compositor  # pyright: ignore[reportPrivateUsage]
        regions: list[set[Region]] = []
        drawn, timer = compositor.render_update, app.set_timer

        def recorded(**options: Any) -> object:
            regions.append(set(compositor._dirty_regions))
            return drawn(**options)

        def late(_: float, action: Any) -> object:
            return timer(0.3, action)

        monkeypatch.setattr(compositor, "render_update", recorded)
        monkeypatch.setattr(app, "set_timer", late)
        for size in (Size(120, 30), wide):  # what was written for the first has erased the rows
            app.post_message(Resize(size, size))
            await me.until(lambda size=size: app.size == size)
        await me.until(lambda: any(wide.region in dirty for dirty in regions))
        assert app.size == app.chat.outer_size == wide


@pytest.mark.requirement("ui:cancel")
async def test_a_turn_that_is_cancelled_before_it_began_ends_and_gives_its_prompt_back(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        turns = me.bench.turns
        turns.submit("too early")
        assert turns.cancel()
        await me.until(lambda: not turns.running)
        assert me.app.chat.prompt.area.text == "too early"
