"""Only the cells that change are written, and the terminal shows what it would show of all of them.

Costs about 3 s of CPU: one app, whose frames two emulated terminals are fed, as Textual renders them and as
they are written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.geometry import Region, Size
from textual.strip import Strip

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.events import TextStreamed, TurnFinished, TurnStarted
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.ports.processes.screens import CellRun
from sam_tui.core.usage import Usage
from sam_tui.ui.driver.cell_rows import pen_of_colour
from sam_tui.ui.driver.cells import DrawnCells
from sam_tui.ui.driver.clusters import settled
from tests.fakes.counting import counted_calls
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, QuickApp, Stage, app_over, driven
from tests.ui.terminals import in_shell

pytestmark = pytest.mark.usefixtures("side_column")

CODE = "".join(f"    value_{n} = compute({n})  # and so on\n" for n in range(12))
ANSWER = (
    "Some *words* that wrap at the end of the row, `code`, and more of them so that it does wrap.\n\n"
    "漢字と仮名の行、全角 half 全角。\n\n"
    "हिन्दी में एक पंक्ति, 👨‍👩‍👧‍👦 and 🇩🇪 ❤️ beside e\u0301 and தமிழ்.\n\n"
    "- a list\n- [a link](https://example.org/)\n\n"
    f"```python\n{CODE}```\n\n| a | b |\n|---|---|\n| 1 | 漢 |\n| 2 | ½ |\n\n"
)
KEYS = ("pageup", "pageup", "up up", "ctrl+end", "f1", "escape", "ctrl+p", "t h", "escape", "f2", "f2",
        "ctrl+l", "t y p e d")  # fmt: skip
SEEN_ON_BLANKS = {"underline", "reverse", "strike"}
MOST_BYTES, MOST_ROWS = 32.0, 2.0
"""A token, at six tokens a frame: as Textual renders it, it is some 700 bytes and 6 rows."""

ROWS, MOST_CALLS_ROW = 43, 120
"""Calls of Python that drawing one row of a screen costs, whatever the others hold."""

TYPED, MOST_BYTES_KEY = "typedwithoutpause", 90.0


@pytest.fixture
def painted_for_who_looks() -> None:
    """Here everything is painted: this is about what is."""


@pytest.fixture(autouse=True)
def colours_of_this_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual stores how it rendered a style or a blank row, also for an app with other colours."""
    rendered: Any = Strip.render_style.__func__  # pyright: ignore

    def render_style(cls: type[Strip], style: Any, text: str, color_system: Any) -> str:
        if type(style) is Style:
            style._ansi = None  # pyright: ignore
        return str(rendered(cls, style, text, color_system))

    monkeypatch.setattr(Strip, "render_style", classmethod(render_style))
    Strip.blank.cache_clear()  # pyright: ignore


def looks(runs: Sequence[CellRun]) -> list[tuple[object, ...]]:
    """What can be seen of each cell of a row: of a blank its ground, and what is drawn through it."""
    cells: list[tuple[object, ...]] = []
    for run in runs:
        for text in run.text if not run.cells else [run.text]:
            drawn = run.attributes & SEEN_ON_BLANKS if text == " " else run.attributes
            ink = None if text == " " and not drawn else run.foreground
            cells.append((text, ink, run.background, drawn, run.underline, run.link))
    while cells and cells[-1] == (" ", None, None, frozenset[str](), None, ""):
        cells.pop()
    return cells


