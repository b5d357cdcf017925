"""What comes and goes on a screen is drawn and told of, whoever looked at the layout meanwhile."""

from typing import Any

import pytest
from textual.containers import Vertical
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, QuickApp, Stage, app_over, driven
from tests.ui.terminals import in_shell
from tests.ui.test_chat import says

pytestmark = pytest.mark.usefixtures("side_column")

_SIZE = (120, 40)


@pytest.fixture
def painted_for_who_looks() -> None:
    """Here everything is painted: this is about what is."""


class Drawing(QuickApp):
    """The app, drawn on a terminal of ours: as a driver gets it, only what changed."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.around = EmulatedScreen(*_SIZE)

    def _display(self, screen: Any, renderable: Any) -> None:
        if renderable is not None:
            self.around.feed(renderable.render_segments(self.console).encode())
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]


class Message(Static):
    """Counts how often it was told that it is shown."""

    shown = 0

    def on_show(self) -> None:
        """Count it."""
        self.shown += 1


async def _places(me: Driver) -> tuple[Vertical, Static]:
    """Where messages lie over the screen, as Textual's own do, and a widget that nobody sees."""
    rack, unseen = Vertical(), Static("unseen")
    rack.styles.layer = unseen.styles.layer = "over"
    rack.styles.dock = "top"
    rack.styles.height = "auto"
    rack.styles.visibility = unseen.styles.visibility = "hidden"
    await me.app.chat.mount(rack, unseen)
    return rack, unseen


def _around(me: Driver) -> str:
    assert isinstance(me.app, Drawing)
    return me.app.around.text()


@pytest.mark.requirement("ui:layouts")
async def test_what_comes_is_told_and_what_goes_is_drawn_over_also_where_somebody_looked_first(
    stage: Stage,
) -> None:
    async with driven(app_over(stage, Drawing), _SIZE) as me:
        await me.ready()
        rack, unseen = await _places(me)
        for number in range(3):
            message = Message(f"message {number}")
            message.styles.visibility = "visible"
            unseen.refresh()  # from here on whoever looks has all laid out
            await me.pilot.pause()
            await rack.mount(message)
            assert me.app.chat.prompt.region  # somebody looks
            await me.until(lambda n=number: f"message {n}" in _around(me))
            await me.until(lambda shown=message: shown.shown == 1)
            unseen.refresh()
            await me.pilot.pause()
            await message.remove()
            assert me.app.chat.prompt.region
            await me.until(lambda n=number: f"message {n}" not in _around(me))


@pytest.mark.requirement("ui:drawn-lines")
async def test_a_key_draws_the_lines_that_it_changes_and_no_other(
    stage: Stage, model: RawModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.answers.append(says("\n\n".join(f"line {number}" for number in range(9))))
    rows: set[int] = set()
    draw = Widget.render_lines

    def counted(widget: Widget, crop: Region) -> list[Strip]:
        rows.update(crop.translate(widget.region.offset).line_range)
        return draw(widget, crop)

    async with driven(app_over(stage, Drawing), _SIZE) as me:
        await me.ready()
        await me.send("go")
        await me.until(lambda: "line 8" in me.drawn())
        await me.until(lambda: me.app.chat.status.activity.phase == "ready")
        await me.pilot.press("a")
        monkeypatch.setattr(Widget, "render_lines", counted)
        await me.pilot.press("b")
        await me.until(lambda: "ab" in _around(me))
        assert rows == set(me.app.chat.prompt.area.region.line_range)
        monkeypatch.undo()
        assert _around(me) == "\n".join(line.rstrip() for line in me.drawn().splitlines())


def _styles(app: Any) -> list[Any]:
    """What rules set at each node of the screen, and at each of its parts."""
    nodes: list[Any] = list(app.screen.walk_children(with_self=True))
    parts = [
        (node, name, node._component_styles[name])
        for node in nodes
        for name in sorted(node._component_styles)
    ]
    styles = [(node, "", node.styles) for node in nodes] + parts
    return [(node, name, each.base.get_rules()) for node, name, each in styles]


def _parsed(app: Any) -> Stylesheet:
    """Textual's own style sheet of what the app's is made of."""
    sheet: Any = Stylesheet(variables=app.get_css_variables())
    sheet.source, sheet._parse_cache = app.stylesheet.source, app.stylesheet._parse_cache
    sheet.parse()
    return sheet


@pytest.mark.requirement("ui:styles")
async def test_styles_that_change_in_steps_are_those_that_textual_computes_of_all_rules(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        app: Any = me.app
        focused = [app.chat.prompt.area, (await in_shell(me)), None, app.chat.prompt.area]
        for look, widget, size in zip(
            ("sam", "paper", "paper", "sam"), focused, (120, 60, 20, 120), strict=True
        ):
            app.theme = look
            app.screen.set_focus(widget)
            await me.pilot.resize_terminal(size, 40)
            await me.pilot.pause()
            changed, whole = _styles(app), _parsed(app)
            whole.update(app.screen)
            assert _styles(app) == changed
