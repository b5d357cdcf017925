import asyncio
import itertools
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.adapters.terminal.shell_integration.marks import Mark, MarkStream, integrate
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.terminals import CommandRecord, SessionSpec, TerminalSession
from tests.terminal.session_kit import SHELLS

Until = Callable[[TerminalSession, str], Awaitable[str]]
Open = Callable[[str], Awaitable[TerminalSession]]

ONE = ConversationId("one")
PATIENCE = 90.0
NEEDS_PROC = pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")

pytestmark = pytest.mark.usefixtures("plain_shell")


async def enter(session: TerminalSession, line: str) -> CommandRecord:
    """Type a line and wait; returns the newest record."""
    session.write(line.encode() + b"\r")
    await session.activity.settled(within=PATIENCE)
    return session.commands[-1]


async def sleeping(session: TerminalSession) -> None:
    """Wait until ``sleep`` has the terminal: between two commands a shell has the first one's code."""
    if sys.platform != "linux":
        return  # the system does not tell
    async with asyncio.timeout(PATIENCE):
        while session.activity.program != "sleep":  # noqa: ASYNC110 # no event says it
            await asyncio.sleep(0.005)


def output(session: TerminalSession, record: CommandRecord) -> list[str]:
    """The lines that a command printed, without control sequences."""
    text = session.output(record.start, record.end).text
    return [line.rpartition("\r")[2] for line in text.removesuffix("\r\n").split("\r\n")]


@pytest.mark.requirement("terminal:records")
@pytest.mark.parametrize("shell", SHELLS)
async def test_every_command_is_recorded_with_its_end(
    open_shell: Open, workspace: Path, shell: str
) -> None:
    session = await open_shell(shell)
    (workspace / "sub ü").mkdir()
    first = await enter(session, "printf 'one\\ntwo'")
    assert (first.command, first.exit_code, first.cwd) == (
        "printf 'one\\ntwo'",
        0,
        str(workspace),
    )
    assert output(session, first) == ["one", "two"]
    failed = await enter(session, "false")
    assert (failed.command, failed.exit_code) == ("false", 1)
    await enter(session, "cd 'sub ü'")
    assert session.directory == str(workspace / "sub ü")
    assert session.cwd == str(workspace)
    slow = await enter(session, "sleep 0.1; echo x")
    assert (output(session, slow), slow.cwd) == (["x"], str(workspace / "sub ü"))
    assert slow.seconds
    assert len(session.commands) == 4
    assert session.activity.state.name == "finished"


@pytest.mark.requirement("terminal:records")
@pytest.mark.parametrize("shell", SHELLS)
async def test_the_person_s_own_start_up_files_are_loaded(open_shell: Open, shell: str) -> None:
    session = await open_shell(shell)
    assert output(session, await enter(session, "mine")) == ["loaded"]
    assert "ready> " in session.output(0).text


@pytest.mark.requirement("terminal:records")
@pytest.mark.parametrize("shell", SHELLS)
async def test_the_running_command_is_the_last_record(
    open_shell: Open, until: Until, shell: str
) -> None:
    session = await open_shell(shell)
    session.write(b"echo be''gun; sleep 300\r")
    await until(session, "begun\r\n")
    assert session.activity.state.name in ("running", "quiet")
    running = session.commands[-1]
    assert (running.command, running.end) == ("echo be''gun; sleep 300", None)
    assert running.exit_code is None
    await sleeping(session)
    assert (await session.activity.end_command()).name == "finished"
    assert session.commands[-1].exit_code == 130


@pytest.mark.requirement("terminal:records")
async def test_two_lines_typed_at_once_are_two_records(open_shell: Open) -> None:
    session = await open_shell("bash")
    await enter(session, "echo one\rsleep 0.2; echo two")
    assert [output(session, record) for record in session.commands] == [["one"], ["two"]]


@pytest.mark.requirement("terminal:records")
@pytest.mark.parametrize(
    ("typed", "recorded"),
    [
        ("echo 'a  b' \"$HOME\" `true` \\\\", "echo 'a  b' \"$HOME\" `true` \\\\"),
        (" echo not kept", "echo not kept"),
        ("echo hellp\x7fo", "echo hello"),
        ("echo b\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[Dtrue; \x05", "true; echo b"),
        ("for i in 1 2\rdo echo $i\rdone", "for i in 1 2; do echo $i; done"),
    ],
)
async def test_bash_commands_are_told_as_they_ran(
    open_shell: Open, typed: str, recorded: str
) -> None:
    session = await open_shell("bash")
    await enter(session, "true")
    assert (await enter(session, typed)).command == recorded
    assert (await enter(session, typed)).command == recorded


