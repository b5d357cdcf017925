"""What the person's own shell files want outside is nobody's question."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.holders.client import Holders
from sam_tui.adapters.terminal.sessions.pty_session import PtySession
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import SessionSpec

pytestmark = pytest.mark.confined("live")


@pytest.fixture(params=["kept", "plain"])
async def opened(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[PtyTerminals]:
    """Terminals of a person whose shell writes into their home when it starts."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("echo cache > ~/cache; for n in 1 2 3; do mktemp -p ~; done\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")
    sandbox = Sandbox()
    holders = Holders(str(tmp_path / "held")) if request.param == "kept" else None
    terminals = PtyTerminals(sandbox, holders)
    yield terminals
    for session in terminals.of(ConversationId("one")):
        await terminals.close(session.id)
    await terminals.close_all()
    sandbox.close()


@pytest.mark.requirement("terminal:start-asks-nothing")
async def test_a_starting_shell_is_refused_in_silence_and_asked_about_from_its_first_prompt_on(
    opened: PtyTerminals, tmp_path: Path
) -> None:
    asked: list[str] = []
    wanted = asyncio.Event()

    async def consent(access: OutsideAccess) -> bool:
        asked.append(access.path)
        wanted.set()
        return True

    workspace = tmp_path / "workspace"
    workspace.mkdir()
    spec = SessionSpec(
        ConversationId("one"),
        str(workspace),
        confined=True,
        writable=(str(workspace),),
        ask=consent,
    )
    session, _ = await opened.open(spec)
    assert isinstance(session, PtySession)
    async with asyncio.timeout(90):
        told = asyncio.Event()
        session.watch(told.set)
        while session.starts:
            told.clear()
            await told.wait()
        session.write(f"echo x > {tmp_path}/home/mine\r".encode())
        await wanted.wait()
    assert asked == [f"{tmp_path}/home/mine"]
    assert not (tmp_path / "home/cache").exists()
