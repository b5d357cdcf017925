"""The two terminals: real shells on real PTYs, drawn and typed into."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.events import TerminalOpened
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.ports.processes.screens import CellRun
from sam_tui.core.ports.processes.terminals import SessionSpec
from sam_tui.core.runtime import Runtime
from sam_tui.ui.widgets.terminal import repeated_keys
from sam_tui.ui.widgets.terminal.cells import Painter
from sam_tui.ui.widgets.terminal.view import TerminalView
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD, drawn, in_shell, type_line

pytestmark = pytest.mark.usefixtures("side_column")


@pytest.mark.requirement("ui:terminal")
async def test_the_shell_is_typed_into_drawn_and_knows_its_size(stage: Stage) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        view = await in_shell(me)
        assert view.session is not None
        earlier = None
        for number, size in enumerate(((80, 24), (120, 40), (200, 50))):
            await me.pilot.resize_terminal(*size)
            # The app knows its size before the view inside it does.
            await me.until(lambda size=size: tuple(me.app.chat.size) == size)
            await me.until(lambda earlier=earlier: view.size != earlier)
            screen = view.session.screen
            await me.until(lambda screen=screen: (screen.columns, screen.rows) == tuple(view.size))
            earlier = view.size
            view.session.write(b"clear; stty size; echo a$((40+%d))b\n" % number)
            await me.until(lambda number=number: f"a{40 + number}b" in drawn(view))
            assert f"{view.size.height} {view.size.width}" in drawn(view)


@pytest.mark.requirement("ui:terminal-keys")
async def test_every_key_goes_to_the_program_but_the_one_that_leaves(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await type_line(me, "cat")
        await me.pilot.press(*"hello", "enter")
        await me.until(lambda: drawn(view).count("hello") >= 2)
        assert view.label == "Ctrl+] twice leaves"
        await me.pilot.press("ctrl+c")
        await me.pilot.press("f1", "escape", "ctrl+q", "ctrl+p", "shift+tab", "question_mark")
        assert me.app.is_running and me.app.screen is me.app.chat and view.has_focus
        assert stage.runtime.mode == "ask"
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: me.app.chat.prompt.area.has_focus)


@pytest.mark.requirement("ui:terminal-keys")
async def test_the_chords_first_key_takes_no_other_key_with_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await type_line(me, "stty -icanon -echo; od -An -v -t x1 -w1")
        await me.until(lambda: view.session and view.session.activity.state.name == "waiting")
        await me.pilot.press(LEAVE_CHORD[0])
        assert view.label == "Ctrl+] again leaves"
        # A line gets the key that follows, and the chord's own where that was waited for.
        await me.pilot.press("x")
        await me.until(lambda: " 78" in drawn(view))
        assert view.has_focus and view.label == "Ctrl+] twice leaves"
        with monkeypatch.context() as hasty:
            hasty.setattr(repeated_keys, "WITHIN", 0.001)
            await me.pilot.press(LEAVE_CHORD[0])
            await me.until(lambda: " 78\n 1d" in drawn(view))
        # A full screen gets both.
        screen = view.session and view.session.screen
        assert isinstance(screen, EmulatedScreen)
        screen.feed(b"\x1b[?1049h")
        await me.pilot.press(LEAVE_CHORD[0], "y")
        await me.until(lambda: "1d\n 79" in drawn(view))
        screen.feed(b"\x1b[?1049l")
        await me.pilot.press(*LEAVE_CHORD, "x")
        await me.until(lambda: me.app.chat.prompt.area.text == "x")
        assert [drawn(view).split().count(code) for code in ("1d", "78")] == [1, 1]


@pytest.mark.requirement("ui:terminal-keys")
async def test_keys_typed_before_the_shell_starts_are_its_own(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = asyncio.Event()

    async def start(_: Callable[[str], None]) -> Runtime:
        await ready.wait()
        return stage.runtime

    monkeypatch.setattr(stage, "start", start)
    async with driven(app_over(stage)) as me:
        await me.pilot.press(LEAVE_CHORD[0])
        view = me.app.chat.terminals.shell
        await me.until(lambda: view.has_focus)
        view.paste("echo an-")
        await type_line(me, "early")
        assert view.session is None and view.has_focus
        ready.set()
        await me.until(lambda: "\nan-early" in drawn(view))


@pytest.mark.requirement("ui:terminal-keys")
async def test_the_chords_first_key_is_nothing_to_a_shell_at_its_prompt(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await me.until(lambda: view.session and view.session.activity.state.name == "finished")
        monkeypatch.setattr(repeated_keys, "WITHIN", 0.001)
        await me.pilot.press(LEAVE_CHORD[0])
        await me.until(lambda: view.label == "Ctrl+] twice leaves")
        await type_line(me, "echo at-$((1+1))")
        await me.until(lambda: "\nat-2" in drawn(view))


@pytest.mark.requirement("ui:terminal-paste")
async def test_pasted_lines_are_not_run_by_the_shell(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        assert view.session is not None
        from textual import events

        me.app.post_message(events.Paste("echo one$((1+1))\necho two$((1+1))\n"))
        await me.until(lambda: "echo two$" in drawn(view))
        await me.pilot.pause()
        assert "one2" not in drawn(view)
        await me.pilot.press("enter")
        await me.until(lambda: "one2" in drawn(view) and "two2" in drawn(view))


@pytest.mark.requirement("ui:terminal")
async def test_the_shell_follows_the_size_of_its_panel_and_scrolls_back(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        assert view.session is not None
        view.session.write(b"for i in $(seq 1 200); do echo row-$i-; done\n")
        await me.until(lambda: "row-200-" in drawn(view))
        await me.pilot.press("shift+pageup", "shift+pageup")
        await me.until(lambda: "row-200-" not in drawn(view))
        assert "scrolled" in view.label
        await me.pilot.press("x")
        await me.until(lambda: "row-200-" in drawn(view))
        before = view.size
        await me.pilot.resize_terminal(160, 50)
        await me.until(lambda: view.size != before)
        await me.until(
            lambda: (
                view.session
                and (view.session.screen.columns, view.session.screen.rows) == tuple(view.size)
            )
        )


@pytest.mark.requirement("ui:terminal-ended")
async def test_an_ended_shell_says_how_and_enter_starts_another(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        first = view.session
        assert first is not None
        first.write(b"exit 7\n")
        await me.until(lambda: "exit 7 · Enter restarts" in view.label)
        await me.pilot.press("x")
        assert view.session is first
        await me.pilot.press("enter")
        await me.until(lambda: view.session is not first and view.session is not None)
        await me.until(lambda: stage.runtime.terminals.find(first.id) is None)
        assert view.session is not None and view.session.running


@pytest.mark.requirement("ui:agent-terminal")
async def test_the_agents_terminal_appears_can_be_typed_into_and_goes_with_its_conversation(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[TextDelta("hi")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        panel = me.app.chat.terminals
        assert "agent" not in str(panel.border_title)
        await me.send("hello")
        await me.until(lambda: "hi" in me.transcript() and not me.bench.turns.running)
        session = me.bench.current.session
        assert session is not None
        opened, _ = await stage.runtime.terminals.open(
            SessionSpec(session.conversation, str(stage.workspace))
        )
        stage.runtime.bus.publish(TerminalOpened(session.conversation, opened.id))
        await me.until(lambda: panel.agent.session is opened)
        assert panel.current is panel.agent and "agent" in str(panel.border_title)
        await me.pilot.press("ctrl+right_square_bracket")
        await me.until(lambda: panel.agent.has_focus)
        assert "agent" in panel.agent.badge[0]
        await type_line(me, "echo x$((6*7))y")
        await me.until(lambda: "x42y" in drawn(panel.agent))
        assert opened.turns.holder == "person"
        await me.until(lambda: panel.agent.badge[0] == "you type")
        assert "hands back" in panel.agent.label
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: me.app.chat.prompt.area.has_focus)
        assert opened.turns.holder == "agent"
        await me.until(lambda: panel.agent.badge[0] == "agent")
        opened.turns.pass_to("person", "your password")
        await me.until(lambda: panel.agent.badge[0] == "you type: your password")
        # A long reason is cut, and the key's name stands whole in the border.
        opened.turns.pass_to("person", "the password of the staging machine's database")
        border = me.app.export_screenshot
        await me.until(
            lambda: (
                "you type: the" in (text := border().replace("&#160;", " "))
                and "F8 hands it back" in text
            )
        )
        opened.turns.pass_to("agent")
        await me.pilot.press("f4")
        assert panel.current is panel.shell
        await me.send("/new")
        assert panel.agent.session is None


@pytest.mark.requirement("ui:terminal")
async def test_a_shell_is_opened_only_once_it_can_be_seen(stage: Stage) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        view = me.app.chat.terminals.shell
        assert view.session is None
        await me.pilot.press("f2")
        await me.until(lambda: view.session is not None)


@pytest.mark.requirement("ui:terminal")
def test_cells_become_strips_of_the_panels_width_with_their_styles() -> None:
    runs = [CellRun("ab", 1, (1, 2, 3), frozenset({"bold", "hidden"})), CellRun("日")]
    painter = Painter(Style(color="red"))
    strip = painter.strip(runs, 6)
    assert (strip.text, strip.cell_length) == ("ab日  ", 6)
    style = painter.style(runs[0])
    assert style.bold and style.conceal and style.color and style.bgcolor
    assert style.color.number == 1 and style.bgcolor.triplet == (1, 2, 3)
    assert painter.style(CellRun("a", attributes=frozenset({"blink"}))).blink is None
    assert painter.style(CellRun("a")) == Style(color="red")


@pytest.mark.requirement("ui:terminal-frames")
async def test_a_flood_of_output_is_drawn_in_few_frames_and_only_where_rows_changed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        assert view.session is not None
        frames: list[int] = []
        paint = view.refresh

        def counted(*regions: object, **options: bool) -> TerminalView:
            frames.append(len(regions) or view.size.height)
            return paint(*regions, **options)  # pyright: ignore[reportArgumentType]

        monkeypatch.setattr(view, "refresh", counted)
        view.session.write(b"for i in $(seq 3000); do printf '\\r%s' $i; done; echo end-\n")
        await me.until(lambda: "3000end-" in drawn(view))
        # However the machine cut the flood into frames: far fewer than prints, and of few rows.
        assert frames and len(frames) < 1000
        frames.clear()
        view.session.write(b"printf x-; printf 'y\\n'\n")
        await me.until(lambda: "x-y" in drawn(view))
        assert min(frames) < view.size.height // 2


@pytest.mark.requirement("ui:terminal-selection")
async def test_what_is_selected_is_marked_and_told_to_the_agent(stage: Stage) -> None:
    async with driven(app_over(stage), (120, 40)) as me:
        view = await in_shell(me)
        assert view.session is not None
        view.session.write(b"clear; echo first line; echo second line\n")
        await me.until(lambda: drawn(view).startswith("first line\nsecond line"))
        await me.pilot.mouse_down(view, offset=(6, 0))
        await me.pilot.hover(view, offset=(6, 1))
        await me.pilot.mouse_up(view, offset=(6, 1))
        await me.until(lambda: view.session is not None and view.session.selection)
        assert view.session.selection.startswith("line\nsecond")
        told = await stage.runtime.executor.execute(
            ToolCall(CallId("c1"), "get_terminal_selection", "{}"), ConversationId("c")
        )
        assert "second" in told.finished.text


@pytest.mark.requirement("terminal:recording")
async def test_the_terminal_on_show_is_recorded(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "one.cast"
    async with driven(app_over(stage)) as me:
        await me.ready()
        view = me.app.chat.terminals.shell
        await me.until(lambda: view.session is not None and bool(drawn(view).strip()))
        await me.send(f"/record {path}")
        await me.until(path.exists)
        assert view.session is not None
        view.session.type(b"echo rec$((1+1))rec\r")
        await me.until(lambda: "rec2rec" in drawn(view))
        await me.send("/record")
        await me.until(lambda: "rec2rec" in path.read_text())


@pytest.mark.requirement("ui:terminal-frames")
async def test_every_row_fills_its_width_in_every_frame_also_while_the_size_changes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: list[tuple[int, int]] = []
    drawn_as = TerminalView.render_lines

    def heard(view: TerminalView, crop: Region) -> list[Strip]:
        strips = drawn_as(view, crop)
        wrong.extend((s.cell_length, crop.width) for s in strips if s.cell_length != crop.width)
        return strips

    monkeypatch.setattr(TerminalView, "render_lines", heard)
    async with driven(app_over(stage), (120, 40)) as me:
        view = await in_shell(me)
        for width in (180, 110, 200):
            await me.pilot.resize_terminal(width, 40)
            await me.until(lambda width=width: view.region.right == width - 1)
            await me.pilot.pause()
    assert wrong == []
