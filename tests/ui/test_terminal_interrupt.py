"""A Ctrl+C that is not heeded: TERM and KILL are offered, and the border tells how far it is."""

import pytest

from sam_tui.core.ports.processes.terminals import TerminalSession
from sam_tui.ui.widgets.terminal.repeated_keys import Interrupting
from sam_tui.ui.widgets.terminal.view import TerminalView
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD, drawn, in_shell

pytestmark = pytest.mark.usefixtures("side_column")

DEAF = "bash -c 'trap \"\" INT TERM; echo de''af; while :; do sleep 1; done'"


async def with_deaf_command(me: Driver) -> TerminalView:
    """A command that heeds neither INT nor TERM, in the shell, which has the keys."""
    view = await in_shell(me)
    assert view.session is not None
    session = view.session
    await me.until(lambda: session.activity.state.name == "finished")
    session.type(f"{DEAF}\r".encode())
    await me.until(lambda: "\ndeaf" in drawn(view))
    return view


@pytest.mark.requirement("ui:terminal-interrupt")
async def test_an_interrupt_that_is_not_heeded_is_followed_by_term_and_kill(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    put = Interrupting.put

    def heard(self: Interrupting, words: str, session: TerminalSession | None = None) -> None:
        said.append(words)
        put(self, words, session)

    monkeypatch.setattr(Interrupting, "put", heard)
    async with driven(app_over(stage)) as me:
        view = await with_deaf_command(me)
        session = view.session
        assert session is not None
        await me.pilot.press("ctrl+c")
        await me.until(lambda: view.label == "still running · Ctrl+C again: TERM, KILL")
        await me.pilot.press("ctrl+c")
        await me.until(lambda: session.activity.state.name == "finished")
        assert "ending it: asked to end (TERM)" in said
        assert "ending it: killed (KILL)" in said
        await me.until(lambda: view.label == "Ctrl+] twice leaves")
        assert session.running
        # A busy shell that has the terminal again is interrupted, too, and may note that as the exit code.
        after = said[said.index("ending it: killed (KILL)") :]
        late = "ending it: interrupted" in after
        assert session.commands[-1].exit_code in ((137, 130) if late else (137,))


@pytest.mark.requirement("ui:terminal-interrupt")
async def test_one_that_is_heeded_and_one_for_a_program_with_a_prompt_offer_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sam_tui.ui.widgets.terminal.repeated_keys._PATIENCE", 9000.0)
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        session = view.session
        assert session is not None
        await me.until(lambda: session.activity.state.name == "finished")
        session.type(b"python3 -q\r")
        await me.until(lambda: ">>>" in drawn(view) and session.activity.state.name == "waiting")
        await me.pilot.press("ctrl+c")
        await me.until(lambda: "KeyboardInterrupt" in drawn(view))
        await me.until(lambda: session.activity.state.name == "waiting")
        view.interrupting.look(session)
        assert view.label == "Ctrl+] twice leaves"
        await me.pilot.press("ctrl+c")
        await me.until(lambda: drawn(view).count("KeyboardInterrupt") == 2)
        assert session.activity.state.name != "finished"


@pytest.mark.requirement("ui:terminal-interrupt")
async def test_a_command_is_ended_from_the_prompt(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await with_deaf_command(me)
        session = view.session
        assert session is not None
        await me.pilot.press(*LEAVE_CHORD)
        await me.send("/end")
        await me.until(lambda: session.activity.state.name == "finished")
        await me.send("/end")
        await me.until(lambda: "No command runs in this terminal" in me.drawn())
