import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.adapters.terminal.recordings.asciicast import Recorder, Recording, Stage, export, play
from sam_tui.adapters.terminal.recordings.picture import drawn
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from sam_tui.core.redaction.shield import Shield
from tests.shield.test_leaks import PEM, TOKEN

Until = Callable[[TerminalSession, str], Awaitable[str]]

ONE = ConversationId("one")


def lines(path: Path) -> list[list[object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def joined(path: Path, code: str) -> str:
    return "".join(event.data for event in Recording(str(path)).events() if event.code == code)


@pytest.mark.requirement("terminal:recording")
async def test_a_session_is_recorded_and_played_to_the_same_screen(
    terminals: PtyTerminals, workspace: Path, until: Until, plain_shell: None
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace), 60, 8))
    path = workspace / "demo.cast"
    stop = session.record(str(path))
    session.write(b"printf '\\033[31mr\xc3\xa9d\\033[m\\n'\r")
    await session.activity.settled(within=90)
    session.resize(50, 6)
    session.write(b"stty size; echo do''ne\r")
    await until(session, "done\r\nready> ")
    stop()
    stop()
    session.write(b"echo la''ter\r")
    await until(session, "later\r\n")
    recording = Recording(str(path))
    assert (recording.header.columns, recording.header.rows) == (60, 8)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "later" not in path.read_text()
    assert "7717" not in path.read_text()
    assert {event.code for event in recording.events()} == {"o", "r"}
    screen = EmulatedScreen(10, 10)
    await play(recording, Stage(screen.feed, screen.resize), longest_pause=0)
    assert (screen.columns, screen.rows) == (50, 6)
    assert "6 50\ndone" in screen.text()
    assert "réd" in screen.text()


@pytest.mark.requirement("terminal:recording")
@pytest.mark.parametrize("program", ["\\33[?1049h\\33[?25l", ""], ids=["all of it", "lines"])
async def test_a_recording_begins_with_the_screen_as_it_is(
    terminals: PtyTerminals, workspace: Path, until: Until, plain_shell: None, program: str
) -> None:
    session, _ = await terminals.open(SessionSpec(None, str(workspace), 60, 8))
    await session.activity.settled(within=90)
    drawing = f"{program}\\33[2J\\33[3;5H\\33[1;31;44mred\\33[38;2;1;2;3mt\U0001f642e\u0301"
    session.write(f"clear; printf '{drawing}'; read x; printf '\\33[m later'; read x\r".encode())
    await until(session, "e\u0301")
    await session.activity.settled(within=90)
    stop = session.record(str(workspace / "two.cast"))
    session.write(b"\r")
    await session.activity.settled(within=90)
    stop()
    screen = EmulatedScreen(60, 8)
    recording = Recording(str(workspace / "two.cast"))
    await play(recording, Stage(screen.feed, screen.resize), longest_pause=0)
    assert "later" in screen.text() and "red" in screen.text()
    assert screen.all_rows() == session.screen.all_rows()
    assert (screen.cursor, screen.alternate) == (session.screen.cursor, session.screen.alternate)


