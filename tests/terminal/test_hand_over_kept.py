import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.holders.client import Holders
from sam_tui.adapters.terminal.person_input.decoder import characters, without_replies
from sam_tui.adapters.terminal.person_input.redaction import PLACEHOLDER
from sam_tui.adapters.terminal.person_input.session_holder import Hold, SessionHolder
from sam_tui.adapters.terminal.pty.pty import Child, Pty, PtyLaunch
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ports.processes.terminals import SessionSpec
from tests.terminal.session_kit import DEADLINE, ME, Until, confined, crashed

SECRET = "hunter2secret"
TYPED = f"echo {SECRET}-shown; while [ ! -e gate ]; do sleep 0.02; done; echo later-{SECRET}; : > done\r"

pytestmark = pytest.mark.usefixtures("plain_shell")
held_sessions = pytest.mark.skipif(sys.platform != "linux", reason="holders need memfd and pidfd")


@pytest.fixture
async def holders(tmp_path: Path) -> AsyncIterator[Holders]:
    made = Holders(str(tmp_path / "held"))
    yield made
    for kept in await made.sessions():
        await made.end(kept)


async def appears(file: Path) -> None:
    """Wait until a file is there."""
    looking = await asyncio.create_subprocess_exec(
        "sh", "-c", 'until [ -e "$1" ]; do sleep 0.02; done', "sh", str(file)
    )
    await asyncio.wait_for(looking.wait(), DEADLINE)


@held_sessions
@pytest.mark.requirement("terminal:holder-survives")
async def test_what_the_person_did_when_the_program_died_stays_theirs(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path, until: Until
) -> None:
    await crashed(tmp_path / "held", workspace, "echo heard''-before", TYPED + "half-typed")
    (workspace / "gate").touch()
    await appears(workspace / "done")
    terminals = PtyTerminals(sandbox, holders)
    session, made = await terminals.open(confined(workspace))
    assert not made
    assert session.turns.holder == "person"
    # The shell draws its line anew, with what stands in it.
    async with asyncio.timeout(DEADLINE):
        while "half-typed" not in session.screen.text():
            await session.activity.quiet(silence=0.05, within=1)
    session.turns.pass_to("agent")
    session.write(b"\x15echo m''ine\r")
    text = await until(session, "mine\r\n")
    assert "heard-before" in text
    assert "the person typed here" in text
    assert "half-typed" not in text
    assert SECRET not in text
    assert SECRET not in session.screen.text()
    assert SECRET not in str(session.commands)
    assert (
        session.turns.redacted(f"$ {TYPED.strip()}\n$ half-typed")
        == f"$ {PLACEHOLDER}\n$ {PLACEHOLDER}"
    )
    await session.activity.settled(within=DEADLINE)
    assert session.commands[-1].command == "echo m''ine"
    await terminals.close_all()


MISSES_ONE = """
import os, signal, time
signal.signal(signal.SIGWINCH, signal.SIG_IGN)
print("ready", flush=True)
for rows in (25, 24):
    while os.get_terminal_size().lines != rows:
        time.sleep(0.01)
signal.signal(signal.SIGWINCH, lambda *_: print("drawn", flush=True))
while True:
    signal.pause()
"""
"""Draws itself for a new size, but not for the first that it is given."""


@pytest.mark.requirement("terminal:holder-survives")
async def test_a_program_that_missed_that_it_shall_draw_is_told_again(workspace: Path) -> None:
    printed: asyncio.Queue[bytes] = asyncio.Queue()
    argv = (sys.executable, "-I", "-S", "-c", MISSES_ONE)
    child = Child(PtyLaunch(argv, str(workspace), {}, 80, 24, None))
    pty = Pty(child, printed.put_nowait, lambda: None)
    assert b"ready" in await asyncio.wait_for(printed.get(), DEADLINE)
    pty.redraw(80, 24)
    assert b"drawn" in await asyncio.wait_for(printed.get(), DEADLINE)
    os.kill(child.pid, signal.SIGKILL)
    await pty.close()


@held_sessions
@pytest.mark.requirement("terminal:holder-survives")
async def test_what_was_typed_before_it_was_handed_back_is_redacted_by_the_next_program_too(
    holders: Holders, sandbox: Sandbox, workspace: Path
) -> None:
    first = PtyTerminals(sandbox, holders)
    session, _ = await first.open(SessionSpec(ME, str(workspace)))
    session.type(f"echo {SECRET}\r".encode())
    session.turns.pass_to("agent")
    session.turns.pass_to("watch")
    await first.close_all()
    second = PtyTerminals(sandbox, holders)
    again = await second.resume(ME)
    assert again is not None
    assert again.turns.holder == "watch"
    assert again.turns.redacted(f"a echo {SECRET} b") == f"a {PLACEHOLDER} b"
    await second.close_all()


