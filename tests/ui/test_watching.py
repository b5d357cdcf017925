"""What goes on in the terminals, told in the status bar; and who types in the agent's."""

import json

import pytest

from sam_tui.core.events import TerminalOpened
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD, drawn, in_shell

pytestmark = pytest.mark.usefixtures("side_column")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting between two looks."""
    monkeypatch.setattr("sam_tui.ui.controllers.terminals.status._PACE", 0.05)


def told(me: Driver) -> str:
    return me.app.chat.status.standing.sessions[0]


async def left_with(me: Driver, line: str) -> TerminalSession:
    """Type a line in the shell and go back to the prompt."""
    view = await in_shell(me)
    session = view.session
    assert session is not None
    await me.until(lambda: session.activity.state.name == "finished")
    session.type(f"{line}\r".encode())
    await me.until(lambda: session.commands)
    await me.pilot.press(*LEAVE_CHORD)
    await me.until(lambda: me.app.chat.prompt.area.has_focus)
    return session


async def agents_terminal(me: Driver, stage: Stage, model: RawModel) -> TerminalSession:
    """The agent's session, on show, the keys with the prompt."""
    model.answers += [[TextDelta("hi")]]
    await me.ready()
    await me.send("hello")
    await me.until(lambda: "hi" in me.transcript() and not me.bench.turns.running)
    session = me.bench.current.session
    assert session is not None
    opened, _ = await stage.runtime.terminals.open(
        SessionSpec(session.conversation, str(stage.workspace))
    )
    stage.runtime.bus.publish(TerminalOpened(session.conversation, opened.id))
    await me.until(lambda: me.app.chat.terminals.agent.session is opened)
    await me.until(lambda: opened.activity.state.name == "finished")
    return opened


@pytest.mark.requirement("ui:session-states")
async def test_a_running_command_is_told_with_its_silence_then_how_it_ended(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sam_tui.ui.controllers.terminals.status.QUIET", (2, 9000))
    (stage.workspace / "gate").touch()
    async with driven(app_over(stage)) as me:
        await left_with(me, "while [ -e gate ]; do sleep 0.01; done; (exit 3)")
        await me.until(lambda: told(me).startswith("shell: while [ -e gate ]; do"))
        await me.until(lambda: told(me).endswith(", quiet 2 s"))
        assert "quiet 2 s" in me.drawn()
        (stage.workspace / "gate").unlink()
        await me.until(lambda: told(me).endswith(" exit 3"))


@pytest.mark.requirement("ui:session-states")
async def test_a_question_and_hidden_input_are_told_until_somebody_is_there(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        session = await left_with(me, "read -p 'Go on? [y] ' x; read -s -p 'PIN: ' x; echo bye")
        await me.until(lambda: told(me) == "shell waits: Go on? [y]")
        session.type(b"y\r")
        await me.until(lambda: told(me).endswith(" waits for hidden input"))
        await me.pilot.press(LEAVE_CHORD[0])
        await me.until(lambda: me.app.chat.terminals.shell.has_focus and not told(me))


@pytest.mark.requirement("ui:session-states")
async def test_while_nothing_happens_nothing_is_looked_at(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        session = await left_with(me, "true")
        await me.until(lambda: session.activity.state.name == "finished")
        watching = me.bench.terminal_status
        await me.until(lambda: watching.at_rest)
        assert told(me) == ""
        assert watching.at_rest


@pytest.mark.requirement("ui:session-states")
async def test_the_agents_session_is_told_before_the_persons(stage: Stage, model: RawModel) -> None:
    async with driven(app_over(stage)) as me:
        opened = await agents_terminal(me, stage, model)
        opened.write(b"read -p 'Overwrite? ' x\r")
        await me.until(lambda: told(me) == "agent waits: Overwrite?")
        shell = me.app.chat.terminals.shell.session
        assert shell is not None
        shell.type(b"sleep 300\r")
        await me.until(lambda: told(me) == "agent waits: Overwrite? +1")
        opened.turns.pass_to("person", "your PIN")
        await me.until(lambda: told(me) == "agent waits for you: your PIN +1")


FITS = 45 - 4
"""Cells that the border of a column of 45 has for words."""


@pytest.mark.requirement("ui:watch-only")
async def test_one_key_lets_nobody_type_and_one_takes_and_hands_back(
    stage: Stage, model: RawModel
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.pilot.press("f7", "f8")  # there is no terminal of the agent: nothing happens
        opened = await agents_terminal(me, stage, model)
        view = me.app.chat.terminals.agent

        def border() -> str:
            words = f"{view.badge[0]} · {view.label}"
            assert len(words) <= FITS
            return words

        await me.until(lambda: border() == "agent · F8 takes it · F7 watch only")
        await me.pilot.press("f7")
        await me.until(lambda: opened.turns.holder == "watch")
        await me.until(lambda: border() == "watch only · F7 the agent · F8 you")
        opened.turns.pass_to("agent")
        view.focus()
        await me.until(lambda: border() == "agent · keys take it · Ctrl+] twice out")
        opened.turns.pass_to("watch")
        # Nobody's keys go in: neither those of the person in it, nor the agent's.
        view.focus()
        await me.until(lambda: border() == "watch only · Enter: you · a: agent")
        await me.pilot.press("x", "f3", "space")
        assert opened.turns.holder == "watch" and "x" not in drawn(view)
        refused = await stage.runtime.executor.execute(
            ToolCall(
                CallId("c1"),
                "terminal_operations.send_input",
                json.dumps({"session_id": opened.id, "input": "id\r", "timeout": 0.05}),
            ),
            opened.conversation or ConversationId(""),
        )
        assert not refused.finished.ok
        assert opened.turns.holder == "watch"
        await me.pilot.press("enter")
        await me.until(lambda: opened.turns.holder == "person")
        await me.until(lambda: border() == "you type · Ctrl+] twice hands back")
        opened.type(b"echo ty$((1+1))ed\r")
        await me.until(lambda: "ty2ed" in drawn(view) and opened.activity.state.name == "finished")
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: opened.turns.holder == "agent")
        assert opened.turns.handover is not None and "ty2ed" in opened.turns.handover.changed
        await me.pilot.press("f8")
        await me.until(lambda: opened.turns.holder == "person" and view.has_focus)
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: opened.turns.holder == "agent" and not view.has_focus)
        await me.pilot.press("f7")
        await me.until(lambda: opened.turns.holder == "watch")
        await me.pilot.press("f8")
        await me.until(lambda: opened.turns.holder == "person")


@pytest.mark.requirement("ui:terminal-tabs")
async def test_the_name_of_the_tab_on_show_can_be_read_with_the_keys_and_without(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        for theme in ("sam", "sam-light"):
            me.app.theme = theme
            for focused in (True, False):
                (view if focused else me.app.chat.prompt.area).focus()
                await me.until(lambda focused=focused: view.has_focus == focused)
                await me.pilot.pause()
                assert contrast(me) > 4.5, (theme, focused)


def contrast(me: Driver) -> float:
    """Of the name of the tab on show against its ground, as WCAG counts it."""
    panel = me.app.chat.terminals
    strips = me.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] # what is drawn
    row = strips[panel.region.y]
    segment = next(s for s in row if "shell" in s.text)
    assert segment.style is not None and segment.style.color and segment.style.bgcolor
    lights: list[float] = []
    for color in (segment.style.color, segment.style.bgcolor):
        parts = [part / 255 for part in color.get_truecolor()]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)
