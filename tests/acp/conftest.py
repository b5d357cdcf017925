"""``sam-tui acp`` in a process of its own, and an editor that is not ours: JSON over real pipes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sam_tui.folders import settings_folder

SECONDS = 50
Message = dict[str, Any]
Person = Callable[[Message], Message | None]
"""Answers a request of the agent: with a result or an error; None leaves it open."""


def cancels(_request: Message) -> Message:
    """The person dismisses whatever is asked."""
    return {"result": {"outcome": {"outcome": "cancelled"}}}


@dataclass
class Editor:
    """A client that answers what it is asked as its ``person`` says, and keeps what it is told."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    person: Person = cancels
    seen: list[Message] = field(default_factory=list[Message])
    _number: int = 0

    @property
    def workspace(self) -> Path:
        """Where sessions work."""
        return self.folder / "ws"

    def send(self, *lines: Mapping[str, Any] | bytes) -> None:
        """Send lines in one write: bytes as they are, objects as JSON."""
        assert self.process.stdin is not None
        parts = [
            line if isinstance(line, bytes) else json.dumps({"jsonrpc": "2.0", **line}).encode()
            for line in lines
        ]
        self.process.stdin.write(b"".join(part + b"\n" for part in parts))
        self.process.stdin.flush()

    def next(self) -> Message:
        """The next message; requests of the agent are answered."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the agent has ended"
        message: Message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        self.seen.append(message)
        if "method" in message and "id" in message:
            answer = self.person(message)
            if answer is not None:
                self.send({"id": message["id"], **answer})
        return message

    def request(self, method: str, **params: Any) -> Message:
        """A request with the next number, to be sent."""
        self._number += 1
        return {"id": f"r{self._number}", "method": method, "params": params}

    def answer(self, request: Message | str | None) -> Message:
        """Wait for the answer to a request."""
        wanted = request["id"] if isinstance(request, dict) else request
        while True:
            message = self.next()
            if "method" not in message and message["id"] == wanted:
                return message

    def fault(self) -> int:
        """The code of the next error that is for no request of this editor's: it has the id 1, or none.

        What earlier requests still get is passed over.
        """
        while "error" not in (message := self.next()) or message["id"] not in (None, 1):
            pass
        return message["error"]["code"]

    def ask(self, method: str, **params: Any) -> Message:
        """Send a request and wait for its answer."""
        request = self.request(method, **params)
        self.send(request)
        return self.answer(request)

    def open(self, **more: Any) -> str:
        """A new session."""
        answer = self.ask("session/new", cwd=str(self.workspace), mcpServers=[], **more)
        return answer["result"]["sessionId"]

    def prompting(self, session: str, text: str) -> Message:
        """A prompt to be sent."""
        return self.request("session/prompt", sessionId=session, prompt=[block(text)])

    def prompt(self, session: str, text: str) -> tuple[Message, list[Message]]:
        """Run a turn. Its answer, and the updates of its session that came before it."""
        before = len(self.seen)
        request = self.prompting(session, text)
        self.send(request)
        answer = self.answer(request)
        return answer, self.updates(session, before)

    def updates(self, session: str, since: int = 0) -> list[Message]:
        """What was told of a session."""
        told = [message["params"] for message in self.seen[since:] if "update" in params(message)]
        return [note["update"] for note in told if note["sessionId"] == session]

    def asked(self) -> list[Message]:
        """The permissions that were asked for."""
        return [m["params"] for m in self.seen if m.get("method") == "session/request_permission"]


def params(message: Message) -> Message:
    """The parameters of a message."""
    return message.get("params") or {}


def block(text: str) -> Message:
    """Text of a prompt."""
    return {"type": "text", "text": text}


def chooses(pick: Callable[[list[Message]], str]) -> Person:
    """A person who takes the option that ``pick`` names."""

    def person(request: Message) -> Message:
        option = pick(request["params"]["options"])
        return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}

    return person


def let_editor(name: str) -> None:
    """The person's own settings let the editor have what ``[acp]`` calls so."""
    file = Path(settings_folder(), "settings.toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[acp]\n{name} = "editor"\n', encoding="utf-8")


def of_kind(updates: Sequence[Message], kind: str) -> list[Message]:
    """The updates of one kind."""
    return [update for update in updates if update["sessionUpdate"] == kind]


@contextmanager
def editor_over(
    folder: Path, script: Sequence[Message], *arguments: str, ends: int = 0
) -> Generator[Editor]:
    """An editor and its agent, which plays a script; the agent has to end with ``ends`` when it is left."""
    (folder / "ws").mkdir(exist_ok=True)
    path = folder / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    place = ["--data-dir", str(folder / "data"), "--model", f"scripted:{path}"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sam_tui", "acp", *place, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(os.environ),
    )
    try:
        yield Editor(process, folder)
    except BaseException:
        process.kill()
        raise
    finally:
        _out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (ends, b"")
