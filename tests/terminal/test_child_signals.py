"""Whatever sam-tui starts begins with default signals, however sam-tui was started itself."""

import asyncio
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.terminal.holders.client import Holders
from tests.fakes.preloaded import SCRIPT
from tests.hooks.conftest import write

SECONDS = 60
BURDENED = """
import os, signal, sys
for name in ("HUP", "INT", "QUIT", "USR2", "PIPE"):
    signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
from sam_tui.__main__ import main
sys.exit(main())
"""
"""Starts the program as ``nohup``, ``&`` and careless programs do."""
LOOK = "grep -E '^Sig(Ign|Blk)' /proc/self/status >> '{}'"
SEEN = re.compile(r"(SigBlk:\t[0-9a-f]+\nSigIgn:\t[0-9a-f]+\n)+")
OF_THE_C_LIBRARY = 1 << 31 | 1 << 32
"""Signals 32 and 33: glibc lets no program change them, and some machines start all with them ignored."""


def call(tool: str, operation: str, **arguments: Any) -> dict[str, Any]:
    """One step of the model."""
    return {"calls": [{"name": tool, "arguments": {"operation": operation, **arguments}}]}


def prepare(folder: Path) -> dict[str, str]:
    """A workspace, a model that starts programs, a hook and a server; the environment for it."""
    settings, workspace = folder / "cfg", folder / "ws"
    settings.mkdir()
    workspace.mkdir()
    terminal = "terminal_operations"
    task = {"label": "look", "type": "shell", "command": LOOK.format("task")}
    steps = [
        call(terminal, "run_command", command=LOOK.format("command")),
        call(terminal, "create_session"),
        call("build_and_version_control", "create_and_run_task", task=task),
        {"text": "All were started."},
    ]
    (folder / "script.json").write_text(json.dumps(steps))
    write(settings / "hooks.json", "PreToolUse", [LOOK.format(workspace / "hook")])
    server = {"command": "/bin/sh", "args": ["-c", LOOK.format(workspace / "server")]}
    (settings / "mcp.json").write_text(json.dumps({"mcpServers": {"one": server}}))
    # A shell of the agent's has a name that no script knows: it is looked at as it starts.
    (folder / ".bashrc").write_text(f"{LOOK.format(workspace / 'session')}\n")
    editor = folder / "editor"
    editor.write_text(f"#!/bin/sh\n{LOOK.format(workspace / 'editor')}\n")
    editor.chmod(0o700)
    return {
        **os.environ,
        "SAM_TUI_CONFIG_DIR": str(settings),
        "EDITOR": str(editor),
        "HOME": str(folder),
        "SHELL": "/bin/bash",
    }


def words(folder: Path, *command: str) -> list[str]:
    """The program over the folder."""
    place = ["-C", str(folder / "ws"), "--data-dir", str(folder / "data")]
    model = ["--model", f"scripted:{folder / 'script.json'}", "--permission-mode", "auto"]
    return [*SCRIPT, BURDENED, *command, *place, *model, "go"]


def began_with_defaults(folder: Path, *kinds: str) -> None:
    """Each kind of program was started, and had nothing ignored or blocked."""
    for kind in kinds:
        text = (folder / "ws" / kind).read_text()
        assert SEEN.fullmatch(text), (kind, text)
        seen = [int(word, 16) & ~OF_THE_C_LIBRARY for word in re.findall(r"\t(\w+)", text)]
        assert not any(seen), (kind, text)


@pytest.mark.requirement("terminal:child-signals")
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_a_headless_run_starts_ignores_and_blocks_no_signal(tmp_path: Path) -> None:
    ended = subprocess.run(
        words(tmp_path, "run"),
        env=prepare(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    began_with_defaults(tmp_path, "command", "session", "task", "hook", "server")


@pytest.mark.requirement("terminal:child-signals")
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_the_workbench_starts_ignores_and_blocks_no_signal(tmp_path: Path) -> None:
    environment = {**prepare(tmp_path), "TERM": "xterm-256color"}
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (30, 110))
    program = subprocess.Popen(
        words(tmp_path),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""

    def sees(text: bytes) -> None:
        nonlocal seen
        while text not in seen:
            assert select.select([ours], [], [], SECONDS)[0], seen[-2000:]
            seen += os.read(ours, 65536)
        seen = seen.partition(text)[2]

    try:
        sees(b"All were started.")
        os.write(ours, b"\x07")  # Ctrl+G: the editor
        sees(b"\x1b[?1049h")
        os.write(ours, b"\x1bt")  # Alt+T: a shell; Ctrl+] leads to the agent's, which is in front
        sees(b"twice leaves")
        os.write(ours, f"{LOOK.format('shell')}; echo do''ne\r".encode())
        sees(b"done")
        began_with_defaults(tmp_path, "session", "editor", "shell")
        assert (tmp_path / "ws/session").read_text().count("SigIgn") == 2  # the agent's, and mine
    finally:
        os.write(ours, b"\x1d\x1d\x11")
        program.terminate()
        os.close(ours)
        program.wait(SECONDS)
        asyncio.run(end_sessions(tmp_path / "data" / "terminals"))


async def end_sessions(folder: Path) -> None:
    """End the sessions that outlived the program: its terminal was gone before it left."""
    holders = Holders(str(folder))
    sessions = await holders.sessions()
    assert len(sessions) == 1
    for session in sessions:
        await holders.end(session)
