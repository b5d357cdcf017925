"""Nothing that the person types while they hold the agent's terminal is in any later request."""

import os
import random
from pathlib import Path

import pytest

from sam_tui.assembly import Options, build
from sam_tui.cli.main import main
from sam_tui.core.events import ToolFinished
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.terminal.session_kit import DEADLINE, SHELLS
from tests.terminal.typing_kit import AGENT_KEYS, READS, WIDTHS, Person, leaked

SEED = int(os.environ.get("TYPING_SEED", "1"))
ROUNDS = int(os.environ.get("TYPING_ROUNDS", "1"))
"""How often the person takes and hands back each shell's session."""
STEPS_EACH = 6
VI = {
    "bash": (".bashrc", "set -o vi"),
    "zsh": (".zshrc", "bindkey -v"),
    "fish": (".config/fish/config.fish", "fish_vi_key_bindings"),
}
PROMPTS = {
    "bash": "PS1='ready> '\n",
    "zsh": "PS1='ready> '; HISTSIZE=500\n",
    "fish": "function fish_prompt; echo 'ready> '; end\n",
}


def home_of(folder: Path, shell: str, keys: str) -> Path:
    """A home folder with a shell's start-up file."""
    name, line = VI[shell]
    file = folder / "home" / name
    file.parent.mkdir(parents=True)
    file.write_text(PROMPTS[shell] + (f"{line}\n" if keys == "vi" else ""))
    return folder / "home"


def reading(session: str, chance: random.Random) -> list[Call]:
    """The agent types, and reads in every way it has."""
    typed = chance.sample(AGENT_KEYS, 3)
    calls = [
        Call("send_input", {"session_id": session, "input": keys, "timeout": 2}) for keys in typed
    ]
    for name in READS:
        named = {"id": session} if name == "get_terminal_buffer" else {"session_id": session}
        calls.append(Call(name, {} if name == "get_last_command" else named))
    calls += [Call("get_terminal_output", {}), Call("get_terminal_output", {"id": session})]
    return [Call(c.name, c.arguments, id=f"c{chance.random()}") for c in calls]


@pytest.mark.timeout(240 * max(1, ROUNDS // 2))
@pytest.mark.requirement("terminal:holder-requests")
@pytest.mark.parametrize("keys", ["emacs", "vi"])
@pytest.mark.parametrize("shell", SHELLS)
async def test_nothing_that_is_typed_while_holding_is_in_any_later_request(
    shell: str,
    keys: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = home_of(tmp_path, shell, keys)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", shell)
    (tmp_path / "ws").mkdir()
    chance = random.Random(f"{SEED} {shell} {keys}")
    async with FakeServer() as server:
        options = Options(
            str(tmp_path / "ws"), str(tmp_path / "data"), "openai/x", server.base, "k", mode="auto"
        )
        runtime = build(options, {"HOME": str(home)})
        conversation = runtime.open_session()
        # What clients of MCP are notified of, and what a headless run prints.
        events = runtime.bus.subscribe()
        server.replies += [Reply(calls=(Call("create_session", {}),)), Reply(text="Yours.")]
        await conversation.run("Open a terminal.")
        (session,) = runtime.terminals.of(conversation.conversation)
        cast = tmp_path / "one.cast"
        session.record(str(cast), typed=True)
        person = Person(session, chance, home)
        for turn in range(ROUNDS):
            session.resize(chance.randint(*WIDTHS), 24)
            session.turns.pass_to("person")
            person.trace.append(f"take {turn} at {session.screen.columns}")
            recover = await person.hold(STEPS_EACH)
            session.turns.pass_to("agent")
            seen = len(server.posts)
            server.replies += [Reply(calls=reading(session.id, chance)), Reply(text="Read.")]
            await conversation.run("Look.")
            sent = b"".join(request.body for request in server.posts[seen:]).decode()
            assert "end_index" in sent
            assert not leaked(sent, person.secrets), person.trace
            assert not leaked(cast.read_text(), person.secrets), person.trace
            session.turns.pass_to("person")
            for _ in range(3):
                session.type(recover or b"\x03")
                await session.activity.quiet(silence=0.05, within=DEADLINE)
            await session.activity.settled(within=DEADLINE)
        await runtime.close()
        heard = events.drain()
        assert any(isinstance(event, ToolFinished) for event in heard)
        assert not leaked(repr(heard), person.secrets), person.trace
    data = ["--data-dir", str(tmp_path / "data")]
    assert main(["audit", "export", *data]) == main(["sessions", "list", "--json", *data]) == 0
    exported = capsys.readouterr().out
    assert str(conversation.conversation) in exported
    assert not leaked(exported, person.secrets), person.trace
    stored = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not leaked(b"".join(stored).decode(errors="replace"), person.secrets), person.trace
