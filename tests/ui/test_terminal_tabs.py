"""Terminals as tabs: the person's shells and the agent's sessions."""

import pytest

from sam_tui.core.events import TerminalOpened
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.ports.processes.terminals import SessionSpec
from sam_tui.ui.widgets.terminal.panel import TerminalPanel
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.terminals import drawn

pytestmark = pytest.mark.usefixtures("side_column")


async def with_shell(me: Driver) -> TerminalPanel:
    """Wait for the first shell."""
    await me.ready()
    panel = me.app.chat.terminals
    await me.until(lambda: panel.shell.session is not None)
    return panel


def titles(panel: TerminalPanel) -> str:
    """What the border says on top, as drawn."""
    strips = panel.screen._compositor.render_strips()  # pyright: ignore
    row = strips[panel.region.y].crop(panel.region.x, panel.region.right).text
    return row.removeprefix("╭─ ").rstrip("╮─")[:-1]


async def click_title(me: Driver, panel: TerminalPanel, words: str, button: int = 1) -> None:
    """Click where the border on the screen shows some words."""
    await me.click(panel, (3 + titles(panel).index(words), 0), button)


@pytest.mark.requirement("ui:terminal-tabs")
async def test_shells_are_opened_chosen_and_closed_by_key(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        assert titles(panel) == " shell  + "
        await me.pilot.press("alt+t")
        second = panel.current
        await me.until(lambda: second.session is not None and second.has_focus)
        assert titles(panel) == " 1 shell  2 shell ×  + "
        assert second.session is not panel.shell.session
        await me.until(lambda: second.session and second.session.activity.state.name == "finished")
        await me.pilot.press(*("ctrl+right_square_bracket",) * 2)
        await me.until(lambda: me.app.chat.prompt.area.has_focus)
        await me.pilot.press("f4")
        assert panel.current is panel.shell
        await me.pilot.press("alt+2")
        assert panel.current is second
        ended = second.session
        await me.pilot.press("alt+w")
        assert panel.tabs == [panel.shell] and panel.current is panel.shell
        await me.until(lambda: ended and stage.runtime.terminals.find(ended.id) is None)


@pytest.mark.requirement("ui:terminal-ended")
async def test_where_no_shell_could_be_opened_the_tab_says_so_and_enter_tries_again(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        away = stage.workspace.rename(stage.workspace.with_name("away"))
        await me.pilot.press("alt+t")
        await me.until(lambda: panel.current.refused)
        await me.pilot.press("l", "o", "s", "t")
        assert "Enter tries again" in drawn(panel.current)
        # Another is not tried unasked, but takes no keys for nothing either.
        await me.pilot.press("ctrl+right_square_bracket", "alt+t")
        await me.until(lambda: len(panel.tabs) == 3 and panel.current.refused)
        away.rename(stage.workspace)
        await me.pilot.press("enter")
        await me.until(lambda: panel.current.session is not None)
        await me.pilot.press("f", "o", "u", "n", "d")
        # The prompt is as long as the folder's name: the word may stand in two rows.
        await me.until(lambda: "found" in drawn(panel.current).replace("\n", ""))
        assert "lost" not in drawn(panel.current)


@pytest.mark.requirement("ui:terminal-tabs")
async def test_tabs_are_chosen_opened_and_closed_by_mouse(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        await click_title(me, panel, "+")
        await me.until(lambda: len(panel.tabs) == 2 and panel.current.session is not None)
        second = panel.current
        await me.until(lambda: second.session and second.session.activity.state.name == "finished")
        await click_title(me, panel, "1 shell")
        assert panel.current is panel.shell
        await click_title(me, panel, "2 shell")
        assert panel.current is second
        # The row below belongs to the program, and other buttons choose nothing.
        for words in ("1 shell", "×", "+"):
            await me.click(second, (3 + titles(panel).index(words), 0))
        await click_title(me, panel, "1 shell", button=3)
        assert panel.tabs == [panel.shell, second] and panel.current is second
        await click_title(me, panel, "×")
        await me.until(lambda: panel.tabs == [panel.shell])
        await click_title(me, panel, "+")
        await me.until(lambda: len(panel.tabs) == 2 and panel.current.session is not None)
        third = panel.current
        await me.until(lambda: third.session and third.session.activity.state.name == "finished")
        await click_title(me, panel, "2 shell", button=2)
        await me.until(lambda: panel.tabs == [panel.shell])


@pytest.mark.requirement("ui:terminal-tabs")
async def test_a_tab_is_named_by_command_and_chosen_by_its_name(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        await me.send("/tab rename build")
        assert titles(panel) == " build  + "
        await me.send("/tab new")
        await me.until(lambda: panel.current.session is not None)
        assert "2 shell" in titles(panel)
        await me.pilot.press(*("ctrl+right_square_bracket",) * 2)
        await me.send("/tab build")
        assert panel.current is panel.shell
        await me.send("/tab rename")
        assert "1 shell" in titles(panel)
        await me.send("/tab nowhere")
        assert panel.current is panel.shell


@pytest.mark.requirement("ui:terminal-tabs")
async def test_a_shell_in_which_something_runs_is_closed_only_when_asked_twice(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        session = panel.shell.session
        assert session is not None
        await me.until(lambda: session.activity.state.name == "finished")
        session.write(b"sleep 500\n")
        await me.until(lambda: any(r.command == "sleep 500" for r in session.commands))
        await me.pilot.press("alt+w")
        assert panel.shell.session is session and session.running
        await me.pilot.press("alt+w")
        await me.until(lambda: not session.running)
        await me.until(lambda: panel.shell.session not in (None, session))


@pytest.mark.requirement("ui:terminal-tabs", "ui:terminal-bell-seen")
async def test_output_of_a_hidden_tab_is_marked_and_a_bell_until_the_tab_is_chosen_or_has_the_keys(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        session = panel.shell.session
        assert session is not None
        await me.until(lambda: session.activity.state.name == "finished")
        await me.pilot.press("alt+t")
        await me.until(lambda: panel.current.session is not None)
        session.write(b"echo hello\n")
        await me.until(lambda: "1 shell•" in titles(panel))
        session.write(b"printf '\\a'\n")
        await me.until(lambda: "1 shell!" in titles(panel))
        await me.pilot.press(*("ctrl+right_square_bracket",) * 2, "alt+1")
        assert "1 shell ×" in titles(panel)
        for key in ("alt+1", "ctrl+right_square_bracket"):
            session.write(b"printf '\\a'\n")
            await me.until(lambda: "1 shell! ×" in titles(panel))
            await me.pilot.press(key)
            await me.until(lambda: "1 shell ×" in titles(panel))


@pytest.mark.requirement("ui:terminal-tabs")
async def test_more_tabs_than_fit_are_shown_around_the_one_in_front(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        for _ in range(6):
            panel.add_shell()
        await me.pilot.pause()
        assert "7 shell ×" in titles(panel) and titles(panel).startswith("‹")
        panel.pick("1")
        assert "1 shell ×" in titles(panel) and "›" in titles(panel)
        assert len(titles(panel)) <= panel.size.width


@pytest.mark.requirement("ui:agent-terminal")
async def test_a_second_session_of_the_agent_is_a_tab_of_its_own_that_the_person_does_not_close(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[TextDelta("hi")]]
    async with driven(app_over(stage)) as me:
        panel = await with_shell(me)
        await me.send("hello")
        await me.until(lambda: "hi" in me.transcript() and not me.bench.turns.running)
        own = me.bench.current.session
        assert own is not None
        for name in (own.conversation, None):
            opened, _ = await stage.runtime.terminals.open(SessionSpec(name, str(stage.workspace)))
            stage.runtime.bus.publish(TerminalOpened(own.conversation, opened.id))
        await me.until(lambda: len(panel.tabs) == 3)
        assert panel.current.session is opened and not panel.owned(panel.current)
        panel.current.say("you type", "$warning")
        await me.pilot.pause()
        assert "you type" in str(panel.border_subtitle)
        await me.pilot.press("alt+w")
        assert len(panel.tabs) == 3 and opened.running
        await me.send("/new")
        assert panel.tabs == [panel.shell]
