import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.pty.pty import Child, Pty, PtyLaunch
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ports.processes.terminals import SessionSpec
from tests.terminal.session_kit import ONE, Until

COUNTING = """
import select, sys, termios
modes = termios.tcgetattr(0)
modes[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, modes)
number = 0
while not select.select([0], [], [], 0)[0]:
    sys.stdout.write("".join(f"{number + step}\\n" for step in range(20_000)))
    sys.stdout.flush()
    number += 20_000
said = input()
print("end", input() if said == "wait" else said)
raise SystemExit(7)
"""
"""Prints numbers until it is told a word, which it repeats; told to wait, it does so for another."""
MOST_AFTER_INTERRUPT = 1_000_000
"""Characters of a flood until the prompt: what waits is bounded, so the prompt is soon there."""
MOST_AT_ONCE = 128 * 1024
"""Bytes that are heard in one turn of the loop: a key needs several turns on its way."""
ASKED: contextvars.ContextVar[str] = contextvars.ContextVar("asked")


class Counting:
    """A program that floods its terminal, and what was heard of it."""

    def __init__(self, workspace: Path) -> None:
        self.heard = bytearray()
        self.largest = 0
        self.contexts: set[str] = set()
        self.over = asyncio.Event()
        self._changed = asyncio.Event()
        argv = (sys.executable, "-I", "-S", "-c", COUNTING)
        self.child = Child(PtyLaunch(argv, str(workspace), {}, 80, 24, None))
        self.pty = Pty(self.child, self._hear, self.over.set)

    def _hear(self, data: bytes) -> None:
        self.heard += data
        self.largest = max(self.largest, len(data))
        self.contexts.add(ASKED.get(""))
        self._changed.set()

    async def until(self, told: Callable[[], object]) -> None:
        """Wait until something is so that output brings about."""
        async with asyncio.timeout(60):
            while not told():
                self._changed.clear()
                await self._changed.wait()

    async def flooded(self) -> None:
        """Wait until a thread reads, and has read a while."""
        await self.until(floods)
        self.largest = 0
        enough = len(self.heard) + 2_000_000
        await self.until(lambda: len(self.heard) >= enough)

    def whole(self, end: bytes) -> bool:
        """Whether all numbers were heard, in order, and then how it ended."""
        lines = bytes(self.heard).split(b"\r\n")
        return lines == [*(b"%d" % number for number in range(len(lines) - 2)), end, b""]


def floods() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "terminal-flood"]


@pytest.mark.requirement("terminal:drain")
async def test_a_flood_arrives_whole_and_in_order_to_the_last_byte_before_the_end(
    workspace: Path,
) -> None:
    ASKED.set("here")
    counting = Counting(workspace)
    await counting.flooded()
    assert counting.largest < MOST_AT_ONCE
    counting.pty.write(b"word\r")
    await asyncio.wait_for(counting.over.wait(), 60)
    assert counting.whole(b"end word")
    assert counting.contexts == {"here"}
    assert counting.pty.exit_code == 7
    assert not floods()


@pytest.mark.requirement("terminal:drain")
async def test_a_program_left_amid_a_flood_goes_on_where_its_last_reader_stopped(
    workspace: Path,
) -> None:
    counting = Counting(workspace)
    await counting.flooded()
    counting.pty.leave()
    assert not floods()
    os.set_blocking(counting.child.fd, True)
    os.write(counting.child.fd, b"word\r")
    with suppress(OSError):
        while data := os.read(counting.child.fd, 65536):
            counting.heard += data
    assert counting.whole(b"end word")
    await asyncio.to_thread(os.waitid, os.P_PID, counting.child.pid, os.WEXITED | os.WNOWAIT)
    assert counting.child.reap() == 7


@pytest.mark.requirement("terminal:drain")
async def test_a_flood_that_goes_quiet_leaves_its_thread_and_the_loop_reads_on(
    workspace: Path,
) -> None:
    counting = Counting(workspace)
    await counting.flooded()
    counting.pty.write(b"wait\r")
    async with asyncio.timeout(60):
        while threads := floods():
            await asyncio.to_thread(threads[0].join, 60)
    counting.pty.write(b"word\r")
    await asyncio.wait_for(counting.over.wait(), 60)
    assert counting.whole(b"end word")


@pytest.mark.requirement("terminal:drain")
@pytest.mark.usefixtures("plain_shell")
async def test_a_flood_is_interrupted_by_a_key_again_and_again(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    for number in range(3):
        printed = asyncio.Event()
        stop = session.watch(printed.set)
        session.write(b"yes flood\r")
        async with asyncio.timeout(60):
            while not floods():
                printed.clear()
                await printed.wait()
        stop()
        pressed = session.end
        session.write(b"\x03")
        await session.activity.settled(within=90)
        assert session.end - pressed < MOST_AFTER_INTERRUPT
        session.write(b"echo here $((6 * 7 + %d))\r" % number)
        await until(session, f"here {42 + number}")
    await terminals.close(session.id)
    assert not floods()