@pytest.mark.requirement("terminal:recording-secrets")
async def test_typing_is_recorded_on_request_and_never_while_it_is_hidden(
    terminals: PtyTerminals, workspace: Path, until: Until, plain_shell: None
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await session.activity.settled(within=90)
    path = workspace / "typed.cast"
    stop = session.record(str(path), typed=True)
    session.write(b"cat\r")
    assert (await session.activity.settled(within=90)).name == "waiting"
    session.write(b"seen\r\x04")
    await session.activity.settled(within=90)
    session.write(b"read -s -p 'Password: ' p\r")
    assert (await session.activity.settled(within=90)).secret
    session.write(b"hunter2\r")
    await session.activity.settled(within=90)
    stop()
    assert joined(path, "i") == "cat\rseen\r\x04read -s -p 'Password: ' p\r"
    assert "hunter2" not in path.read_text()


@pytest.mark.requirement("terminal:recording")
async def test_a_recording_ends_with_its_session(
    terminals: PtyTerminals,
    workspace: Path,
    until: Until,
    plain_shell: None,
    descriptors: Callable[[], int],
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    before = descriptors()
    session.record(str(workspace / "a.cast"))
    session.record(str(workspace / "b.cast"))
    assert descriptors() == before + 1
    session.write(b"echo last words; exit\r")
    await session.activity.settled(within=90)
    await terminals.close(session.id)
    assert "last words" in joined(workspace / "b.cast", "o")
    assert "last words" not in joined(workspace / "a.cast", "o")
    assert descriptors() < before


@pytest.mark.requirement("terminal:recording")
async def test_a_recording_overwrites_nothing_and_follows_no_link(
    terminals: PtyTerminals, workspace: Path, plain_shell: None
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    (workspace / "there").write_text("precious")
    (workspace / "link").symlink_to(workspace / "new")
    for name in ("there", "link", "no/such/folder"):
        with pytest.raises(ToolError, match="cannot be written"):
            session.record(str(workspace / name))
    assert (workspace / "there").read_text() == "precious"
    assert not (workspace / "new").exists()


@pytest.mark.requirement("terminal:recording-secrets")
def test_an_export_masks_secrets_however_they_were_printed(tmp_path: Path) -> None:
    now = 0.0
    recorder = Recorder(str(tmp_path / "raw.cast"), (80, 24), title="demo", clock=lambda: now)
    for number, piece in enumerate(["key=", "s3", "cr", "et", "\r\nplain\r\n", "tail s3cret"]):
        now = number / 2
        recorder.output(piece.encode())
        recorder.input(piece.encode(), secret=False)
    recorder.resized(90, 30)
    recorder.close()
    target = tmp_path / "public.cast"
    export(Recording(str(tmp_path / "raw.cast")), str(target), lambda t: t.replace("s3cret", "***"))
    assert "s3" not in target.read_text()
    assert joined(target, "o") == "key=***\r\nplain\r\ntail ***"
    assert joined(target, "r") == "90x30"
    assert Recording(str(target)).header.title == "demo"
    times = [event.at for event in Recording(str(target)).events()]
    assert times == sorted(times)


@pytest.mark.requirement("terminal:recording-secrets")
def test_an_export_masks_titles_private_keys_and_what_colours_part(tmp_path: Path) -> None:
    raw, target = tmp_path / "raw.cast", tmp_path / "public.cast"
    recorder = Recorder(str(raw), (80, 24), title=f"on {TOKEN}", clock=lambda: 0.0)
    for piece in (*PEM, f"{TOKEN[:9]}\x1b[1m{TOKEN[9:]}", "after"):
        recorder.output(f"{piece}\r\n".encode())
    recorder.close()
    shield = Shield()
    export(Recording(str(raw)), str(target), lambda text: shield.mask(text).text)
    shown = target.read_text()
    assert not [secret for secret in (TOKEN, TOKEN[9:], *PEM[1:7]) if secret in shown]
    assert joined(target, "o").endswith("\r\nafter\r\n")


@pytest.mark.requirement("terminal:recording")
async def test_pauses_are_kept_up_to_a_limit_and_cancelling_stops(tmp_path: Path) -> None:
    path = tmp_path / "slow.cast"
    path.write_text(
        '{"version": 2, "width": 20, "height": 3}\n[0.0, "o", "one"]\n\n[5.0, "o", "two"]\n'
        '[4.0, "x", "unknown"]\n[9000.0, "o", "three"]\n[9000.0, "r", "0x99999"]\n'
    )
    recording = Recording(str(path))
    assert [event.at for event in recording.events()] == [0, 5, 5, 9000, 9000]
    fed: list[bytes] = []
    sizes: list[tuple[int, int]] = []
    stage = Stage(fed.append, lambda columns, rows: sizes.append((columns, rows)))
    await play(recording, stage, speed=1000, longest_pause=0.01)
    assert (fed, sizes) == ([b"one", b"two", b"three"], [(20, 3), (1, 1000)])
    fed.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await play(recording, stage, longest_pause=1000)
    assert fed == [b"one"]


@pytest.mark.requirement("terminal:recording")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json\n",
        '{"version": 1, "width": 2, "height": 2}\n',
        '{"version": 2, "width": 0, "height": 2}\n',
        '{"version": 2, "width": "2", "height": 2}\n',
        "[]\n",
        "[" * 100_000,
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.cast"
    path.write_text(text)
    with pytest.raises(ToolError, match="not an asciicast recording"):
        Recording(str(path))
    with pytest.raises(ToolError, match="cannot be read"):
        Recording(str(tmp_path / "absent.cast"))


@pytest.mark.requirement("terminal:recording")
@pytest.mark.parametrize("line", ["{}", "[1]", '["1", "o", "x"]', '[-1, "o", "x"]', "[NaN]", "x"])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "wrong.cast"
    path.write_text('{"version": 2, "width": 2, "height": 2}\n[0, "o", "x"]\n' + line + "\n")
    with pytest.raises(ToolError, match="line 3"):
        list(Recording(str(path)).events())


@pytest.mark.requirement("terminal:recording")
def test_a_recording_whose_last_line_was_cut_off_plays_to_there(tmp_path: Path) -> None:
    path = tmp_path / "cut.cast"
    path.write_text('{"version": 2, "width": 2, "height": 2}\n[0, "o", "x"]\n[1, "o", "y')
    assert [event.data for event in Recording(str(path)).events()] == ["x"]


@pytest.mark.requirement("terminal:recording")
def test_a_recording_of_the_third_version_tells_times_as_intervals(tmp_path: Path) -> None:
    path = tmp_path / "third.cast"
    path.write_text(
        '{"version": 3, "term": {"cols": 30, "rows": 5}}\n'
        '# a remark\n[0.5, "o", "x"]\n[0.25, "o", "y"]\n[1, "x", "0"]\n'
    )
    recording = Recording(str(path))
    assert (recording.header.columns, recording.header.rows) == (30, 5)
    assert [(event.at, event.data) for event in recording.events()] == [
        (0.5, "x"), (0.75, "y"), (1.75, "0")
    ]  # fmt: skip


@pytest.mark.requirement("terminal:recording")
@given(pieces=st.lists(st.binary(max_size=40), max_size=20))
def test_any_output_is_recorded_as_the_text_it_is(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("cast") / "any.cast"
    recorder = Recorder(str(path), (80, 24))
    for piece in pieces:
        recorder.output(piece)
    recorder.close()
    assert joined(path, "o") == b"".join(pieces).decode(errors="replace")
    assert all(len(event) == 3 for event in lines(path))


@pytest.mark.requirement("terminal:recording")
@pytest.mark.requirement("terminal:term-attach")
@pytest.mark.parametrize(
    "left",
    [
        "",
        "\x1b(0",
        "\x1b)0\x0e",
        "\x1b[4h",
        "\x1b[3;9r\x1b[?6h\x1b[2;3H",
        "\x1b[?69h\x1b[5;20s\x1b[3;9r\x1b[?6h\x1b[2;3H",
        "\x1b[1;4:3;31;44m",
        "\x1b[?7l\x1b[?2026h",
    ],
)
def test_what_is_printed_behind_a_picture_of_a_screen_stands_as_on_the_screen(left: str) -> None:
    screen, picture = EmulatedScreen(60, 19), EmulatedScreen(60, 19)
    screen.feed(f"first line\r\n\x1b[32mgreen\x1b[m {left}lqk".encode())
    # Whoever draws it may have been left in any state as well.
    picture.feed(b"\x1b(0\x1b[?69h\x1b[7;9s\x1b[4;6r\x1b[?6h\x1b[4h\x1b[7m")
    picture.feed(drawn(screen).encode())
    for printed in (b"", b"qx tail", b"\x1b[5;5Hmore" + b"z" * 70 + b"\r\n" * 12 + b"end"):
        for terminal in (screen, picture):
            terminal.feed(printed)
        assert picture.all_rows() == screen.all_rows()
        assert picture.cursor == screen.cursor
