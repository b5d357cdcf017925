import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.terminal.person_input.redaction import PLACEHOLDER
from sam_tui.core.ports.processes.terminals import TerminalSession
from tests.terminal.session_kit import DEADLINE, SHELLS, Until, shown
from tests.terminal.typing_kit import leaked

Open = Callable[..., Awaitable[TerminalSession]]

SECRET = hashlib.sha512(b"a secret that is longer than a row").hexdigest()[:70]
LEFT = b"\x1b[D"
pytestmark = pytest.mark.usefixtures("plain_shell")


def tells(text: str, secret: str) -> bool:
    """Whether a text has a part of a secret, however it is wrapped."""
    return bool(leaked(text, [secret]))


async def all_told(hand: Any, session: TerminalSession) -> str:
    """All that the agent can ask about a session, and what a command of its own prints."""
    texts = [(await hand.call("send_input", session_id=session.id, input="history\r\n")).text]
    for name, given in (
        ("get_output", {"session_id": session.id}),
        ("get_history", {"session_id": session.id}),
        ("get_terminal_buffer", {"id": session.id}),
        ("get_last_command", {}),
        ("get_terminal_output", {}),
    ):
        texts.append((await hand.call(name, **given)).text)
    return "\n".join(texts)


@pytest.mark.requirement("terminal:holder-unfinished")
@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_left_unfinished_is_set_aside_and_given_back(
    open_shell: Open, hand: Any, shell: str
) -> None:
    session = await open_shell(shell, confined=True, writable=(str(hand.workspace),))
    unfinished = "echo zebra''-crossing-mine"
    session.type(unfinished.encode())
    await shown(session, unfinished)
    session.turns.pass_to("agent")
    told = await hand.data("send_input", session_id=session.id, input="echo a''lone\r\n")
    assert "alone\n" in told["output"]
    assert told["exitCode"] == 0
    assert session.commands[-1].command == "echo a''lone"
    assert not tells(str(told), "zebra-crossing-mine")
    assert not tells(await all_told(hand, session), "zebra-crossing-mine")
    session.turns.pass_to("person")
    await shown(session, unfinished)
    session.type(b"\r")
    await shown(session, "\nzebra-crossing-mine")
    session.turns.pass_to("agent")
    assert not tells(await all_told(hand, session), "zebra-crossing-mine")


# Ctrl+S stops the output; Ctrl+V and Esc take the next key to themselves; a paste may never end.
LEFT_WITHIN = {
    "bash": (b"\x13", b"\x16", b"\x1b", b"\x18"),
    "zsh": (b"\x13", b"\x16", b"\x1bx"),
    "fish": (b"\x13", b"\x16"),
}


@pytest.mark.requirement("terminal:holder-unfinished")
@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_is_set_aside_from_within_whatever_the_line_editor_was_asked(
    open_shell: Open, hand: Any, until: Until, shell: str
) -> None:
    session = await open_shell(shell, confined=True, writable=(str(hand.workspace),))

    async def handed_back(line: str, keys: bytes, left: str) -> None:
        session.type(line.encode() + keys)
        session.turns.pass_to("agent")
        mine = f"alone{session.end}"
        await hand.data("send_input", session_id=session.id, input=f"echo ''{mine}\r\n")
        await until(session, f"{mine}\r\n")
        session.turns.pass_to("person")
        session.type(b"\r")
        await shown(session, left)
        await session.activity.settled(within=DEADLINE)

    for number, keys in enumerate(LEFT_WITHIN[shell]):
        await handed_back(f"echo zebra''-{number}", keys, f"\nzebra-{number}")
    if shell == "bash":
        # What a search finds is the line; a question of the editor ends with an interrupt.
        await handed_back("", b"\x12zebra''-0", "ready> echo zebra''-0")
        await handed_back("", b"\x1bpecho", "ready>")
        await handed_back("", b"\x1b[200~echo zebra''-pasted", "ready>")
    elif shell == "zsh":
        session.type(b"bindkey -v\r")
        await session.activity.settled(within=DEADLINE)
        await handed_back("echo zebra''-vi", b"\x1bd", "\nzebra-vi")


