import asyncio
import hashlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.processes.output import OutputHistory
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import SessionSpec
from tests.terminal.session_kit import ONE, TWO, Until, ended

pytestmark = pytest.mark.usefixtures("plain_shell")


@pytest.mark.requirement("terminal:session-runs")
async def test_a_session_is_a_shell_on_a_real_terminal(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, made = await terminals.open(SessionSpec(ONE, str(workspace), 91, 17))
    session.write(b"echo $((6 * 7)); tty; pwd; stty size; echo $TERM\r")
    text = await until(session, "xterm-256color")
    assert made
    assert f"42\r\n{session.tty_name}\r\n{workspace}\r\n17 91\r\n" in text
    assert session.running
    assert session.exit_code is None


@pytest.mark.requirement("terminal:one-session")
async def test_a_conversation_has_one_session_even_when_asked_for_at_once(
    terminals: PtyTerminals, workspace: Path
) -> None:
    spec = SessionSpec(ONE, str(workspace))
    opened = await asyncio.gather(*(terminals.open(spec) for _ in range(5)))
    assert len({session.id for session, _ in opened}) == 1
    assert sorted(made for _, made in opened) == [False] * 4 + [True]
    other, made = await terminals.open(SessionSpec(TWO, str(workspace)))
    assert made
    assert other.id != opened[0][0].id


@pytest.mark.requirement("terminal:one-session")
async def test_another_folder_restarts_the_session_and_another_spelling_does_not(
    terminals: PtyTerminals, workspace: Path, outside: Path
) -> None:
    first, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    link = outside / "link"
    link.symlink_to(workspace)
    same, made = await terminals.open(SessionSpec(ONE, str(link)))
    assert (same, made) == (first, False)
    other, made = await terminals.open(SessionSpec(ONE, str(outside)))
    assert made
    assert not first.running
    assert terminals.find(first.id) is None
    assert terminals.find(other.id) is other


@pytest.mark.requirement("terminal:one-session")
async def test_an_ended_session_is_kept_until_it_is_opened_again(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    spec = SessionSpec(ONE, str(workspace))
    session, _ = await terminals.open(spec)
    await until(session, "ready>")
    session.write(b"echo last words; exit 7\r")
    await ended(session)
    assert (session.running, session.exit_code) == (False, 7)
    assert terminals.find(session.id) is session
    assert "last words\r\n" in session.output(0).text
    with pytest.raises(ToolError, match="has ended"):
        session.write(b"more")
    again, made = await terminals.open(spec)
    assert made
    assert again.id != session.id


@pytest.mark.requirement("terminal:one-session")
async def test_a_looser_session_is_not_handed_to_a_confined_request(
    terminals: PtyTerminals, workspace: Path
) -> None:
    loose, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    tight, made = await terminals.open(SessionSpec(ONE, str(workspace), confined=True))
    assert made
    assert tight.id != loose.id
    assert (await terminals.open(SessionSpec(ONE, str(workspace))))[0] is tight


@pytest.mark.requirement("terminal:session-confined")
async def test_a_confined_session_cannot_write_outside(
    terminals: PtyTerminals, sandbox: Sandbox, workspace: Path, outside: Path, until: Until
) -> None:
    spec = SessionSpec(ONE, str(workspace), confined=True, writable=(str(workspace),))
    session, _ = await terminals.open(spec)
    session.write(f"echo x > {outside}/victim; echo y > mine; echo do''ne\r".encode())
    await until(session, "done\r\n")
    assert (workspace / "mine").read_text() == "y\n"
    if sandbox.confinement.kind == "none":
        pytest.skip("the kernel offers no Landlock")
    assert (outside / "victim").read_text() == "precious"


@pytest.mark.requirement("terminal:session-environment")
async def test_the_person_s_shell_keeps_its_keys_and_the_agent_s_has_none(
    terminals: PtyTerminals, workspace: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    command = b"echo key=[$OPENAI_API_KEY]; echo do''ne\r"
    mine, made = await terminals.open(SessionSpec(None, str(workspace)))
    also_mine, also_made = await terminals.open(SessionSpec(None, str(workspace)))
    agents, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    mine.write(command)
    agents.write(command)
    assert "key=[sk-1234]" in await until(mine, "done\r\n")
    assert "key=[]" in await until(agents, "done\r\n")
    assert made
    assert also_made
    assert mine.id != also_mine.id


@pytest.mark.requirement("terminal:session-runs")
async def test_a_program_hears_of_a_new_size(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    session.resize(77, 20)
    session.write(b"stty size\r")
    await until(session, "20 77\r\n")
    assert (session.screen.columns, session.screen.rows) == (77, 20)
    session.resize(0, 99999)
    session.write(b"stty size\r")
    await until(session, "1000 1\r\n")


@pytest.mark.requirement("terminal:session-runs")
async def test_ctrl_c_interrupts_what_runs_and_leaves_the_shell(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    # A shell loses an interrupt that comes while it starts a program; this one runs once it reads.
    session.write(b"cat\r")
    await until(session, "cat\r\n")
    assert (await session.activity.settled(within=90)).name == "waiting"
    session.write(b"\x03")
    await until(session, "^C\r\nready> ")
    session.write(b"echo code=$?\r")
    assert "code=130" in await until(session, "code=130")


@pytest.mark.requirement("terminal:session-closes")
async def test_watchers_hear_of_output_and_of_the_end(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    heard: list[bool] = []
    stop = session.watch(lambda: heard.append(session.running))
    await until(session, "ready>")
    assert heard[-1]
    await terminals.close(session.id)
    assert not heard[-1]
    stop()
    stop()


@pytest.mark.requirement("terminal:history")
async def test_output_is_read_from_an_index_and_says_what_was_dropped(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    session.write(b"echo fir''st\r")
    await until(session, "first\r\n")
    middle = session.output(0).end
    session.write(b"seq -w 1 300000; echo the-e''nd\r")
    await until(session, "the-end\r\n")
    rest = session.output(middle)
    assert rest.start > middle
    assert rest.end - rest.start == len(rest.text) <= 1_000_000
    assert "299999\r\n300000\r\nthe-end" in rest.text
    assert session.output(rest.end + 99).text == ""
    assert session.output(rest.end - 3).start == rest.end - 3


@pytest.mark.requirement("terminal:history")
def test_a_character_cut_between_two_reads_is_never_lost() -> None:
    history = OutputHistory()
    for byte in "a€😀\N{COMBINING ACUTE ACCENT}b".encode():
        history.add(bytes([byte]))
    assert history.since(0).text == "a€😀\N{COMBINING ACUTE ACCENT}b"
    history.add("€".encode()[:2], final=True)
    assert history.since(0).text.endswith("b�")


@pytest.mark.requirement("terminal:history")
def test_the_ring_keeps_exactly_its_limit() -> None:
    history = OutputHistory(limit=10)
    for piece in (b"abc", b"defghijklmnop", b"q", b"rstuvwxyz"):
        history.add(piece)
    found = history.since(-5)
    assert (found.text, found.start, found.end) == ("qrstuvwxyz", 16, 26)
    assert history.since(20).text == "uvwxyz"
    assert history.since(99).start == 26


@pytest.mark.requirement("terminal:quiet")
async def test_quiet_waits_while_output_comes_and_gives_up_in_time(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    session.write(b"for i in 1 2 3 4 5 6; do echo n$i; sleep 0.05; done; echo fi''nal\r")
    await session.activity.quiet(silence=3, within=90)
    assert "final\r\n" in session.output(0).text
    session.write(b"while :; do echo again; sleep 0.02; done\r")
    await until(session, "again\r\n")
    async with asyncio.timeout(90):
        await session.activity.quiet(silence=5, within=0.2)
    await session.activity.end_command()
    session.write(b"exit\r")
    async with asyncio.timeout(90):
        await session.activity.quiet(silence=60, within=60)
    assert not session.running


@pytest.mark.requirement("terminal:session-runs")
async def test_more_than_a_terminal_takes_at_once_arrives_whole(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    session.write(b"stty raw -echo; echo rea''dy; sleep 0.2; head -c 1300000 | md5sum\r")
    await until(session, "ready\n")
    data = (bytes(range(97, 123)) * 50_000)[:1_300_000]
    session.write(data)
    await until(session, hashlib.md5(data, usedforsecurity=False).hexdigest())


@pytest.mark.requirement("terminal:session-runs")
async def test_input_nobody_reads_is_bounded(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    session.write(b"stty raw -echo; echo rea''dy; sleep 100\r")
    await until(session, "ready\n")
    with pytest.raises(ToolError, match="not reading"):
        for _ in range(40):
            session.write(b"x" * 65536)


@pytest.mark.requirement("terminal:session-start-fails")
async def test_a_missing_folder_starts_nothing(terminals: PtyTerminals, workspace: Path) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await terminals.open(SessionSpec(ONE, str(workspace / "gone")))


@pytest.mark.requirement("terminal:session-start-fails")
async def test_a_shell_that_cannot_run_is_replaced_by_one_that_can(
    terminals: PtyTerminals, workspace: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", str(workspace / "no-such-shell"))
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    session.write(b"echo still he''re\r")
    await until(session, "still here\r\n")


@pytest.mark.requirement("terminal:screen-lazy", "terminal:declarations")
def test_a_session_nobody_looks_at_never_loads_the_emulator(workspace: Path) -> None:
    script = """
        import asyncio, sys
        from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
        from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
        from sam_tui.core.ports.processes.terminals import SessionSpec
        async def main():
            terminals = PtyTerminals(Sandbox())
            session, _ = await terminals.open(SessionSpec("c", sys.argv[1]))
            session.write(b"exit\\r")
            await session.activity.quiet(silence=20, within=90)
            assert not session.running
            assert not [m for m in sys.modules if m.startswith(("pyghostty", "textual", "rich"))]
            assert session.screen.text()
            assert "pyghostty" in sys.modules
            assert not {"cffi", "pycparser"} & set(sys.modules)
        asyncio.run(main())
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(workspace)], check=True)


@pytest.mark.requirement("terminal:screen-lazy")
async def test_a_screen_looked_at_late_shows_what_was_printed_before(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    session.write(b"printf '\\033[2J\\033[3;5Hpla\"\"ced\\n'\r")
    await until(session, 'pla""ced\r\n')
    assert session.screen.text().splitlines()[2] == '    pla""ced'
    session.write(b"echo af''ter\r")
    await until(session, "after\r\n")
    assert "after" in session.screen.text()


@pytest.mark.requirement("terminal:screen-answers")
async def test_a_program_that_asks_where_the_cursor_is_gets_an_answer(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(ONE, str(workspace)))
    await until(session, "ready>")
    ask = r"""printf '\033[2;7H\033[6n'; read -rsd R answer; printf 'got:%q.\n' "$answer" """
    session.write(ask.encode() + b"\r")
    await until(session, "got:$'\\E[2;7'.")