@pytest.mark.requirement("terminal:holder-unrecorded")
async def test_what_was_printed_before_the_hand_back_is_the_person_s_though_nobody_read_it_yet(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ME, str(workspace)))
    session.write(b"echo his''-own\r")
    await until(session, "his-own\r\n")
    session.type(f"echo {SECRET}; : > done\r".encode())
    wait_without_reading(workspace / "done")
    session.turns.pass_to("agent")
    session.write(b"echo ag''ain\r")
    text = await until(session, "again\r\n")
    assert "his-own\r\n" in text
    assert SECRET not in text


def wait_without_reading(file: Path) -> None:
    """Wait until a file is there, while the loop stands still."""
    script = 'until [ -e "$1" ]; do sleep 0.02; done'
    subprocess.run(["sh", "-c", script, "sh", str(file)], check=True, timeout=DEADLINE)


@pytest.mark.requirement("terminal:holder-survives")
def test_of_much_that_was_typed_the_newest_is_kept() -> None:
    baton = SessionHolder(personal=False)
    baton.take("", "")
    for number in range(4000):
        baton.typed(b"line number %d\r" % number)
    baton.typed(b"x" * 100_000)
    assert sum(map(len, baton.hold.typed)) < 20_000
    baton.typed(b"\rlast line\r")
    typed = baton.hold.typed
    assert typed[-1] == "last line"
    next_one = SessionHolder(personal=False)
    next_one.resume(Hold.from_data({"holder": "person", "reason": "why", "typed": [*typed]}))
    assert (next_one.holder, next_one.reason) == ("person", "why")
    assert next_one.redacted("a last line") == f"a {PLACEHOLDER}"


@pytest.mark.requirement("terminal:holder-unrecorded")
@pytest.mark.parametrize(
    ("keys", "typed"),
    [
        (b"\x1b[115u\x1b[101;1u\x1b[99;1:1u\x1b[114;1:3u\x1b[114u", b"secr"),
        (b"\x1b[97;2u\x1b[98:66;2u\x1b[49:33;2;33u", b"AB!"),
        (b"\x1b[97;65u\x1b[97;66u\x1b[97;1:2u", b"Aaa"),
        (b"\x1b[228::39;;228u\x1b[0;;8364:97u", "ä€a".encode()),
        (b"\x1b[97;5u\x1b[97;3u\x1b[57350u\x1b[57441;2u\x1b[27u", b""),
        (b"ab\x1b[127uc\x1b[13u\x1b[57414u", b"ab\x7fc\r\r"),
        (b"\x1b[57400u\x1b[57412u\x1bOr\x1bOk\x1bOM", b"1-2+\r"),
        (b"\x1b[27;2;65~\x1b[27;5;97~\x1b[27;1;13~", b"a" * 0 + b"A\r"),
        (b"\x1b[200~pas\x1b[Dted\x1b[201~\x1bOA\x1bx", b"pasted"),
        (b"\x1b[99999999999u\x1b[1114112u\x1b[55296u\x1b[", b""),
    ],
)
def test_keys_in_every_encoding_are_read_as_what_they_type(keys: bytes, typed: bytes) -> None:
    assert characters(keys) == typed


@pytest.mark.requirement("terminal:holder-unrecorded")
def test_keys_that_are_reported_as_sequences_are_redacted() -> None:
    baton = SessionHolder(personal=False)
    baton.take("", "")
    baton.typed(b"".join(b"\x1b[%d;1:1u\x1b[%d;1:3u" % (key, key) for key in b"wrong"))
    baton.typed(b"\x1b[117;5u\x15" + "h\xfcnter2".encode() + b"x\xc3\xa9\x7f\x7f\x1b[13u")
    assert baton.redacted("> wrong\n> h\xfcnter2") == f"> {PLACEHOLDER}\n> {PLACEHOLDER}"


@pytest.mark.requirement("terminal:holder-survives")
def test_answers_of_a_terminal_are_not_typed() -> None:
    answers = (
        b"\x1b[?62;22c\x1b[>1;10;0c\x1b[4;7R\x1b[?1;1R\x1b[?1u\x1b[?2026;2$y\x1b[0n\x1b[4;600;800t"
        b"\x1b[I\x1b[O\x1b]11;rgb:0/0/0\x1b\\\x1bP>|term\x1b\\"
    )
    assert without_replies(answers + b"a\x1b[A" + answers + b"\x1b[5;5u") == b"a\x1b[A\x1b[5;5u"
