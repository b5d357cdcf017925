"""Commands that the person sends to the background while a call waits for them."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sam_reminders.progress import BackgroundCommandsReminder
from sam_tui.adapters.terminal.commands.background import PortedCommands
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.prompt.reminders import TurnView
from tests.fakes.clocks import pass_time

ME = ConversationId("me")
OTHER = ConversationId("other")
DEADLINE = 90.0

Hand = Any
"""Calls operations as the executor would once the guard has allowed them: see conftest."""

pytestmark = pytest.mark.usefixtures("plain_shell")


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def begun(hand: Hand, command: str, **more: Any) -> asyncio.Task[Any]:
    """A call that waits for a command, which has printed something."""
    task = asyncio.get_running_loop().create_task(hand.call("run_command", command=command, **more))
    await until(lambda: hand.heard or task.done())
    return task


@pytest.mark.requirement("terminal:release")
async def test_a_released_command_goes_on_and_is_read_from_where_it_was(
    hand: Hand, background: PortedCommands
) -> None:
    (hand.workspace / "gate").touch()
    line = "echo one; while [ -e gate ]; do sleep 0.01; done; echo two; exit 3"
    task = await begun(hand, line)
    assert background.awaited(ME) == [line]
    assert background.awaited(OTHER) == background.release(OTHER) == []
    # What is waited for is no background command yet.
    assert (await hand.data("get_terminal_output"))["terminals"] == []
    assert background.release(ME) == [line]
    told = json.loads((await task).text)
    assert task.result().ok
    assert (told["output"], told["isRunning"], told["exitCode"]) == ("one\n", True, None)
    assert told["message"].startswith("The person moved this command to the background")
    assert background.awaited(ME) == []
    heard = list(hand.heard)
    (hand.workspace / "gate").unlink()
    name, index = told["terminalId"], told["end_index"]
    rest = await hand.data("get_terminal_output", id=name, from_index=index, wait=20)
    assert (rest["output"], rest["exitCode"], rest["isRunning"]) == ("two\n", 3, False)
    # The call that was over heard nothing more; the one that waited did.
    assert hand.heard[len(heard) :] == ["Waiting for its end\n", "two\n"]


@pytest.mark.requirement("terminal:release")
async def test_a_released_command_has_no_time_limit_any_longer(
    hand: Hand, background: PortedCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hand.workspace / "gate").touch()
    line = "echo on; while [ -e gate ]; do sleep 0.01; done; echo off"
    task = await begun(hand, line, timeout=DEADLINE)
    background.release(ME)
    told = json.loads((await task).text)
    pass_time(2 * DEADLINE, monkeypatch)
    waited = await hand.data("get_terminal_output", id=told["terminalId"], wait=0.1)
    assert waited["isRunning"]
    (hand.workspace / "gate").unlink()
    waited = await hand.data("get_terminal_output", id=told["terminalId"], wait=20)
    assert waited["state"] == "exited(0)"


@pytest.mark.requirement("terminal:release")
async def test_waiting_for_a_background_command_is_released_too(
    hand: Hand, background: PortedCommands
) -> None:
    made = await hand.data("run_command", command="sleep 300", isBackground=True)
    waiting = asyncio.get_running_loop().create_task(
        hand.data("get_terminal_output", id=made["terminalId"], wait=600)
    )
    await until(lambda: background.awaited(ME))
    assert background.release(ME) == ["sleep 300"]
    told = await waiting
    assert told["isRunning"]
    assert "does not want this call to wait" in told["message"]


@pytest.mark.requirement("terminal:release")
async def test_a_command_that_is_waited_for_is_told_whole_and_fails_as_before(
    hand: Hand, background: PortedCommands
) -> None:
    result = await hand.call("run_command", command="echo whole; exit 4")
    assert result.text == "whole\n[exit code 4]"
    with pytest.raises(ToolError, match="working directory does not exist"):
        gone = hand.context(working_directory=Path(hand.workspace / "gone"))
        await hand.call("run_command", gone, command="true", working_directory="gone")
    assert background.of(ME) == []


@pytest.mark.requirement("terminal:release")
async def test_cancelling_the_call_ends_the_command_and_releasing_it_does_not(
    hand: Hand, background: PortedCommands, lives: Callable[[int], bool]
) -> None:
    task = await begun(hand, "echo $$; exec sleep 300")
    pid = int("".join(hand.heard))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not lives(pid)
    hand.heard.clear()
    task = await begun(hand, "echo $$; exec sleep 300")
    pid = int("".join(hand.heard))
    background.release(ME)
    assert json.loads((await task).text)["isRunning"]
    assert not task.cancel()
    assert lives(pid)
    await background.close_all()
    assert not lives(pid)


@pytest.mark.requirement("terminal:release")
async def test_a_call_that_waits_learns_that_everything_was_ended(
    hand: Hand, background: PortedCommands, no_zombies: Callable[[], None]
) -> None:
    task = await begun(hand, "echo up; exec sleep 300")
    await background.close_all()
    with pytest.raises(ToolError, match="was ended"):
        await task
    no_zombies()


@pytest.mark.requirement("terminal:background-news")
async def test_an_end_is_news_until_the_agent_has_read_it(
    hand: Hand, background: PortedCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    reminder = BackgroundCommandsReminder(background.unread)
    view = TurnView(ME, (), (), 0.0)
    assert reminder.content(view) is None
    (hand.workspace / "gate").touch()
    line = "echo <one>; while [ -e gate ]; do sleep 0.01; done; exit 3"
    made = await hand.data(
        "run_command", command=line.replace("<one>", "'<one>'"), isBackground=True
    )
    assert reminder.content(view) is None
    with monkeypatch.context() as patient:
        patient.setattr("sam_tools.terminal_operations.commands._FIRST_LOOK", DEADLINE)
        await hand.data("run_command", command="exit 9", isBackground=True)
    name = made["terminalId"]
    (hand.workspace / "gate").unlink()
    found = background.find(name)
    assert found is not None
    await found.wait(within=DEADLINE)
    told = reminder.content(view)
    assert told is not None
    assert f"{name} (echo '‹one›'; while" in told
    assert re.search(r"exit code 3 after \d+ s", told)
    assert "exit 9" not in told  # its end was in the answer
    assert reminder.content(TurnView(OTHER, (), (), 0.0)) is None
    await hand.data("get_terminal_output", id=name)
    assert reminder.content(view) is None


@pytest.mark.requirement("terminal:left-running")
async def test_what_a_command_left_running_is_told_listed_and_ended_by_its_id(
    hand: Hand, lives: Callable[[int], bool]
) -> None:
    done = await hand.call("run_command", command="setsid sleep 300 > /dev/null 2>&1 & echo up")
    assert done.ok
    (left,) = done.data["left"]
    found = re.search(
        rf"left running: \w+ \(pid {left['pid']}\); get_terminal_output with id (\w+) and end",
        done.text,
    )
    assert found is not None, done.text
    (listed,) = (await hand.data("get_terminal_output"))["terminals"]
    assert (listed["terminalId"], listed["isRunning"]) == (found[1], False)
    assert [one["pid"] for one in listed["left"]] == [left["pid"]]
    ended = await hand.data("get_terminal_output", id=found[1], end=True)
    assert (ended["state"], "left" in ended) == ("exited(0)", False)
    assert not lives(left["pid"])
