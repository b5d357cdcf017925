"""Sizes: everything to be seen fits, and nothing breaks."""

import operator
from typing import Any

import pytest
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App
from textual.color import TRANSPARENT
from textual.strip import Strip
from textual.widget import Widget

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui import theme
from sam_tui.ui.screens import STYLES
from sam_tui.ui.screens.dialogs import HelpScreen
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD, drawn, in_shell, type_line

pytestmark = pytest.mark.usefixtures("side_column")


def inside(me: Driver, widget: Widget) -> bool:
    """Whether a widget is to be seen whole."""
    return bool(widget.region.area) and me.app.screen.region.contains_region(widget.region)


@pytest.mark.requirement("ui:sizes")
@pytest.mark.parametrize(
    ("size", "side"), [((80, 24), False), ((120, 40), True), ((200, 50), True)]
)
async def test_the_side_column_is_beside_where_there_is_room_and_takes_turns_where_not(
    stage: Stage, size: tuple[int, int], side: bool
) -> None:
    async with driven(app_over(stage), size) as me:
        await me.ready()
        chat = me.app.chat
        await me.pilot.pause()
        assert chat.side_shown is side
        assert all(inside(me, w) for w in (chat.transcript, chat.prompt.area, chat.status))
        await me.pilot.press("f2")
        await me.pilot.pause()
        assert chat.side_shown is not side
        assert inside(me, chat.prompt.area) and inside(me, chat.status)
        assert bool(chat.terminals.region.area) is not side
        if not side:
            assert inside(me, chat.terminals) and inside(me, chat.todos)
            assert not chat.transcript.region.area
        await me.pilot.press("f3")
        await me.pilot.pause()
        assert chat.side_shown


@pytest.mark.requirement("ui:sizes")
async def test_the_empty_prompt_says_as_much_as_fits(stage: Stage) -> None:
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        assert "! shell · F1 help" in me.drawn()
        await me.pilot.resize_terminal(45, 30)
        await me.until(lambda: "Ask anything · / commands · F1 help" in me.drawn())
        me.app.chat.prompt.area.steer(True)
        await me.until(lambda: "Enter: at the next step · Esc cancels it" in me.drawn())


@pytest.mark.requirement("ui:sizes")
async def test_the_keys_stay_where_they_were_when_the_screen_gets_narrow(stage: Stage) -> None:
    async with driven(app_over(stage), (120, 40)) as me:
        view = await in_shell(me)
        chat = me.app.chat
        await me.pilot.resize_terminal(80, 24)
        await me.until(lambda: chat.narrow and inside(me, chat.terminals))
        assert view.has_focus
        await me.pilot.press(*LEAVE_CHORD)
        stage.model.answers.append([TextDelta("What was asked for.")])
        await me.send("go")  # the answer is what one wants to see now
        await me.until(lambda: not chat.side_shown)
        assert chat.prompt.area.has_focus
        await me.pilot.resize_terminal(120, 40)
        await me.until(lambda: chat.side_shown)
        await me.pilot.resize_terminal(80, 24)
        await me.until(lambda: not chat.side_shown)
        assert chat.prompt.area.has_focus
        await me.pilot.resize_terminal(120, 40)
        for _ in range(2):  # the second time a key opened it, and nothing but that changed
            await me.send("/side hide")
            await me.until(lambda: not chat.side_shown)
            chat.show_side(True)


@pytest.mark.requirement("ui:sizes")
async def test_a_notice_is_seen_while_the_side_column_stands_over_the_transcript(
    stage: Stage,
) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        transcript = me.app.chat.transcript
        transcript.add_notice("info", "Seen where it stands.")
        await me.pilot.press("f2")
        await me.until(lambda: not transcript.display)
        transcript.add_notice("warning", "The [key] is *old*.")
        shown = me.app._notifications  # pyright: ignore[reportPrivateUsage] # no other way to see them
        await me.until(lambda: len(shown))
        told = [(n.message, n.severity, n.markup) for n in shown]
        assert told == [("The [key] is *old*.", "warning", False)]


@pytest.mark.requirement("ui:too-small")
async def test_a_terminal_too_small_is_told_so_and_nothing_breaks(
    stage: Stage, model: RawModel
) -> None:
    sizes = ((39, 30), (100, 9), (1, 1))
    model.answers += [[TextDelta("Heard.")] for _ in sizes]
    async with driven(app_over(stage), sizes[0]) as me:
        await me.ready()
        for size in sizes:
            await me.pilot.resize_terminal(*size)
            await me.until(lambda: me.app.chat.query_one("#too-small").display)
            await me.until(lambda: not me.app.chat.prompt.area.region.area)
            await me.pilot.press("a", "enter", "f1", "escape", "f2", "f3", "f4", "shift+tab")
            await me.pilot.press("ctrl+p", "escape", "up", "down")
            await me.pilot.resize_terminal(80, 24)
            await me.until(lambda: inside(me, me.app.chat.prompt.area))
            await me.pilot.resize_terminal(*size)
            await me.pilot.resize_terminal(120, 40)
            await me.until(lambda: me.app.chat.prompt.area.has_focus)
            await me.pilot.press(*"back")
            assert me.app.chat.prompt.area.text.endswith("back")
            await me.until(lambda: not me.bench.turns.running)
            me.app.chat.prompt.area.text = ""