@pytest.mark.requirement("terminal:holder-unrecorded")
@pytest.mark.parametrize("shell", SHELLS)
async def test_a_secret_longer_than_a_row_reaches_the_agent_in_no_way_of_typing_it(
    open_shell: Open, hand: Any, shell: str
) -> None:
    session = await open_shell(shell, confined=True, writable=(str(hand.workspace),))
    session.resize(45, 24)
    head, middle, tail = SECRET[:20], SECRET[20:35], SECRET[35:]
    session.type(f"echo {head}{tail}".encode())
    session.type(LEFT * len(tail) + middle.encode() + b"\x05; echo ed''ited\r")
    await shown(session, "\nedited")
    session.type(b"\x1b[A")
    session.type(b"; echo recal''led\r")
    await shown(session, "\nrecalled")
    session.type(session.screen.input.paste(f"echo {SECRET}") + b"; echo pas''ted\r")
    await shown(session, "\npasted")
    session.type(f"printf '\\033]2;%s\\007' {SECRET}; echo tit''led\r".encode())
    await shown(session, "\ntitled")
    assert tells(session.screen.text(), SECRET)
    session.turns.pass_to("agent")
    assert not tells(await all_told(hand, session), SECRET)
    # The agent has its shell draw the person's lines anew.
    for keys in (b"\x1b[A\x1b[A", b"\x1b[A", b"\x1b[A", b"\x0c"):
        session.write(keys)
        await session.activity.settled(within=DEADLINE)
        buffer = await hand.call("get_terminal_buffer", id=session.id)
        assert not tells(buffer.text + session.output(0).text, SECRET)


@pytest.mark.requirement("terminal:recording-redacted")
@pytest.mark.parametrize("shell", SHELLS)
async def test_a_recording_has_nothing_typed_that_a_shell_shows_again(
    open_shell: Open, hand: Any, tmp_path: Path, shell: str
) -> None:
    session = await open_shell(shell, confined=True, writable=(str(hand.workspace),))
    session.resize(45, 24)
    casts = [tmp_path / f"{name}.cast" for name in ("before", "meanwhile", "after")]
    session.write(b"echo old''est\r")
    await session.activity.settled(within=DEADLINE)
    texts: list[str] = []
    for cast in casts:
        stop = session.record(str(cast), typed=True)
        if cast.stem == "before":
            session.type(f"echo {SECRET}\r".encode())
            await shown(session, f"\n{SECRET[:8]}")
        elif cast.stem == "meanwhile":
            session.turns.pass_to("agent")
            await session.turns.tidied()
        for keys in (b"\x1b[A", b"\x0c", b"\x03", b"echo new''est\r"):
            if cast.stem != "before":
                session.write(keys)
                await session.activity.settled(within=DEADLINE)
        stop()
        texts.append(cast.read_text(encoding="utf-8"))
        assert not tells(texts[-1], SECRET)
    assert "oldest" in texts[0]
    assert PLACEHOLDER in texts[1] and PLACEHOLDER in texts[2]
    assert "newest" in texts[1] and "newest" in texts[2]


@pytest.mark.requirement("terminal:holder-unrecorded")
async def test_what_a_program_makes_of_keys_that_it_got_is_redacted_though_it_is_slow(
    open_shell: Open, hand: Any
) -> None:
    """Costs 0.1 s."""
    session = await open_shell("bash", confined=True, writable=(str(hand.workspace),))
    ready, gate = "echo rea''dy", "while [ ! -e gate ]; do sleep 0.02; done"
    turn = "while [ $a ]; do c=$c${a: -1}; a=${a%?}; done; echo $c"
    session.type(f"{ready}; read a; : > got; {gate}; {turn}; read b\r".encode())
    await shown(session, "\nready")
    session.type(SECRET[::-1].encode() + b"\r")
    session.turns.pass_to("agent")
    while not (hand.workspace / "got").exists():
        await session.activity.quiet(silence=0.02, within=1)
    (hand.workspace / "gate").touch()
    told = await hand.data("send_input", session_id=session.id, input="\r\n", timeout=DEADLINE)
    assert tells(session.screen.text(), SECRET)
    assert not tells(str(told), SECRET)
    assert not tells(await all_told(hand, session), SECRET)
