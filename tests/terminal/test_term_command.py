import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.holders.client import Holders
from sam_tui.adapters.terminal.person_input.redaction import PLACEHOLDER
from sam_tui.adapters.terminal.recordings.asciicast import Recorder, Recording, Stage, play
from sam_tui.adapters.terminal.sessions.safe_output import SafeOutput
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.screens import KeyPress, MouseInput
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from tests.fakes.terminals import start_at

Until = Callable[[TerminalSession, str], Awaitable[str]]

ME = ConversationId("me")

pytestmark = [
    pytest.mark.usefixtures("plain_shell"),
    pytest.mark.skipif(sys.platform != "linux", reason="holders need memfd and pidfd"),
]


@pytest.fixture
async def holders(tmp_path: Path) -> AsyncIterator[Holders]:
    made = Holders(str(tmp_path / "data" / "terminals"))
    (tmp_path / "data").mkdir()
    yield made
    for kept in await made.sessions():
        await made.end(kept)


async def kept_session(holders: Holders, sandbox: Sandbox, workspace: Path) -> TerminalSession:
    """A session that printed something and was left."""
    terminals = PtyTerminals(sandbox, holders)
    session, _ = await terminals.open(SessionSpec(ME, str(workspace)))
    session.write(b"echo ear''lier\r")
    async with asyncio.timeout(90):
        while "earlier\r\n" not in session.output(0).text:
            await session.activity.quiet(silence=0.05, within=1)
    await session.activity.settled(within=90)
    await terminals.close_all()
    return session


async def term(tmp_path: Path, *words: str) -> tuple[int, str, str]:
    """Run ``sam-tui term``: (exit code, output, messages)."""
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-P",
            "-m",
            "sam_tui",
            "term",
            *words,
            "--data-dir",
            str(tmp_path / "data"),
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, out.decode(), err.decode()


@pytest.mark.requirement("terminal:term-command")
async def test_kept_sessions_are_listed_and_ended(
    holders: Holders,
    sandbox: Sandbox,
    workspace: Path,
    tmp_path: Path,
    lives: Callable[[int], bool],
) -> None:
    assert await term(tmp_path, "list") == (0, "", "No agent terminal is running.\n")
    session = await kept_session(holders, sandbox, workspace)
    _, out, _ = await term(tmp_path, "list", "--json")
    (row,) = json.loads(out)
    assert (row["id"], row["conversation"], row["cwd"]) == (session.id, "me", str(workspace))
    assert row["attached"] is False
    _, out, _ = await term(tmp_path, "list")
    assert out.startswith(session.id)
    code, _, err = await term(tmp_path, "kill", "term-none")
    assert code != 0
    assert "No terminal session 'term-none' is kept" in err
    code, _, err = await term(tmp_path, "kill", "term-none", "--all")
    assert code == 2
    assert "not both" in err
    assert lives(row["pid"])
    code, _, err = await term(tmp_path, "kill", session.id)
    assert (code, err) == (0, f"ended {session.id}\n")
    assert not lives(row["pid"])
    assert await holders.sessions() == []


@pytest.mark.requirement("terminal:term-command")
async def test_a_kept_session_is_attached_to_typed_into_and_left_running(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path, until: Until
) -> None:
    await kept_session(holders, sandbox, workspace)

    def at_it() -> str:
        with attached_at(tmp_path) as (window, _):
            text = _read_until(window, b"earlier")
            window.write(b"stty size; printf '\\33[>1u\\33[?1004h\\33[4 q'; echo by-ha''nd\r")
            text += _read_until(window, b"by-hand\r\n")
            window.write(b"\x1d\x1d")
            text += _read_until(window, b"goes on]")
        return text.decode()

    text = await asyncio.wait_for(asyncio.to_thread(at_it), 60)
    assert "19 83\r\n" in text
    assert "7717" not in text
    (kept,) = await holders.sessions()
    assert not kept.attached
    terminals = PtyTerminals(sandbox, holders)
    session = await terminals.resume(ME)
    assert session is not None
    told = session.output(0).text
    assert "by-hand" not in told
    assert "the person typed here" in told
    assert session.turns.holder == "agent"
    typed = "stty size; printf '\\33[>1u\\33[?1004h\\33[4 q'; echo by-ha''nd"
    assert session.turns.redacted(f"$ {typed}") == f"$ {PLACEHOLDER}"
    session.write(b"echo by-ag''ent\r")
    await until(session, "by-agent\r\n")
    await session.activity.settled(within=90)
    assert [record.command for record in session.commands[-2:]] == [
        "echo ear''lier",
        "echo by-ag''ent",
    ]
    await terminals.close(session.id)


