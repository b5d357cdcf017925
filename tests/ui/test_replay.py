"""Recordings made by key, and played in a tab of their own that keeps what they print to itself."""

import json
from pathlib import Path

import pytest
from textual import events

from sam_tui.ui.screens.dialogs import Picker
from sam_tui.ui.widgets.inquiries.question import InquiryPanel
from sam_tui.ui.widgets.terminal.replay import ReplayView, clock
from tests.ui.driver import Driver, Heard, Stage, app_over, driven
from tests.ui.terminals import drag, drawn, in_shell, mouse, type_line

pytestmark = pytest.mark.usefixtures("side_column")

HOSTILE = (
    "\x1b]52;c;ZXZpbA==\x07\x1b]2;pwned\x07\x07\x1b]8;;file:///etc/passwd\x07click\x1b]8;;\x07 me"
)


def cast(path: Path, *printed: tuple[float, str], size: tuple[int, int] = (40, 6)) -> Path:
    """A recording on disk."""
    lines = [json.dumps({"version": 2, "width": size[0], "height": size[1]})]
    lines += [json.dumps([at, "o", text]) for at, text in printed]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def told(me: Driver) -> str:
    """What was said in passing."""
    return "\n".join(n.message for n in me.app._notifications)  # pyright: ignore[reportPrivateUsage] # no other way to see them


async def played(me: Driver, given: str) -> ReplayView:
    """Play a recording; its tab has the keys."""
    await me.send(f"/replay {given}".strip())
    panel = me.app.chat.terminals
    await me.until(lambda: isinstance(panel.current, ReplayView) and panel.current.has_focus)
    view = panel.current
    assert isinstance(view, ReplayView)
    return view