@pytest.mark.requirement("ui:too-small")
async def test_keys_of_a_terminal_stay_its_own_while_the_screen_is_too_small(stage: Stage) -> None:
    async with driven(app_over(stage), (45, 30)) as me:
        view = await in_shell(me)
        await type_line(me, "cat")
        for size in ((45, 30), (120, 40)):
            await me.pilot.resize_terminal(39, 30)
            await me.until(lambda: not view.region.area and not view.has_focus)
            await me.pilot.press(*"unseen", "enter")
            await me.pilot.resize_terminal(*size)
            await me.until(lambda: inside(me, view) and view.has_focus)
            await me.until(lambda: drawn(view).count("unseen") >= 2)
        assert not me.app.chat.prompt.area.text and not me.bench.turns.running
        await me.pilot.resize_terminal(39, 30)
        await me.pilot.press(*LEAVE_CHORD, *"seen")
        await me.pilot.resize_terminal(45, 30)
        await me.until(lambda: me.app.chat.prompt.area.has_focus)
        assert me.app.chat.prompt.area.text == "seen"


@pytest.mark.requirement("ui:sizes")
async def test_dialogs_fit_in_eighty_columns(stage: Stage) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.pilot.press("f1")
        await me.until(lambda: isinstance(me.app.screen, HelpScreen))
        await me.pilot.pause()
        frame = me.app.screen.query_one("Vertical")
        assert inside(me, frame)


@pytest.mark.requirement("ui:calm")
async def test_nothing_moves_while_nothing_happens(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.until(lambda: me.app.chat.terminals.shell.session is not None)
        await me.pilot.pause()
        running = [
            timer
            for node in (me.app, *me.app.chat.walk_children(Widget, with_self=True))
            for timer in node._timers  # pyright: ignore[reportPrivateUsage]
            if timer._repeat is None and timer._active.is_set()  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
        ]
        assert running == []


@pytest.mark.requirement("ui:themes")
async def test_both_looks_work_and_switch(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        assert me.app.theme == "sam"
        dark = me.app.screen.get_component_rich_style("screen--selection")
        await me.send("/theme sam-light")
        assert me.app.theme == "sam-light"
        assert not me.app.current_theme.dark
        light = me.app.screen.get_component_rich_style("screen--selection")
        for style, text in ((dark, "sam"), (light, "sam-light")):
            # What is selected is read in the colour of text, over a ground of its own.
            assert style.color is not None and style.bgcolor is not None
            shown = me.app.available_themes[text].foreground or ""
            assert style.color.get_truecolor() == Color.parse(shown).get_truecolor()
            assert style.color.get_truecolor() != style.bgcolor.get_truecolor()


@pytest.mark.requirement("ui:parsed-once")
async def test_a_source_of_styles_is_parsed_once_for_a_look(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        before = list(me.app.stylesheet.rules)
        me.app.refresh_css()
        assert all(map(operator.is_, before, me.app.stylesheet.rules))
        await me.app.push_screen(HelpScreen())
        after = me.app.stylesheet.rules
        assert len(after) > len(before)
        # But for a source that became closer to a widget, all are the same rules.
        assert len({*map(id, before)} & {*map(id, after)}) > len(before) / 2


@pytest.mark.requirement("ui:parsed-once")
async def test_the_start_works_styles_out_as_rarely_as_a_bare_app_and_reads_no_dialogs(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: list[App[None]] = []
    textual: Any = App
    refresh_css = textual.refresh_css

    def counted(app: App[None], animate: bool = True) -> None:
        refreshed.append(app)
        refresh_css(app, animate)

    monkeypatch.setattr(App, "refresh_css", counted)
    bare, ours = App[None](), app_over(stage)
    async with bare.run_test():
        pass
    async with driven(ours) as me:
        await me.ready()
        assert refreshed.count(ours) <= refreshed.count(bare)
        red = Strip([Segment("x", Style(color="red"))])
        for line_filter in ours.get_line_filters():
            red = red.apply_filter(line_filter, TRANSPARENT)
        (segment,) = red
        assert segment.style is not None and segment.style.color is not None
        assert segment.style.color.get_truecolor() == theme.ANSI_DARK.ansi_colors[1]
        assert not ours.stylesheet.has_source(str(STYLES))
        await ours.push_screen(HelpScreen())
        assert ours.stylesheet.has_source(str(STYLES))


@pytest.mark.requirement("ui:clicked-twice")
async def test_clicking_what_was_removed_meanwhile_ends_nothing(stage: Stage) -> None:
    app = app_over(stage)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        me = Driver(app, pilot)
        await me.ready()
        me.app.notify("something was done", timeout=3600)
        await me.until(lambda: "something was done" in me.drawn())
        toast = me.app.screen.query_one("Toast")
        x, y = toast.region.x + 2, toast.region.y
        holder = toast.parent
        assert holder is not None
        # As between its removal and the frame without it.
        toast._detach()  # pyright: ignore[reportPrivateUsage]
        for kind in (events.MouseDown, events.MouseMove, events.MouseUp):
            await me.app.on_event(kind(None, x, y, 0, 0, 1, False, False, False))
        toast._attach(holder)  # pyright: ignore[reportPrivateUsage]
        await me.type("still here")
        await me.until(lambda: "still here" in me.drawn())
