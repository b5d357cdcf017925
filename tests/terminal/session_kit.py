"""What tests of terminal sessions share: whose they are, and waiting for their end."""

import asyncio
import os
import shutil
import signal
import subprocess
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.holders.client import Holders
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from tests.fakes.preloaded import SCRIPT

Until = Callable[[TerminalSession, str], Awaitable[str]]

ME = ConversationId("me")
ONE = ConversationId("one")
TWO = ConversationId("two")
DEADLINE = 90.0
SHELLS = [
    pytest.param(
        shell,
        marks=pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed"),
    )
    for shell in ("bash", "zsh", "fish")
]
"""Those of which sam-tui knows the marks, where they are installed."""


async def ended(session: TerminalSession) -> None:
    """Wait for its end."""
    over = asyncio.Event()

    def look() -> None:
        if not session.running:
            over.set()

    stop = session.watch(look)
    look()
    await asyncio.wait_for(over.wait(), DEADLINE)
    stop()


async def shown(session: TerminalSession, wanted: str) -> None:
    """Wait until the screen shows a text."""
    changed = asyncio.Event()
    stop = session.watch(changed.set)
    try:
        async with asyncio.timeout(DEADLINE):
            while wanted not in session.screen.text():
                changed.clear()
                await changed.wait()
    finally:
        stop()


async def gone(holders: Holders) -> None:
    """Wait until no holder is left."""
    async with asyncio.timeout(DEADLINE):
        while await holders.sessions():
            pass


def confined(workspace: Path, **more: object) -> SessionSpec:
    """A session that may write to the workspace alone."""
    return SessionSpec(ME, str(workspace), confined=True, writable=(str(workspace),), **more)  # pyright: ignore[reportArgumentType]


async def crashed(
    holders_folder: Path,
    workspace: Path,
    command: str,
    typed: str | None = None,
    *,
    shell: str = "/bin/bash",
) -> str:
    """Run a program that opens a session, types a command, and is killed; returns the session's id.

    The command prints ``heard-before``; without one the program is killed at once. What the person
    ``typed`` comes after it.
    """
    script = """
        import asyncio, os, signal, sys
        from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
        from sam_tui.adapters.terminal.holders.client import Holders
        from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
        from sam_tui.core.ports.processes.terminals import SessionSpec
        async def main():
            terminals = PtyTerminals(Sandbox(), Holders(sys.argv[1]))
            where = sys.argv[2]
            spec = SessionSpec("me", where, confined=True, writable=(where,))
            session, made = await terminals.open(spec)
            assert made
            if not sys.argv[3]:
                os.kill(os.getpid(), signal.SIGKILL)
            await session.activity.settled(within=90)
            session.write(sys.argv[3].encode() + b"\\r")
            while "heard-before" not in session.output(0).text.replace(sys.argv[3], ""):
                await session.activity.quiet(silence=0.05, within=90)
            for typed in sys.argv[4:]:
                session.type(typed.encode())
            print(session.id, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
    """
    argv = [*SCRIPT, textwrap.dedent(script), str(holders_folder), str(workspace)]
    more = () if typed is None else (typed,)
    process = await asyncio.create_subprocess_exec(
        *argv, command, *more, stdout=subprocess.PIPE, env={**os.environ, "SHELL": shell}
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == -signal.SIGKILL
    return out.decode().strip()