class Compared(QuickApp):
    """The app, whose frames are fed to two terminals."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cells = DrawnCells()
        self.whole, self.changes = EmulatedScreen(120, 40), EmulatedScreen(120, 40)
        self.rows: tuple[dict[int, Sequence[CellRun]], ...] = ({}, {})  # of each, as last compared
        self.bytes_whole = self.bytes_written = self.frames = 0

    def _display(self, screen: Any, renderable: RenderableType | None) -> None:
        if isinstance(renderable, CompositorUpdate):
            size = self.size
            if (self.whole.columns, self.whole.rows) != tuple(size):
                for terminal in (self.whole, self.changes):
                    terminal.resize(*size)
            whole = settled(renderable.render_segments(self.console)).encode()
            # As on terminals that erase blanks in a colour, and as on others, by turns.
            self.cells.erases = self.frames % 3 > 0
            difference: Any = self.cells.difference(renderable, size)
            changes = settled(difference.render_segments(self.console)).encode()
            # No terminal that is drawn to wraps or lets a cursor be seen.
            self.whole.feed(b"\x1b[?7l\x1b[?25l" + whole.replace(b"\n", b"\r\n"))
            self.changes.feed(b"\x1b[?7l\x1b[?25l" + changes)
            self.bytes_whole += len(whole)
            self.bytes_written += len(changes)
            self.frames += 1
            rows_anew: dict[int, Sequence[CellRun]] = {}
            for terminal, rows in zip((self.changes, self.whole), self.rows, strict=True):
                rows.update(anew := dict(terminal.dirty_rows()))
                rows_anew |= anew
            self.compare(*([rows[y] for y in rows_anew] for rows in self.rows))
        super()._display(screen, renderable)

    def compare(self, *terminals: Sequence[Sequence[CellRun]]) -> None:
        """Require that these rows of both look the same, as those of the same runs do."""
        for changed, drawn in zip(*terminals, strict=True):
            assert changed == drawn or looks(changed) == looks(drawn)

    async def say(self, me: Driver, text: str, pieces: int) -> None:
        """Have an answer stream in so many characters a frame."""
        for at in range(0, len(text), pieces):
            self.chat.transcript.stream_text(text[at : at + pieces])
            self.chat.transcript.flush()
            await me.pilot.pause()
        self.chat.transcript.end_answer()
        await me.pilot.pause()


@pytest.mark.requirement("ui:changed-cells")
@pytest.mark.requirement("ui:bytes-a-token")
@pytest.mark.requirement("ui:key-cost")
async def test_the_terminal_shows_of_the_changes_what_it_would_show_of_the_whole(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_over(stage, Compared)
    assert isinstance(app, Compared)
    async with driven(app) as me:
        await me.ready()
        await app.say(me, ANSWER, 23)
        app.chat.divide(replace(app.chat.layout_wish, side="hide"))
        await me.pilot.pause()
        assert not app.chat.side_shown
        words = "the agent reads every file and writes a plan before it edits anything here. " * 20
        tokens, rows = words.count(" "), app.cells.rows_drawn
        app.bytes_whole = app.bytes_written = 0
        await app.say(me, words, 6 * len(words) // tokens)
        assert app.bytes_written / tokens < MOST_BYTES, (app.bytes_written, app.bytes_whole, tokens)
        assert (app.cells.rows_drawn - rows) / tokens < MOST_ROWS
        assert app.bytes_written * 5 < app.bytes_whole
        app.chat.focus_bottom()
        await me.pilot.pause()
        layouts = calls_of(app.screen._compositor, "reflow", monkeypatch)  # pyright: ignore[reportPrivateUsage]
        paints = calls_of(app.chat.transcript, "render_lines", monkeypatch)
        app.bytes_written = 0
        await me.pilot.press(*TYPED)
        await me.pilot.pause()
        assert app.chat.prompt.area.text.endswith(TYPED)
        assert not layouts and not paints
        assert app.bytes_written / len(TYPED) < MOST_BYTES_KEY
        for keys in KEYS:
            await me.pilot.press(*keys.split())
            await me.pilot.pause()
        for size in ((90, 30), (90, 31), (150, 45), (60, 20), (120, 40)):
            await me.pilot.resize_terminal(*size)
            await me.pilot.pause()
            await app.say(me, ANSWER[:200], 40)
        app.action_perform("theme")
        await me.pilot.pause()
        await me.pilot.press("down", "enter")
        await me.pilot.pause()
        app.chat.divide(replace(app.chat.layout_wish, side="show"))
        view = await in_shell(me)
        await me.pilot.press(*"ls", "enter")
        assert view
        assert app.frames > 80
        app.compare(app.changes.all_rows(), app.whole.all_rows())


@pytest.mark.requirement("ui:terminal-frames")
def test_rows_beside_the_same_text_are_drawn_without_each_being_compared_with_each() -> None:
    cells, console = DrawnCells(), Console(width=120)

    def draw(first: int) -> None:
        rows: list[Iterable[Strip]] = [
            [Strip([Segment(" " * 80)]), Strip([Segment(f"{number:<40}")])]
            for number in range(first, first + ROWS)
        ]
        update = LayoutUpdate(rows, Region(0, 0, 120, ROWS))
        written = cells.difference(update, Size(120, ROWS))
        assert isinstance(written, CompositorUpdate)
        assert f"\x1b[{ROWS};" in written.render_segments(console)

    for look in range(5000):  # more than are remembered
        pen_of_colour(look >> 8, look & 255, 0)
    draw(100_000)
    with counted_calls() as calls:
        draw(200_000)
    assert calls.total() < MOST_CALLS_ROW * ROWS, calls.most_common(5)


@pytest.mark.requirement("ui:frame-cost")
async def test_pieces_of_an_answer_draw_neither_what_is_behind_them_nor_the_same_status(
    stage: Stage, model: RawModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.answers += [[TextDelta("Here.")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: "Here." in me.transcript() and not me.bench.turns.running)
        session = me.bench.current.session
        assert session is not None
        for event in (TurnStarted, TextStreamed):
            stage.runtime.bus.publish(event(session.conversation, "begun "))
        await me.until(lambda: "streaming" in str(me.app.chat.status.render()))
        await me.pilot.pause()
        containers = [me.app.chat, *me.app.chat.query("#body, #left")]
        behind = [calls_of(part, "render_lines", monkeypatch) for part in containers]
        shown = calls_of(me.app.chat.status, "show", monkeypatch)
        for number in range(12):
            stage.runtime.bus.publish(TextStreamed(session.conversation, f"piece{number} "))
            await me.until(lambda number=number: f"piece{number}" in me.transcript())
            await me.pilot.pause()
        assert behind == [[], [], []]
        assert not shown
        stage.runtime.bus.publish(TurnFinished(session.conversation, "finished", "", Usage(), 1))
        await me.until(lambda: "ready" in str(me.app.chat.status.render()))
        assert shown


def calls_of(part: object, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows with each call of a method."""
    calls: list[str] = []
    method = getattr(part, name)

    def call(*arguments: Any) -> Any:
        calls.append(name)
        return method(*arguments)

    monkeypatch.setattr(part, name, call)
    return calls
