"""A command of the agent sent to the background with a key, asked about there, and brought back."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from textual import events

from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.core.messages import ToolMessage
from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.screens.dialogs import Picker
from sam_tui.ui.screens.reader import Reader
from sam_tui.ui.widgets.inquiries.question import ApprovalPanel
from tests.fakes.engine_kit import RawModel, calls
from tests.servers.conftest import RAW
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.terminals import drawn

LOOP = "echo begun; while [ -e gate ]; do sleep 0.01; done"


def command(line: str, **more: Any) -> dict[str, Any]:
    """A step that runs a command."""
    arguments = {"operation": "run_command", "command": line, **more}
    return {"calls": [{"name": "terminal_operations", "arguments": arguments}]}


def play(stage: Stage, *steps: dict[str, Any]) -> None:
    """Let the scripted model play."""
    stage.runtime.use_model(ScriptedModel(steps))


def results(me: Driver) -> list[str]:
    """What the model was told of its calls, oldest first."""
    session = me.bench.current.session
    assert session is not None and me.app.runtime is not None
    said = me.app.runtime.conversations.everything(session.conversation)
    return [message.text for message in said if isinstance(message, ToolMessage)]


async def waited_for(me: Driver, stage: Stage) -> None:
    """Wait until the agent waits for a command that has printed something."""

    def waits() -> bool:
        session = me.bench.current.session
        return session is not None and bool(stage.runtime.background.awaited(session.conversation))

    await me.until(lambda: waits() and "begun" in me.transcript())


@pytest.mark.requirement("ui:background")
async def test_a_command_goes_to_the_background_by_key_asks_there_and_is_brought_back(
    stage: Stage, tmp_path: Path
) -> None:
    if stage.runtime.commands.confinement.kind != "live":
        pytest.skip("the kernel offers no supervised sandbox")
    beside = tmp_path / "beside"
    beside.write_text("before")
    (stage.workspace / "gate").touch()
    play(
        stage,
        command(f"{LOOP}; echo after > {beside}; cat {beside}"),
        {"text": "It runs on."},
        {
            "calls": [
                {"name": "terminal_operations", "arguments": {"operation": "get_terminal_output"}}
            ]
        },
        {"text": "Here it is."},
    )
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("go")
        await waited_for(me, stage)
        await me.pilot.press("ctrl+b")
        await me.until(lambda: "It runs on." in me.transcript() and not me.bench.turns.running)
        told = json.loads(results(me)[0])
        assert told["message"].startswith("The person moved this command to the background")
        assert (told["output"], told["isRunning"]) == ("begun\n", True)
        assert me.app.chat.status.standing.beside == "1 in background"
        # What it wants outside is asked for live, long after its call returned.
        (stage.workspace / "gate").unlink()
        await me.until(lambda: me.app.chat.query(ApprovalPanel))
        panel = me.app.chat.query_one(ApprovalPanel)
        await me.until(lambda: panel.has_focus_within)
        await me.pilot.pause()
        await me.pilot.press("1")
        await me.until(lambda: "exit 0 after" in me.transcript())
        assert beside.read_text() == "after\n"
        assert me.app.chat.status.standing.beside == ""
        await me.send("what came of it?")
        await me.until(lambda: "Here it is." in me.transcript())
        (listed,) = json.loads(results(me)[1])["terminals"]
        assert (listed["terminalId"], listed["exitCode"]) == (told["terminalId"], 0)


@pytest.mark.requirement("ui:background")
async def test_background_commands_are_listed_read_and_ended_by_the_person(stage: Stage) -> None:
    (stage.workspace / "gate").touch()
    play(stage, command(LOOP), {"text": "It runs on."})
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/jobs")
        await me.until(lambda: isinstance(me.app.screen, Picker))
        await me.until(lambda: "Ctrl+B moves one there" in me.drawn())
        await me.pilot.press("escape")
        await me.send("go")
        await waited_for(me, stage)
        await me.send("/background")
        await me.until(lambda: "It runs on." in me.transcript())
        await choose(me, "running for", "enter")
        await me.until(lambda: isinstance(me.app.screen, Reader) and "begun" in me.drawn())
        await me.pilot.press("escape")
        await choose(me, "running for", "down", "enter")
        await me.until(lambda: "Wait for cmd_" in me.app.chat.prompt.area.text)
        me.app.chat.prompt.area.put("")
        await choose(me, "running for", "down", "down", "enter")
        await me.until(lambda: "ended on request" in me.transcript())
        assert (stage.workspace / "gate").exists()


@pytest.mark.requirement("ui:background")
async def test_the_bar_offers_the_background_once_a_command_takes_long(
    stage: Stage, model: RawModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stage.workspace / "gate").touch()
    play(stage, command(LOOP), {"text": "It runs on."})
    monkeypatch.setattr("sam_tui.ui.controllers.background._OFFERED_AFTER", 0.0)
    async with driven(app_over(stage), (120, 40)) as me:
        await me.ready()
        await me.pilot.press("ctrl+b")
        assert "Ctrl+B" not in me.drawn()
        await me.send("go")
        await waited_for(me, stage)
        await me.until(lambda: "Ctrl+B: background" in me.drawn())
        await me.pilot.press("ctrl+b")
        await me.until(lambda: "Ctrl+B: background" not in me.drawn())


async def choose(me: Driver, state: str, *keys: str) -> None:
    """Open the list, wait for a command in that state, open it, and press keys there."""
    await me.send("/jobs")
    await me.until(lambda: isinstance(me.app.screen, Picker) and state in me.drawn())
    listing = me.app.screen
    await me.pilot.press("enter")
    await me.until(lambda: me.app.screen is not listing and "Read its output" in me.drawn())
    await me.pilot.press(*keys)


@pytest.mark.requirement("ui:background")
async def test_a_subagents_command_goes_to_the_background_too(
    stage: Stage, model: RawModel
) -> None:
    (stage.workspace / "gate").touch()
    run = {"operation": "run_command", "command": LOOP}
    model.answers += [
        calls(("run_subagent", {"task": "run it", "enableTerminalAccess": True})),
        calls(("terminal_operations", run)),
        [TextDelta("it runs")],
        [TextDelta("so be it")],
    ]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("go")
        background = stage.runtime.background

        def waits() -> bool:
            return any(background.awaited(one) for one in stage.runtime.subagents.working)

        await me.until(waits)
        await me.pilot.press("ctrl+b")
        await me.until(lambda: "so be it" in me.transcript())
        assert "moved this command to the background" in str(model.seen[2][-1])


@pytest.mark.requirement("servers:plan-mode")
async def test_a_server_that_runs_when_plan_mode_begins_is_named(stage: Stage) -> None:
    settings = stage.workspace.parent / "settings"
    settings.mkdir(mode=0o700, exist_ok=True)
    server = {"command": sys.executable, "args": [str(RAW)]}
    (settings / "mcp.json").write_text(json.dumps({"mcpServers": {"one": server}}))
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.until(lambda: [r.standing for r in stage.runtime.servers.reports()] == ["ready"])
        await me.send("/mode plan")
        await me.until(lambda: "write to the workspace: MCP server one." in me.transcript())


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:watched-command")
async def test_a_running_command_is_watched_live_in_a_tab_without_its_secrets(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sam_tui.ui.controllers.terminals.commands.SOON", 0)
    secret = "hunter2-hunter2-hunter2"
    (stage.workspace / ".env").write_text(f"API_TOKEN={secret}\n")
    (stage.workspace / "seen").write_text(f"<{secret}>\n")
    (stage.workspace / "gate").touch()
    play(stage, command(f"cat seen; {LOOP}; echo ended"), command("echo next"), {"text": "Done."})
    async with driven(app_over(stage)) as me:
        await me.ready()
        panel = me.app.chat.terminals
        await me.send("go")
        await waited_for(me, stage)
        await me.until(lambda: "begun" in drawn(panel.current))
        view = panel.current
        assert "<" in drawn(view) and secret not in drawn(view)
        assert "runs, read only" in str(panel.border_subtitle)
        await me.pilot.press("ctrl+right_square_bracket")
        await me.until(lambda: view.has_focus)
        await me.pilot.press("enter")
        assert view.has_focus
        await me.pilot.press("x")
        assert me.app.chat.prompt.area.text == "x", "nothing typed is lost"
        await me.pilot.press("backspace", "ctrl+right_square_bracket")
        await me.until(lambda: view.has_focus)
        me.app.post_message(events.Paste("two\nlines"))
        await me.until(lambda: me.app.chat.prompt.area.text == "two\nlines")
        me.app.chat.prompt.area.put("")
        await me.pilot.press("ctrl+right_square_bracket")
        await me.until(lambda: view.has_focus)
        (stage.workspace / "gate").unlink()
        await me.until(lambda: "Done." in me.transcript())
        # The person is in it, so it stays as it ended; the next command has a tab of its own.
        assert "ended" in drawn(view) and "ended" in str(panel.border_subtitle)
        await me.until(lambda: len(panel.tabs) == 3)
        assert "next" not in drawn(view)
        await me.pilot.press("alt+w")
        await me.until(lambda: len(panel.tabs) == 2)
        me.bench.perform("new")
        await me.until(lambda: len(panel.tabs) == 1)


@pytest.mark.requirement("ui:cancel")
async def test_three_ctrl_c_quit_while_commands_that_ignore_term_are_being_ended(
    stage: Stage,
) -> None:
    stubborn = f"trap '' TERM INT HUP; {LOOP}"
    (stage.workspace / "gate").touch()
    background = [command(stubborn, isBackground=True)["calls"][0] for _ in range(6)]
    play(stage, {"calls": background}, command(stubborn))
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("go")
        await waited_for(me, stage)
        session = me.bench.current.session
        assert session is not None
        conversation = session.conversation
        for _ in range(3):  # at once: pilot would wait until the turn has ended
            me.app.post_message(events.Key("ctrl+c", None))
        await me.until(lambda: me.app._exit)  # pyright: ignore[reportPrivateUsage]
    assert all(run.result for run in stage.runtime.background.of(conversation))