@contextmanager
def attached_at(tmp_path: Path) -> Generator[tuple[FileIO, "subprocess.Popen[bytes]"]]:
    """``sam-tui term attach`` on a terminal of its own, waited for at the end: that and the program."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (19, 83))
    words = ("term", "attach", "--data-dir", str(tmp_path / "data"))
    program = start_at(theirs, *words, folder=tmp_path, environ={})
    try:
        with open(ours, "r+b", buffering=0) as window:
            yield window, program
            program.wait()
    finally:
        program.kill()
        program.wait()


def _read_until(window: FileIO, wanted: bytes) -> bytes:
    text = b""
    while wanted not in re.sub(rb"\x1b\[[0-9;?!]*[a-zA-Z]", b"", text):
        text += window.read(4096)
    return text


AROUND = b"\x1b]2;mine\a\x1b[>1u$ sam-tui term attach\r\n"
"""What stands in the terminal around, whose shell uses kitty's protocol."""
CHANGES = (
    "\\33c\\33[3J"
    "\\33[?1049h\\33[>15u\\33[?1000;1002;1006h\\33[?2004h\\33[?1004h\\33[?1h\\33=\\33[?5h"
    "\\33[3;9r\\33[?25l\\33[4 q\\33[31m\\33]2;theirs\\7\\33(0\\33[?7l\\33[4h\\33[>4;2m"
)
ON_THEIRS = "⎺┼-├␤␊␋⎼⎽"
"""``on-theirs`` in the character set of line drawing, which the changes switch on."""
ENDINGS = {"left": b"\x1d\x1d", "left in kitty's way": b"\x1b[93;5u\x1b[93;5:3u\x1b[93;5u"}


@pytest.mark.requirement("terminal:term-attach")
@pytest.mark.parametrize("ending", [*ENDINGS, "ended by a signal"])
async def test_the_terminal_around_is_as_it_was_after_being_at_a_session(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path, ending: str
) -> None:
    await kept_session(holders, sandbox, workspace)

    def at_it() -> bytes:
        with attached_at(tmp_path) as (window, program):
            text = _read_until(window, b"earlier")
            window.write(f"printf '{CHANGES}'; echo on-theirs; cat\r".encode())
            # Looked for as it is drawn: a redraw may come between the letters and the end of their line.
            drawn = EmulatedScreen(83, 19)
            drawn.feed(text)
            while ON_THEIRS not in drawn.text():
                data = window.read(4096)
                drawn.feed(data)
                text += data
            if ending in ENDINGS:
                window.write(ENDINGS[ending])
                return text + _read_until(window, b"goes on]")
            program.send_signal(signal.SIGTERM)
            return text + _read_until(window, b"goes on]")

    text = await asyncio.wait_for(asyncio.to_thread(at_it), 60)
    around, untouched = EmulatedScreen(83, 19), EmulatedScreen(83, 19)
    around.feed(AROUND + text)
    untouched.feed(AROUND + b"\r\n[the session goes on]\r\n")
    assert around.text() == untouched.text()
    assert look(around) == look(untouched)


