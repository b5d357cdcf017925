"""What the agent is told of keys it sent: what was typed, and what came of it, as its provider gets it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.agent.session import Session
from sam_tui.core.ports.processes.terminals import TerminalSession
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.fakes.programs import needs
from tests.terminal.session_kit import shown
from tests.terminal.typing_kit import leaked

SECRET = "4821-kqzw-7730-vbnm"

pytestmark = pytest.mark.usefixtures("plain_shell")


@dataclass
class Harness:
    """An agent's session, and the log of its provider."""

    server: FakeServer
    conversation: Session
    terminal: TerminalSession

    async def send(self, **given: Any) -> Any:
        """Have the agent call ``send_input``; what its provider is told of it."""
        given = {"session_id": self.terminal.id, **given}
        self.server.replies += [Reply(calls=(Call("send_input", given),)), Reply(text="Seen.")]
        await self.conversation.run("Go on.")
        results = [m for m in self.server.posts[-1].json["messages"] if m["role"] == "tool"]
        assert "\\u001b" not in json.dumps(results) and "\\x1b" not in str(results)
        told: str = results[-1]["content"]
        return json.loads(told) if told.startswith("{") else told


@asynccontextmanager
async def harness_in(folder: Path) -> AsyncGenerator[Harness]:
    """A runtime with somebody who can be asked, and a session of its agent."""
    (folder / "ws").mkdir()
    async with FakeServer() as server:
        options = Options(
            *(str(folder / "ws"), str(folder / "data"), "openai/x", server.base, "k"),
            mode="auto",
            attended=True,
        )
        runtime = build(options, {"HOME": str(folder / "home")})
        conversation = runtime.open_session()
        server.replies += [Reply(calls=(Call("create_session", {}),)), Reply(text="Yours.")]
        await conversation.run("Open a terminal.")
        (terminal,) = runtime.terminals.of(conversation.conversation)
        try:
            yield Harness(server, conversation, terminal)
        finally:
            await runtime.close()


@pytest.mark.requirement("terminal:holder-answer")
async def test_the_answer_to_a_hand_over_says_what_was_typed_before(tmp_path: Path) -> None:
    async with harness_in(tmp_path) as harness:
        line = "echo fi''rst; read -s -p 'Code: ' x; echo; echo o''k\r\n"
        sending = asyncio.ensure_future(harness.send(input=line, hand_over="the code"))
        await shown(harness.terminal, "Code:")
        async with asyncio.timeout(90):
            while harness.terminal.turns.holder != "person":
                await harness.terminal.activity.quiet(silence=0.05, within=1)
        harness.terminal.type(f"{SECRET}\r".encode())
        await shown(harness.terminal, "\nok\nready>")
        harness.terminal.turns.pass_to("agent")
        told = await sending
        assert told["typed"] is True
        assert "All of input was typed before" in told["message"]
        assert "first" in told["output"] and "Code:" in told["output"]
        assert "ready>" in told["changed_by_person"]

        harness.terminal.type(f": {SECRET}".encode())
        told = await harness.send(input="echo se''cond\r\n", hand_over="more", timeout=0.2)
        assert "nothing was typed" in told
        harness.terminal.turns.pass_to("agent")
        await harness.terminal.turns.tidied()
        await harness.terminal.activity.settled(within=90)
        assert "second" not in harness.terminal.screen.text()
        assert harness.terminal.commands[-1].command.startswith("echo fi")
        assert not leaked(b"".join(r.body for r in harness.server.posts).decode(), [SECRET])


REDRAW = "\x0c"
"""What makes each of these programs draw its screen once more."""
PROGRAMS = {
    "vim": ("vim -u NONE -i NONE -N notes.txt", '"notes.txt"', "\x1b:q!\r\n"),
    "less": ("seq 1 500 > n; less n", "20", "q"),
    "nano": ("nano notes.txt", "GNU nano", "\x18"),
    "htop": ("htop", "PID", "q"),
    "fzf": ("seq 1 500 | fzf", "500/500", "\x03"),
}


@pytest.mark.requirement("terminal:full-screen-result")
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in PROGRAMS])
async def test_what_came_of_keys_to_a_full_screen_program_is_its_screen(
    name: str, tmp_path: Path
) -> None:
    line, shows, leave = PROGRAMS[name]
    async with harness_in(tmp_path) as harness:
        told = await harness.send(input=f"{line}\r\n", timeout=3)
        async with asyncio.timeout(90):
            while shows not in told.get("screen", {}).get("text", ""):  # it is still starting
                told = await harness.send(input=REDRAW, timeout=3)
        screen = told["screen"]
        assert screen["program"] == name
        assert (screen["columns"], screen["rows"]) == (100, 30)
        assert isinstance(screen["title"], str)
        assert (
            screen["text"].split("\n")
            == [line.rstrip() for line in harness.terminal.screen.text().rstrip("\n").split("\n")]
            or name == "htop"
        )
        assert screen["cursor"] is None or len(screen["cursor"]) == 2
        told = await harness.send(input=leave, timeout=20)
        assert "screen" not in told, told
        told = await harness.send(input="echo af''ter\r\n")
        assert told["output"].startswith("echo af''ter\nafter\n")