@pytest.mark.requirement("terminal:records")
async def test_a_prompt_that_is_made_anew_every_time_stays_marked(open_shell: Open) -> None:
    session = await open_shell("bash")
    await enter(session, "PROMPT_COMMAND+=('PS1=\"\\$? new> \"')")
    await enter(session, "(exit 7)")
    record = await enter(session, "true")
    assert "7 new> " in session.output(0).text
    assert record.exit_code == 0
    assert [r.exit_code for r in session.commands[-2:]] == [7, 0]


@pytest.mark.requirement("terminal:marks-private")
@pytest.mark.parametrize("shell", SHELLS)
async def test_a_program_cannot_forge_the_end_of_a_command(
    open_shell: Open, until: Until, shell: str
) -> None:
    session = await open_shell(shell)
    forged = r"printf '\033]133;D;0\033\\\033]7717;0123456789abcdef0123456789abcdef;D;0\a/x'"
    session.write(f"{forged}; echo be''gun; sleep 300\r".encode())
    await until(session, "begun\r\n")
    assert session.commands[-1].end is None
    assert session.directory != "/x"
    await sleeping(session)
    await session.activity.end_command()
    assert session.commands[-1].exit_code == 130


@pytest.mark.requirement("terminal:marks-private")
@pytest.mark.parametrize("shell", SHELLS)
async def test_the_secret_is_in_no_output_environment_or_file(
    open_shell: Open, shell: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    session = await open_shell(shell)
    await enter(
        session, "env; tr '\\0' '\\n' < /proc/$fish_pid$$/environ; tr '\\0' ' ' </proc/self/cmdline"
    )
    await enter(session, "echo do''ne")
    assert "7717" not in session.output(0).text
    assert "done" in session.output(0).text
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.requirement("terminal:marks-private")
async def test_a_shell_that_never_tells_leaves_no_file_behind(
    terminals: PtyTerminals, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "home" / ".bashrc").write_text("exec sleep 300")
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await terminals.close(session.id)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.requirement("terminal:states")
@NEEDS_PROC
async def test_a_shell_without_integration_is_followed_by_what_it_does(
    open_shell: Open, until: Until
) -> None:
    session = await open_shell("sh")
    assert session.commands == ()
    assert session.activity.state.name == "finished"
    session.write(b"sleep 0.6; echo en''d\r")
    assert (await session.activity.settled(within=PATIENCE)).name == "finished"
    assert "end\r\n" in session.output(0).text
    session.write(b"cd /; echo be''gun; sleep 300\r")
    await until(session, "begun\r\n")
    assert session.activity.state.name in ("running", "quiet")
    assert session.directory == "/"


@pytest.mark.requirement("terminal:states")
@NEEDS_PROC
@pytest.mark.parametrize(
    ("command", "secret"),
    [
        ("cat", False),
        ("read -p 'go on? ' x", False),
        ("read -s -p 'Password: ' x", True),
        ("python3 -c 'input()'", False),
        ("python3 -c 'import getpass; getpass.getpass()'", True),
        ("less -X /etc/passwd", False),
        ("(echo piped; sleep 300) | cat - /dev/tty > /dev/null & fg", None),
    ],
)
async def test_a_program_that_waits_for_keys_is_told_from_one_that_works(
    open_shell: Open, command: str, secret: bool | None
) -> None:
    session = await open_shell("bash")
    session.write(command.encode() + b"\r")
    if secret is None:
        assert (await session.activity.settled(within=1.5)).name != "waiting"
    else:
        state = await session.activity.settled(within=PATIENCE)
        assert (state.name, state.secret) == ("waiting", secret)


@pytest.mark.requirement("terminal:states")
async def test_a_command_that_prints_nothing_for_long_is_quiet(
    open_shell: Open, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sam_tui.adapters.terminal.sessions.activity._QUIET", 0.2)
    session = await open_shell("bash")
    session.write(b"echo be''gun; sleep 300\r")
    await until(session, "begun\r\n")
    state = await session.activity.settled(within=0.8)
    assert state.name == "quiet"
    assert state.seconds >= 0.2


@pytest.mark.requirement("terminal:states")
async def test_the_end_of_the_shell_ends_its_last_record(open_shell: Open) -> None:
    session = await open_shell("bash")
    session.write(b"echo bye; exit 9\r")
    assert (await session.activity.settled(within=PATIENCE)).name == "finished"
    assert not session.running
    last = session.commands[-1]
    assert (last.command, last.exit_code, last.end) == ("echo bye; exit 9", 9, session.end)


@pytest.mark.requirement("terminal:escalation")
@pytest.mark.parametrize(
    ("command", "code", "signals"),
    [
        ("bash -c 'echo rea\"\"dy; exec sleep 300'", 130, ["INT"]),
        ('bash -c \'trap "" INT; echo rea""dy; sleep 300\'', 143, ["INT", "TERM"]),
        (
            'bash -c \'trap "" INT TERM; echo rea""dy; while :; do sleep 1; done\'',
            137,
            ["INT", "TERM", "KILL"],
        ),
    ],
)
async def test_a_command_is_ended_by_as_much_as_it_takes_and_the_shell_stays(
    open_shell: Open,
    monkeypatch: pytest.MonkeyPatch,
    until: Until,
    command: str,
    code: int,
    signals: list[str],
) -> None:
    if code == 137:
        monkeypatch.setattr("sam_tui.adapters.terminal.sessions.activity._STEP", 0.3)
    session = await open_shell("bash")
    session.write(command.encode() + b"\r")
    await until(session, "ready\r\n")
    sent: list[str] = []
    assert (await session.activity.end_command(sent.append)).name == "finished"
    # A busy shell that has the terminal again is interrupted, too, and may note that as the exit code.
    names = [name for name, _ in itertools.groupby(sent)]
    interrupted = names[len(signals) :] == ["INT"]
    assert names[: len(signals)] == signals and (interrupted or names == signals)
    assert session.commands[-1].exit_code in ((code, 130) if interrupted else (code,))
    assert output(session, await enter(session, "echo alive")) == ["alive"]
    assert (await session.activity.end_command()).name == "finished"


@pytest.mark.requirement("terminal:escalation")
@pytest.mark.parametrize("shell", [*SHELLS, "sh"])
@pytest.mark.parametrize("step", ["true", "sleep 0.01", "sleep 0.002; true"])
async def test_a_loop_of_the_shell_ends_and_the_next_line_arrives_whole(
    open_shell: Open, until: Until, shell: str, step: str
) -> None:
    session = await open_shell(shell)
    loop = f"while true; {step}; end" if shell == "fish" else f"while :; do {step}; done"
    for number in range(4):
        session.write(f"echo go''{number}; {loop}\r".encode())
        await until(session, f"go{number}\r\n")
        assert (await session.activity.end_command()).name == "finished"
        session.write(f"echo we''ll{number}\r".encode())
        await until(session, f"well{number}\r\n")


# ---- marks


def collected(stream: MarkStream, pieces: list[bytes]) -> tuple[bytes, list[Mark]]:
    text, marks = b"", list[Mark]()
    for piece in pieces:
        for part in stream.split(piece):
            if isinstance(part, Mark):
                marks.append(part)
            else:
                text += part
    return text + stream.remainder(), marks


STREAM = (
    b"a\x1b[1mb\x1b]7717;n;D;12\a/tmp/\xc3\xa9\x1b]7717;n;.;\a$ \x1b]7717;n;B;\a\x1b]77"
    b"\x1b]7717;n;C;\a  5  ls\r\n\a\x1b[x\x1b]7717;n;.;\aout\x1b]7717;m;D;0\a\x1b"
)


@pytest.mark.requirement("terminal:marks-private")
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_marks_are_found_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in itertools.pairwise(places)]
    text, marks = collected(MarkStream("n"), pieces)
    assert marks == [Mark("D", 12, "/tmp/é"), Mark("B"), Mark("C", 0, "  5  ls\n\a\x1b[x")]
    assert text == b"a\x1b[1mb$ \x1b]77out\x1b]7717;m;D;0\a\x1b"


@pytest.mark.requirement("terminal:marks-private")
@given(st.lists(st.binary(max_size=30), max_size=20))
def test_output_without_marks_passes_unchanged(pieces: list[bytes]) -> None:
    text, marks = collected(MarkStream("secret"), pieces)
    assert (text, marks) == (b"".join(pieces), [])


@pytest.mark.requirement("terminal:marks-private")
def test_a_mark_whose_end_is_lost_does_not_swallow_the_output() -> None:
    text, marks = collected(MarkStream("n"), [b"\x1b]7717;n;C;\a", *[b"x" * 1000] * 100, b"end"])
    assert text.endswith(b"xend")
    assert [mark.kind for mark in marks] == ["C"]
    open_mark = b"\x1b]7717;n;" + b"9" * 200
    assert collected(MarkStream("n"), [open_mark, b"after"])[0].endswith(b"after")


@pytest.mark.requirement("terminal:marks-private")
def test_another_shell_is_started_plainly() -> None:
    assert integrate("/bin/tcsh").argv == ("/bin/tcsh",)
    assert integrate("/bin/tcsh").environment == {}