@pytest.mark.requirement("ui:replay")
async def test_a_terminal_is_recorded_by_key_and_played_from_the_list(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        shell = await in_shell(me)
        await me.pilot.press("ctrl+right_square_bracket", "ctrl+right_square_bracket")
        await me.pilot.press("alt+r")
        await me.until(lambda: "● rec" in str(me.app.chat.terminals.border_subtitle))
        assert shell.session is not None
        shell.session.type(b"echo rec$((1+1))rec\r")
        await me.until(lambda: "rec2rec" in drawn(shell))
        await me.pilot.press("alt+r")
        await me.until(lambda: "● rec" not in str(me.app.chat.terminals.border_subtitle))
        await me.send("/replay")
        await me.until(lambda: isinstance(me.app.screen, Picker) and "terminal-" in me.drawn())
        await me.pilot.press("enter")
        panel = me.app.chat.terminals
        await me.until(lambda: isinstance(panel.current, ReplayView))
        view = panel.current
        await me.until(lambda: "rec2rec" in drawn(view))
        assert "replay: terminal-" in str(panel.border_title)


@pytest.mark.requirement("ui:replay")
async def test_a_recording_is_paused_sought_sped_up_and_closed_by_key(stage: Stage) -> None:
    pauses = [(900.0 * n, "") for n in range(1, 101)]  # 2 s each: it does not end meanwhile
    rest = [(91_000.0, "\r\nsecond"), (92_000.0, "\r\nthird")]
    cast(stage.workspace / "one.cast", (0.0, "first"), *pauses, *rest)
    async with driven(app_over(stage)) as me:
        await me.ready()
        view = await played(me, "one.cast")
        await me.until(lambda: "first" in drawn(view))
        await me.until(lambda: "/3:24" in view.label)
        await me.pilot.press("space")
        await me.until(lambda: view.label.startswith("‖"))
        await me.pilot.press("end")
        await me.until(lambda: "third" in drawn(view) and "3:24/3:24" in view.label)
        await me.pilot.press("0")
        await me.until(lambda: "second" not in drawn(view) and "first" in drawn(view))
        await me.pilot.press("plus")
        await me.until(lambda: "×2" in view.label)
        await me.pilot.press("minus", "minus")
        await me.until(lambda: "×0.5" in view.label)
        await me.pilot.press("f5", "escape")
        assert view.is_attached
        await me.pilot.press("q")
        await me.until(lambda: not view.is_attached)
        assert me.app.chat.terminals.current is me.app.chat.terminals.shell


@pytest.mark.requirement("terminal:replay-hostile")
async def test_a_hostile_recording_reaches_nothing_around_it(stage: Stage) -> None:
    cast(stage.workspace / "evil.cast", (0.0, HOSTILE), (0.0, "\x1b[?1003h\x1b[?2004h"))
    app = app_over(stage, Heard)
    assert isinstance(app, Heard)
    async with driven(app) as me:
        await me.ready()
        view = await played(me, "evil.cast")
        await me.until(lambda: "click me" in drawn(view))
        mouse(events.MouseMove, view, 1, 0)
        mouse(events.MouseDown, view, 1, 0, 1, held="ctrl")
        mouse(events.MouseUp, view, 1, 0, 1, held="ctrl")
        await me.pilot.press("x", "f5", "g", "enter", "escape")
        await me.pilot.pause()
        assert app.rung == 0
        assert not any("]52" in sent or "pwned" in sent for sent in app.sent)
        assert not me.app.screen.query(InquiryPanel)
        assert "Ctrl+click" not in view.label
        # What the person marks there is theirs to copy.
        await drag(me, view, (0, 0), (4, 0))
        await me.until(lambda: app.clipboard == "click")


@pytest.mark.requirement("ui:replay")
async def test_what_is_larger_than_the_tab_is_drawn_around_its_cursor(stage: Stage) -> None:
    cast(stage.workspace / "big.cast", (0.0, "\x1b[60;190Hcorner"), size=(200, 70))
    async with driven(app_over(stage)) as me:
        await me.ready()
        view = await played(me, "big.cast")
        await me.until(lambda: "corner" in drawn(view))
        assert max(map(len, drawn(view).splitlines())) <= view.size.width
        await me.pilot.press("0")
        await me.until(lambda: "corner" in drawn(view))


@pytest.mark.requirement("ui:replay")
async def test_what_cannot_be_played_is_said_and_a_copy_without_secrets_is_written(
    stage: Stage,
) -> None:
    (stage.workspace / "text.cast").write_text("hello\n")
    (stage.workspace / ".env").write_text("TOKEN=sesame-open-1234\n")
    cast(stage.workspace / "ok.cast", (0.0, "sesame-open-1234\r\n"))
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/replay text.cast")
        await me.until(lambda: "not an asciicast" in told(me))
        await played(me, "ok.cast")
        await me.pilot.press("e")
        copy = stage.workspace / "ok.masked.cast"
        await me.until(lambda: copy.exists() and "1 secret masked" in told(me))
        assert "sesame" not in copy.read_text()


@pytest.mark.requirement("ui:terminal-zoom")
@pytest.mark.parametrize("size", [(120, 30), (80, 24)])
async def test_the_terminal_is_zoomed_and_back_by_one_key_from_the_prompt(
    stage: Stage, size: tuple[int, int]
) -> None:
    async with driven(app_over(stage), size) as me:
        await me.ready()
        await me.pilot.press("f6")
        view = me.app.chat.terminals.shell
        await me.until(lambda: view.has_focus and view.size.width == size[0] - 2)
        await me.until(lambda: view.session is not None and drawn(view).strip())
        assert not me.app.chat.todos.display or not me.app.chat.todos.size
        await type_line(me, "echo z$((1+1))z")
        await me.until(lambda: "z2z" in drawn(view))
        await me.pilot.press("ctrl+right_square_bracket", "ctrl+right_square_bracket")
        await me.until(lambda: me.app.chat.prompt.area.has_focus)
        await me.pilot.press("f6")
        await me.until(lambda: me.app.chat.transcript.size.width > 0)
        assert me.app.chat.side_shown == (size[0] >= 100)


@pytest.mark.requirement("ui:replay")
def test_times_are_told_as_players_tell_them() -> None:
    assert [clock(s) for s in (0, 9.9, 61, 3600, 36_061)] == [
        "0:00",
        "0:09",
        "1:01",
        "1:00:00",
        "10:01:01",
    ]
