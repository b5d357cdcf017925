"""Agent terminals are held and ask as commands do."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.run import Wanted
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.processes.environment import session_environment
from sam_tui.adapters.terminal.pty.pty import Child, Pty, PtyLaunch
from sam_tui.core.ports.processes.sandbox import AskOutside, HostTerms, OutsideAccess, SandboxPlan
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.name_server import NameServer
from tests.sandbox.hosts_kit import PRELUDE, Answerer, Person

Type = Callable[[str, str], Awaitable[str]]

pytestmark = pytest.mark.confined("live")


class Terminal:
    """A shell on a pseudo-terminal in the sandbox, and all that it printed."""

    def __init__(self, sandbox: Sandbox, folder: Path, ask: AskOutside | None) -> None:
        self.text = ""
        self._heard = asyncio.Event()
        way = sandbox.ruleset(Wanted((str(folder),), ask))
        launch = PtyLaunch(
            argv=("/bin/sh",),
            cwd=str(folder),
            environment={**session_environment(sandbox.scratch, personal=False), "PS1": ""},
            columns=80,
            rows=24,
            ruleset=way,
        )
        self.pty = Pty(Child(launch), self._hear, lambda: None)

    def _hear(self, data: bytes) -> None:
        self.text += data.decode()
        self._heard.set()

    async def says(self, line: str, wanted: str) -> None:
        self.pty.write(f"{line}\n".encode())
        async with asyncio.timeout(90):
            while wanted not in self.text:
                self._heard.clear()
                await self._heard.wait()


@pytest.fixture
def asked() -> list[OutsideAccess]:
    return []


@pytest.fixture
async def terminal(
    sandbox: Sandbox, workspace: Path, asked: list[OutsideAccess]
) -> AsyncIterator[Terminal]:
    async def ask(access: OutsideAccess) -> bool:
        asked.append(access)
        return "new" in access.path

    made = Terminal(sandbox, workspace, ask)
    yield made
    await made.pty.close()


@pytest.mark.requirement("sandbox:terminals-held")
async def test_a_terminal_asks_at_the_system_call_and_goes_on(
    terminal: Terminal, outside: Path, asked: list[OutsideAccess]
) -> None:
    await terminal.says(f"echo x > {outside}/new; echo code:$?", "code:0")
    await terminal.says(f"chmod 600 {outside}/victim; echo code:$?", "code:1")
    assert [(a.kind, os.path.basename(a.path)) for a in asked] == [
        ("write", "new"),
        ("metadata", "victim"),
    ]
    assert (outside / "new").read_text() == "x\n"
    assert (outside / "victim").stat().st_mode & 0o777 != 0o600


@pytest.mark.requirement("sandbox:terminals-held")
async def test_a_terminal_is_its_own_and_no_door_to_others(terminal: Terminal) -> None:
    await terminal.says("echo he''re > $(tty); echo th''ere > /dev/tty; echo code:$?", "code:0")
    assert "here" in terminal.text
    assert "there" in terminal.text
    master, slave = os.openpty()
    try:
        await terminal.says(f"echo x > {os.ttyname(slave)}; echo other:$?", "other:")
        assert "other:0" not in terminal.text
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.requirement("sandbox:terminals-held")
async def test_nothing_of_the_sandbox_stays_open_in_a_terminal(terminal: Terminal) -> None:
    await terminal.says(
        "ls -l /proc/$$/fd | grep -c -e socket -e seccomp -e landlock; echo d''one", "done"
    )
    assert terminal.text.split("done")[0].splitlines()[-1] == "0"


@pytest.mark.requirement("sandbox:terminals-held")
async def test_ways_in_are_closed_once_they_were_used(sandbox: Sandbox, workspace: Path) -> None:
    before = 0
    for turn in range(4):
        made = Terminal(sandbox, workspace, None)
        await made.says("echo r''eady", "ready")
        await made.pty.close()
        sandbox.settle()
        if turn == 0:
            before = len(os.listdir("/proc/self/fd"))
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.requirement("sandbox:hosts")
async def test_a_terminal_is_held_to_hosts_as_commands_are(
    workspace: Path, server: Answerer, names: NameServer
) -> None:
    names.names["good.test"] = "127.0.0.1"
    (workspace / "attempt.py").write_text(
        PRELUDE + "for host in given[1:]: said(lambda: reach(host, int(given[0])))"
    )
    person = Person(says=False)
    hosts = HostTerms((("good.test",),), ("good.test",), (), (names.address,))
    box = Sandbox(SandboxPlan(network="hosts", hosts=hosts))
    made = Terminal(box, workspace, person)
    line = f"{BARE_PYTHON} -I attempt.py {server.port} good.test bad.test; echo d''one"
    await made.says(line, "done")
    assert made.text.split()[-3:] == ["hello", "PermissionError", "done"]
    assert person.hosts == [f"bad.test:{server.port}"]
    await made.pty.close()
    box.close()
