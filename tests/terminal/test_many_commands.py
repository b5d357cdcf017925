"""Many commands in the background at once, held by no sandbox. Costs about 1.4 s of processor time."""

import asyncio
import os
from typing import Any

import pytest

from sam_tui.adapters.terminal.commands.background import PortedCommands
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.terminals import CommandRequest
from tests.sandbox.test_abandoned import ends

ME = ConversationId("me")
MANY, EVERY, HURRIED = 30, 10, 8


@pytest.mark.requirement(
    "terminal:background-ends", "terminal:background-list", "terminal:background-looks"
)
async def test_many_are_all_listed_end_each_by_itself_and_together_with_the_program(
    hand: Any, background: PortedCommands, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for confined in (True, False):  # what every command shares is open from the first one on
        await run("true", confined=confined)

    def request(number: int) -> CommandRequest:
        command = (
            f"sleep {600 + number} & exit 3"
            if number % EVERY == 0
            else f"exec sleep {600 + number}"
        )
        return CommandRequest(command, str(hand.workspace), False, (), 900, lambda _: None)

    ended: list[str] = []
    background.watch(lambda command: None if command.running else ended.append(command.command))
    before = len(os.listdir("/dev/fd"))
    all_of_them = [await background.start(ME, request(number)) for number in range(MANY)]
    assert [one.failure for one in all_of_them] == [""] * MANY
    first = all_of_them[1]
    await asyncio.gather(*(one.wait(within=60) for one in all_of_them[::EVERY]))
    listed = await hand.call("get_terminal_output")
    rows = listed.data["terminals"]
    assert [row["terminalId"] for row in rows] == [one.id for one in all_of_them]
    assert [row["exitCode"] for row in rows[::EVERY]] == [3] * 3
    assert len(listed.text) < 100_000
    await hand.call("get_terminal_output", id=first.id, end=True)
    assert not first.running
    # The second run ends alone, and not the twentieth and those behind it, whose numbers begin alike.
    assert [one for one in all_of_them if not one.running] == [
        *all_of_them[:2],
        *all_of_them[10::EVERY],
    ]
    pids = [one.pid or 0 for one in all_of_them]
    pids += [
        process.pid
        for one in all_of_them[::EVERY]
        if one.result and one.result.left
        for process in one.result.left.processes()
    ]
    assert len(pids) == MANY + 3
    looks = list[str]()
    listdir = os.listdir

    def looked(path: str = ".") -> list[str]:
        looks.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", looked)
    await background.close_all()
    assert 0 < looks.count("/proc") < MANY  # one for all who end together, not four for each
    monkeypatch.undo()
    assert [pid for pid in pids if not ends(pid, 20)] == []
    assert background.of(ME) == []
    assert ended == [one.command for one in (*all_of_them[::EVERY], first)]
    assert len(os.listdir("/dev/fd")) <= before + 1


@pytest.mark.requirement("terminal:background-looks")
async def test_who_is_hurried_kills_many_together_with_what_they_left_running(
    hand: Any, background: PortedCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = "trap '' TERM; sleep {0} & echo $!; "
    lines = [stubborn + "wait; sleep {0}"] * HURRIED + [stubborn + "exit 3"] * HURRIED
    started = [
        await background.start(
            ME,
            CommandRequest(
                line.format(700 + at), str(hand.workspace), False, (), 900, lambda _: None
            ),
        )
        for at, line in enumerate(lines)
    ]
    await asyncio.gather(*(one.wait(within=60) for one in started[HURRIED:]))
    for one in started[:HURRIED]:
        printed = asyncio.Event()
        waiting = asyncio.get_running_loop().create_task(one.wait(within=60, on_output=printed.set))
        await asyncio.sleep(0)
        if not one.output(0).text:
            await printed.wait()
        waiting.cancel()
    pids = [int(one.output(0).text) for one in started]
    looks = list[str]()
    listdir, begun = os.listdir, asyncio.Event()

    def looked(path: str = ".") -> list[str]:
        looks.append(path)
        begun.set()
        return listdir(path)

    monkeypatch.setattr(os, "listdir", looked)
    closing = asyncio.get_running_loop().create_task(background.close_all())
    await begun.wait()
    looks.clear()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert looks.count("/proc") < HURRIED
    monkeypatch.undo()
    assert [pid for pid in pids if not ends(pid, 20)] == []


@pytest.mark.requirement("terminal:background-ends")
async def test_what_another_command_started_is_not_left_running_by_one_that_ends(
    hand: Any, background: PortedCommands
) -> None:
    lines = ("until [ -e begun ]; do sleep 0.05; done", "sleep 600 & touch begun; wait")
    ends_soon, _ = [
        await background.start(
            ME, CommandRequest(line, str(hand.workspace), False, (), 900, lambda _: None)
        )
        for line in lines
    ]
    await ends_soon.wait(within=60)
    assert ends_soon.result is not None
    assert (ends_soon.result.exit_code, ends_soon.result.left) == (0, None)
