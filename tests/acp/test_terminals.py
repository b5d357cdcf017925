"""Commands in terminals of the editor: one process for all sentences (about 1 s of CPU)."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from sam_tui.core.local_files.temporary_folders import ACP, Scratch, sweep
from tests.acp.conftest import Editor, Message, editor_over, let_editor, of_kind
from tests.acp.scripted import call

SECRET = "open-sesame-and-nothing-else"


def run(command: str, **more: Any) -> Message:
    return call("terminal_operations", "run_command", command=command, **more)


def steps(folder: Path) -> list[Message]:
    calls = {
        "print": [run(f"echo first; echo $DOOR; echo no > {folder}/outside; exit 3")],
        "linger": [run("echo begun; sleep 600")],
        "background": [run("echo beside", isBackground=True)],
        "changeable": [run("echo a python")],
        "unseen": [run("echo unseen")],
    }
    return [
        *({"when": {"user": user}, "calls": made} for user, made in calls.items()),
        *({"text": "Done."} for _ in range(6)),
    ]


@dataclass
class Terminals:
    """An editor that starts what it is asked to, in pipes for terminals."""

    editor: Editor
    kills: bool = False
    offers: bool = True
    made: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict[str, Any])
    output: dict[str, str] = field(default_factory=dict[str, str])
    calls: list[str] = field(default_factory=list[str])
    requests: list[Message] = field(default_factory=list[Message])
    second: "subprocess.CompletedProcess[bytes] | None" = None
    """The program of a terminal, started again while the first runs."""

    def __call__(self, request: Message) -> Message | None:
        asked, method = request["params"], request["method"].removeprefix("terminal/")
        self.calls.append(method)
        if method == "create":
            self.requests.append(asked)
            if not self.offers:
                return {"error": {"code": -32603, "message": "no terminals"}}
            words = [asked["command"], *asked["args"]]
            name = f"t{len(self.made)}"
            self.made[name] = subprocess.Popen(words, stdout=subprocess.PIPE, env={})
            return {"result": {"terminalId": name}}
        if method == "wait_for_exit":
            Thread(target=self.wait, args=(request["id"], asked["terminalId"])).start()
            return None
        if method == "release":
            return {"result": {}}
        return {"result": {"outcome": {"outcome": "cancelled"}}}

    def wait(self, number: int, name: str) -> None:
        """Answer once the program in a terminal has ended; one that is killed, after its first line."""
        process = self.made[name]
        assert process.stdout is not None
        text = process.stdout.readline()
        if self.kills:
            self.second = subprocess.run(process.args, stdout=subprocess.PIPE, env={}, check=False)
            process.kill()
        self.output[name] = (text + process.communicate()[0]).decode()
        code = process.returncode
        self.editor.send({
            "id": number,
            "result": {"signal": "9"} if code < 0 else {"exitCode": code},
        })


@pytest.mark.requirement("acp:terminals")
def test_commands_are_displayed_in_terminals_of_the_editor_and_run_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_editor("terminals")
    monkeypatch.setenv("DOOR", SECRET)
    monkeypatch.setenv("DOOR_PASSWORD", SECRET)
    with editor_over(tmp_path, steps(tmp_path)) as editor:
        client = editor.person = Terminals(editor)
        able = {"terminal": True, "_meta": {"terminal_output": True}}
        editor.ask("initialize", protocolVersion=1, clientCapabilities=able)
        session = editor.open()

        def turn(user: str) -> tuple[str, list[Message]]:
            client.calls.clear()
            answer, told = editor.prompt(session, user)
            return answer["result"]["stopReason"], of_kind(told, "tool_call_update")

        _, told = turn("print")
        terminal = {"type": "terminal", "terminalId": "t0"}
        assert [u["content"] for u in told if u.get("content")] == [[terminal], [terminal]]
        assert not any("_meta" in update for update in told)
        assert client.calls[0] == "create" and client.calls[-1] == "release"
        assert client.output["t0"].startswith("first\n<secret:")
        assert SECRET not in client.output["t0"] and "outside" in client.output["t0"]
        assert client.made["t0"].returncode == 3
        assert not (tmp_path / "outside").exists()

        # Nobody but the program that was started for it gets the output of a command.
        asked = client.requests[0]
        address = asked["args"][-2]
        folder = Path(address).parent
        assert folder.stat().st_mode & 0o077 == 0
        # What a killed program left of this kind is swept, and this is not while the program lives.
        assert folder.name.startswith(ACP)
        sweep()
        assert Path(address).exists()
        assert "echo" not in str(asked) and SECRET not in str(asked)

        # A terminal that the person ends takes its command with it.
        client.kills = True
        assert turn("linger")[0] == "cancelled"
        assert client.calls[-1] == "release"
        assert client.second is not None
        assert (client.second.returncode, client.second.stdout) == (1, b"")

        # No terminal for what goes on in the background, nor where the agent may change Python or
        # where the editor makes none.
        client.kills = False
        python = os.path.dirname(os.path.realpath(sys.executable))
        client.calls.clear()
        _, told = editor.prompt(editor.open(additionalDirectories=[python]), "changeable")
        assert (client.calls, "a python" in str(told)) == ([], True)
        turn("background")
        assert client.calls == []
        client.offers = False
        _, told = turn("unseen")
        assert "unseen" in str(told)
        assert client.calls == ["create"]
    assert not folder.exists()


class Waiting(Terminals):
    """An editor that never says that a terminal has ended."""

    def wait(self, number: int, name: str) -> None:
        """Leave the request open."""


@pytest.mark.requirement("acp:terminals")
def test_what_an_agent_leaves_that_is_killed_is_removed_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_editor("terminals")
    with tempfile.TemporaryDirectory(prefix="t-") as top:  # a short name, as of a socket
        monkeypatch.setenv("TMPDIR", top)
        with editor_over(tmp_path, steps(tmp_path), ends=-signal.SIGKILL) as editor:
            client = editor.person = Waiting(editor)
            editor.ask("initialize", protocolVersion=1, clientCapabilities={"terminal": True})
            editor.send(editor.prompting(editor.open(), "linger"))
            while "wait_for_exit" not in client.calls:
                editor.next()
            program = client.made["t0"]
            assert program.stdout is not None
            assert program.stdout.readline() == b"begun\n"  # the command runs
            editor.process.kill()
        program.communicate()
        folders = list(Path(top).glob("sam-tui-*"))
        assert any(folder.name.startswith(ACP) for folder in folders)
        for folder in folders:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX)  # until all that the agent started has ended
            os.close(handle)
        monkeypatch.setattr(tempfile, "tempdir", top)
        Scratch().remove()
        assert list(Path(top).glob("sam-tui-*")) == []