def look(screen: EmulatedScreen) -> tuple[object, ...]:
    """All that a program may leave switched on in a terminal."""
    press = MouseInput("press", "left", 1, 1)
    keys = ("escape", "up", "ctrl+i", "tab", "a")
    told = [screen.input.key(KeyPress(key, None)) for key in keys]
    style = (screen.cursor, screen.cursor_shape, screen.title, screen.alternate)
    modes = (screen.input.mouse(press), screen.input.paste("x"), screen.input.focus(gained=True))
    screen.feed(b"\x1b[20;1Hqx" + b"z" * 90)
    return *told, *style, *modes, screen.text(), screen.all_rows()


@pytest.mark.requirement("terminal:term-attach")
async def test_a_session_on_its_other_screen_is_drawn_and_comes_back_to_its_lines(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    await kept_session(holders, sandbox, workspace)

    def at_it() -> list[str]:
        around = EmulatedScreen(83, 19)
        around.feed(AROUND)

        def until(wanted: str) -> str:
            while wanted not in around.text():
                around.feed(window.read(4096))
            return around.text()

        with attached_at(tmp_path) as (window, _):
            seen = [until("earlier")]
            window.write(
                b"printf '\\33[?1049h\\33[2J\\33[5;5Hon-%s' theirs; read x; printf '\\33[?1049l'\r"
            )
            seen.append(until("on-theirs"))
            assert around.alternate
            window.write(b"\r")
            seen.append(until("earlier"))
            assert around.alternate
            # One Ctrl+] is nothing to a shell's line, which would search for the next key.
            window.write(b"\x1decho at-li''ne; stty -icanon -echo; cat -v\r")
            until("at-line")
            # A program gets it where that was waited for, and with the next key on a full screen.
            window.write(b"\x1dx")
            until("x")
            window.write(b"\x1d")
            assert "^]x" not in until("x^]")
            window.write(b"\x1d\x1d")
            _read_until(window, b"goes on]")
        return seen

    first, second, third = await asyncio.wait_for(asyncio.to_thread(at_it), 60)
    assert "term attach" not in first
    assert "earlier" not in second
    assert "on-theirs" not in third.replace("on-%s", "")


@pytest.mark.requirement("terminal:term-attach")
async def test_a_session_whose_program_reads_nothing_can_be_left_however_much_was_pasted(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    await kept_session(holders, sandbox, workspace)

    def at_it() -> None:
        with attached_at(tmp_path) as (window, _):
            _read_until(window, b"earlier")
            window.write(b"stty -icanon -echo; echo de''af; sleep 600\r")
            _read_until(window, b"deaf\r\n")
            window.write(b"x" * 20_000)
            window.write(b"\x1d\x1d")
            _read_until(window, b"goes on]")

    await asyncio.wait_for(asyncio.to_thread(at_it), 60)


@pytest.mark.requirement("terminal:term-attach")
async def test_a_session_is_given_back_where_the_terminal_of_who_was_at_it_goes(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    await kept_session(holders, sandbox, workspace)

    def at_it() -> None:
        with attached_at(tmp_path) as (window, _):
            _read_until(window, b"earlier")
            window.write(b"echo by-ha''nd; sleep 0.1; while :; do echo more; done\r")
            _read_until(window, b"more\r\n")
            window.close()

    await asyncio.wait_for(asyncio.to_thread(at_it), 60)
    session = await PtyTerminals(sandbox, holders).resume(ME)
    assert session is not None
    assert session.turns.holder == "agent"
    await PtyTerminals(sandbox, holders).close_all()


@pytest.mark.requirement("terminal:term-play")
async def test_a_recording_is_played_with_its_pauses_cut(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "one.cast"
    recorder = Recorder(str(path), (80, 24), clock=lambda: now)
    recorder.output(b"first\r\n")
    now = 9000.0
    recorder.output(b"\x1b]52;c;cm0gLXJm\x07sec\x1b[6n\x1b[c\x1b[?u\x1b[1mond\r\n")
    recorder.close()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "sam_tui", "term", "play", str(path), "--idle-limit", "0.01"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, out) == (0, b"first\r\nsec\x1b[1mond\r\n")


@pytest.mark.requirement("terminal:term-play")
def test_a_recording_cannot_reach_clipboard_and_window_of_the_terminal_it_is_played_in() -> None:
    data = b"a\x1b]52;c;Zm9v\x07b\x1bP+q544e\x1b\\c\x1b]0;title\x1b\\d\x1b[31me"
    data += b"\x1b[8;9;9t\x1b[22;0t\x1b[23t\x1b[24t\x1b[2t\x1b[18t\x1b[7Cf"
    for size in range(1, len(data)):
        safe = SafeOutput()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert b"".join(map(safe, pieces)) == b"abcd\x1b[31me\x1b[18t\x1b[7Cf"


CLIP = b"]52;c;Zm9v\a"
JOINED = {
    b"\x1b\x1b]x\a" + CLIP: CLIP,
    b"\x1b\x1b[8;9;9t" + CLIP: CLIP,
    b"\x1b[\x1b]x\a8;9;9t": b"8;9;9t",
    b"\x1b\n" + CLIP: b"\n",
    b"\x1b[8\n;9;9t": b"\n",
    "\x9d52;c;Zm9v\a\x1b\x85".encode() + CLIP: b"52;c;Zm9v\a",
    b"\x9d52;c;Zm9v\a": "\ufffd52;c;Zm9v\a".encode(),
    b"\x1b]52;c;Zm9v\x1b[31mred": b"\x1b[31mred",
    b"\x1b\x1b[?1049h" + CLIP: b"\x1b[?1049h" + CLIP,
    b"a\x1b[3J\x1b[2Jb\x1b[5i\x1b[?5ic\x1b(0\x1b7\x1bM": b"a\x1b[2Jbc\x1b(0\x1b7\x1bM",
}
"""Output whose pieces make one that acts, where what stands between them is left out; what is passed on."""


@pytest.mark.requirement("terminal:term-play")
@pytest.mark.parametrize("data", JOINED)
def test_what_is_left_out_of_output_joins_nothing_that_acts(data: bytes) -> None:
    for size in range(1, len(data) + 1):
        safe = SafeOutput()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert b"".join(map(safe, pieces)) == JOINED[data]


@pytest.mark.requirement("terminal:term-play")
async def test_a_recording_pauses_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "two.cast"
    lines = [json.dumps({"version": 2, "width": 80, "height": 24})]
    lines += [json.dumps([0, "o", f"{at};"]) for at in range(20)]
    path.write_text("\n".join(lines))
    running, fed = asyncio.Event(), list[bytes]()
    stage = Stage(fed.append, lambda _columns, _rows: None)
    playing = asyncio.ensure_future(play(Recording(str(path)), stage, running=running))
    for _ in range(100):
        await asyncio.sleep(0)
    assert fed == []
    running.set()
    await asyncio.wait_for(playing, 20)
    assert b"".join(fed).decode() == "".join(f"{at};" for at in range(20))


@pytest.mark.requirement("terminal:recording-secrets")
async def test_an_exported_recording_has_no_secret_of_the_environment_or_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEPLOY_TOKEN", "tok-5e77ab90cd12")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/.env").write_text("DB_PASSWORD=correct-horse-9981\n")
    recorder = Recorder("one.cast", (80, 24))
    recorder.output(b"\x1b[31mtok-5e77")
    recorder.output(b"ab90cd12\x1b[m and correct-horse-9981\r\n")
    recorder.close()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "sam_tui", "term", "export"),
        *("one.cast", "two.cast", "-C", "ws"),
        stderr=subprocess.PIPE,
    )
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, err) == (0, b"two.cast: 2 masked\n")
    played = "".join(event.data for event in Recording("two.cast").events())
    assert played.startswith("\x1b[31m")
    for secret in ("5e77", "correct-horse"):
        assert secret not in (tmp_path / "two.cast").read_text(encoding="utf-8")
