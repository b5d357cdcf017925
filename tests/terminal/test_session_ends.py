import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sessions.pty_session import PtySession
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.terminals import SessionSpec
from tests.terminal.session_kit import ONE, TWO, Until, ended

pytestmark = pytest.mark.usefixtures("plain_shell")


@pytest.mark.requirement("terminal:session-closes")
async def test_closing_ends_foreground_and_stubborn_background_jobs(
    terminals: PtyTerminals, workspace: Path, until: Until, lives: Callable[[int], bool]
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    session.write(b"(trap '' HUP TERM; echo a=$BASHPID.; while :; do sleep 9; done) &\r")
    await until(session, ".\r\n")
    session.write(b"bash -c 'trap \"\" HUP; echo b=$$.; sleep 100'\r")
    async with asyncio.timeout(90):
        while len(found := re.findall(r"[ab]=(\d+)\.", session.output(0).text)) < 2:
            await session.activity.quiet(silence=0.05, within=1)
    pids = [int(pid) for pid in found]
    assert len(pids) == 2
    assert all(map(lives, pids))
    await terminals.close(session.id)
    assert not any(map(lives, pids))
    assert not session.running
    assert terminals.find(session.id) is None
    await terminals.close(session.id)


@pytest.mark.requirement("terminal:nothing-leaks")
async def test_many_sessions_leave_no_descriptor_and_no_zombie(
    terminals: PtyTerminals,
    workspace: Path,
    descriptors: Callable[[], int],
    no_zombies: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = str(workspace)

    async def one(number: int) -> None:
        # Most are a tiny program that ends by itself; what is closed gets signals.
        closed = number % 5 == 0
        monkeypatch.setenv("SHELL", "/bin/sh" if closed else "/bin/true")
        spec = SessionSpec(
            ConversationId(str(number)), folder, confined=number % 10 == 0, writable=(folder,)
        )
        session, made = await terminals.open(spec)
        assert made
        if not closed:
            await ended(session)
        await terminals.close(session.id)

    before = 0
    for batch in range(3):
        await asyncio.gather(*(one(batch * 10 + number) for number in range(10)))
        before = before or descriptors()
    assert descriptors() == before
    no_zombies()


@pytest.mark.requirement("terminal:session-signals")
@pytest.mark.parametrize(
    ("ignored", "killer"), [("", "HUP"), ("HUP", "TERM"), ("HUP TERM", "KILL")]
)
async def test_each_group_of_a_session_gets_as_strong_a_signal_as_it_takes(
    terminals: PtyTerminals,
    workspace: Path,
    until: Until,
    lives: Callable[[int], bool],
    ignored: str,
    killer: str,
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    told = [name for name in ("HUP", "TERM") if name not in ignored]
    traps = "".join(f"trap 'echo {name} >> got$1; exit' {name}; " for name in told)
    traps += f"trap '' {ignored}; " if ignored else ""
    (workspace / "job").write_text(f"{traps}echo up=$$.; while :; do sleep 0.05; done\n")
    session.write(b"bash job 1 &\r")
    await until(session, ".\r\n")
    session.write(b"set -m; (bash job 2; true) | cat\r")
    async with asyncio.timeout(90):
        while len(found := re.findall(r"up=(\d+)\.", session.output(0).text)) < 2:
            await session.activity.quiet(silence=0.05, within=1)
    await terminals.close(session.id)
    assert not any(lives(int(pid)) for pid in found)
    for name in ("got1", "got2"):
        heard = (workspace / name).read_text().split() if (workspace / name).exists() else []
        # More than once where the leader's end and ours both tell it.
        assert set(heard) == (set() if killer == "KILL" else {killer})


@pytest.mark.requirement("terminal:session-closes")
async def test_closing_all_ends_every_session(terminals: PtyTerminals, workspace: Path) -> None:
    sessions = [
        (await terminals.open(SessionSpec(owner, str(workspace))))[0] for owner in (ONE, TWO, None)
    ]
    await terminals.close_all()
    assert not any(session.running for session in sessions)
    assert not any(terminals.find(session.id) for session in sessions)


@pytest.mark.requirement("terminal:job-control")
async def test_a_command_is_sent_to_the_background_and_brought_back_by_either_hand(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    session.write(b"cat\r")
    await until(session, "cat\r\n")
    assert (await session.activity.settled(within=90)).name == "waiting"
    session.write(b"\x1a")
    await until(session, "Stopped")
    assert (await session.activity.settled(within=90)).name == "finished"
    session.write(b"fg\r")
    await until(session, "fg\r\ncat\r\n")
    assert (await session.activity.settled(within=90)).name == "waiting"
    session.type(b"\x1a")
    assert (await session.activity.settled(within=90)).name == "finished"
    session.turns.pass_to("agent")
    session.write(b"fg >/dev/null\r")
    await until(session, "fg >/dev/null\r\n")
    assert (await session.activity.settled(within=90)).name == "waiting"
    assert (await session.activity.end_command()).name == "finished"


@pytest.mark.requirement("terminal:job-control")
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
async def test_a_stopped_program_waits_for_no_keys_until_its_shell_takes_over(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    assert isinstance(session, PtySession)
    await until(session, "ready>")
    session.write(b"cat\r")
    await until(session, "cat\r\n")
    assert (await session.activity.settled(within=90)).name == "waiting"
    os.kill(session.pid, signal.SIGSTOP)
    session.write(b"\x1a")
    await until(session, "^Z")
    assert (await session.activity.settled(within=0.3)).name != "waiting"
    os.kill(session.pid, signal.SIGCONT)
    assert (await session.activity.settled(within=90)).name == "finished"
    assert "Stopped" in session.output(0).text
