"""``!command``: run in the person's shell, the output offered. Costs one app with one shell."""

import pytest

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui import slash
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Stage, app_over, driven

pytestmark = pytest.mark.usefixtures("side_column")


@pytest.mark.requirement("ui:shell-escape")
async def test_a_command_runs_in_the_shell_beside_and_its_output_goes_along_with_the_next_prompt(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append([TextDelta("seen")])
    # Narrow: the shell is not on show, and opens with the first command.
    async with driven(app_over(stage), size=(80, 24)) as me:
        await me.ready()
        area, chat = me.app.chat.prompt.area, me.app.chat
        await me.send("!printf 'a\\nb``` %s\\n' $((40+2)); export WORD=kept; false")
        await me.until(lambda: "[output 2 lines]" in area.text)
        assert ": printf" in me.transcript() and "b``` 42" in me.transcript()
        assert not chat.side_shown and not model.seen
        await me.type("why?")
        await me.pilot.press("enter")
        await me.until(lambda: "seen" in me.transcript())
        [sent] = [m.text for m in model.seen[0] if m.kind == "user"]
        assert sent.startswith("````\n$ printf") and "\na\nb``` 42\n" in sent
        assert sent.endswith("(exit 1)\n````\n why?")
        # The same shell goes on; a command that is being written is not disturbed.
        await me.send("!echo $WORD-$((6*7))")
        area.put("/mod")
        await me.until(lambda: "kept-42" in me.transcript())
        assert area.text == "/mod"
        assert me.app.runtime and len(me.app.runtime.terminals.of(None)) == 1
        area.put("")
        # Busy: nothing is typed into what runs, and the line is not lost.
        session = chat.terminals.shell.session
        assert session is not None
        session.type(b"cat\r")
        await me.until(lambda: session.activity.state.name == "waiting")
        await me.send("!echo never")
        await me.until(lambda: area.text == "!echo never")
    for text in ("!ls\nrm x", "no !ls", " !ls"):
        assert slash.parse(text) is None
