"""Real full-screen programs, driven by keys and looked at through the emulator."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ports.processes.screens import KeyPress, MouseInput
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from tests.fakes.programs import needs

DEADLINE = 90.0

pytestmark = pytest.mark.usefixtures("plain_shell")


class Person:
    """Looks at a session's screen and presses keys."""

    def __init__(self, session: TerminalSession) -> None:
        self.session = session

    def press(self, *keys: str) -> None:
        for key in keys:
            character = key if len(key) == 1 else None
            self.session.write(self.session.screen.input.key(KeyPress(key, character)))

    def type(self, text: str) -> None:
        self.press(*("space" if c == " " else c for c in text))

    async def enter(self, command: str) -> None:
        self.session.write(command.encode() + b"\r")
        await self.session.activity.settled(within=DEADLINE)

    async def sees(self, wanted: str, *, row: int | None = None) -> list[str]:
        """Wait until the screen, or a row of it, shows a text; returns its lines."""
        changed = asyncio.Event()
        stop = self.session.watch(changed.set)
        try:
            async with asyncio.timeout(DEADLINE):
                while True:
                    text = self.session.screen.text()
                    lines = text.split("\n")
                    if wanted in (text if row is None else lines[row]):
                        return lines
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            pytest.fail(f"never showed {wanted!r}:\n{self.session.screen.text()}")
        finally:
            stop()


@pytest.fixture
async def person(terminals: PtyTerminals, workspace: Path) -> AsyncIterator[Person]:
    session, _ = await terminals.open(SessionSpec(None, str(workspace), 60, 12))
    assert session.screen.rows == 12
    await session.activity.settled(within=DEADLINE)
    yield Person(session)


@needs("vim")
@pytest.mark.requirement("terminal:programs")
async def test_vim_edits_a_file(person: Person, workspace: Path) -> None:
    await person.enter("vim -u NONE -N note.txt")
    await person.sees('"note.txt" [New')
    assert person.session.screen.alternate
    person.press("i")
    await person.sees("-- INSERT --")
    person.type("hello")
    person.press("enter")
    person.type("world")
    person.press("up", "home", "delete", "end", "!")
    person.press("escape")
    lines = await person.sees("ello!")
    assert lines[:2] == ["ello!", "world"]
    person.type(":wq")
    person.press("enter")
    await person.session.activity.settled(within=DEADLINE)
    assert (workspace / "note.txt").read_text() == "ello!\nworld\n"
    assert not person.session.screen.alternate
    assert person.session.commands[-1].exit_code == 0


@needs("less")
@pytest.mark.requirement("terminal:programs")
async def test_less_pages_searches_and_scrolls_by_wheel(person: Person) -> None:
    await person.enter("seq 1 500 | less")
    await person.sees("11\n:")
    person.press("space")
    await person.sees("22\n:")
    person.type("/^300$")
    person.press("enter")
    lines = await person.sees("300\n301")
    assert lines[0] == "300"
    wheel = MouseInput("press", "wheel_down", 5, 5)
    person.session.write(person.session.screen.input.mouse(wheel))
    await person.sees("303", row=0)
    person.press("q")
    assert (await person.session.activity.settled(within=DEADLINE)).name == "finished"


@needs("tmux")
@pytest.mark.requirement("terminal:programs")
async def test_tmux_splits_panes_and_follows_the_size(person: Person, workspace: Path) -> None:
    tmux = f"tmux -f /dev/null -S {workspace}/socket"
    await person.enter(f"{tmux} new-session 'PS1=one bash --norc'")
    await person.sees("[0]")
    try:
        person.press("ctrl+b", '"')
        await person.sees("───")
        person.type("stty size")
        person.press("enter")
        await person.sees("5 60")
        person.session.resize(44, 20)
        await person.sees("[0]", row=19)
        # tmux passes a new size on to its panes a moment later.
        person.type("until stty size | grep -q ' 44$'; do sleep 0.05; done; echo fit''ted")
        person.press("enter")
        await person.sees("\nfitted")
        person.press("ctrl+b", "d")
        await person.session.activity.settled(within=DEADLINE)
    finally:
        await person.enter(f"{tmux} kill-server")
    assert not person.session.screen.alternate


@pytest.mark.requirement("terminal:programs")
async def test_python_is_spoken_to(person: Person) -> None:
    await person.enter("python3 -q")
    await person.sees(">>>")
    person.type("[n*n for n in range(5)]")
    person.press("enter")
    await person.sees("\n[0, 1, 4, 9, 16]\n>>>")
    person.press("up", "backspace")
    person.type("][2]")
    person.press("home", "right", "delete", "n", "end", "enter")
    await person.sees("\n4\n>>>")
    person.type("input('name? ')")
    person.press("enter")
    await person.sees("\nname?")
    assert person.session.activity.state.name in ("waiting", "running")
    person.press("ctrl+c")
    await person.sees("KeyboardInterrupt\n>>>")
    person.press("ctrl+d")
    assert (await person.session.activity.settled(within=DEADLINE)).name == "finished"


@needs("git")
@pytest.mark.requirement("terminal:programs")
async def test_git_stages_hunk_by_hunk(person: Person, workspace: Path) -> None:
    numbers = "\n".join(map(str, range(40)))
    (workspace / "file").write_text(numbers)
    await person.enter(
        "git init -q . && git add file && git -c user.name=a -c user.email=a@b commit -qm a"
    )
    (workspace / "file").write_text(numbers.replace("3\n", "three\n", 1).replace("38", "x"))
    await person.enter("git --no-pager -c color.ui=always add -p file")
    await person.sees("(1/2) Stage this hunk")
    assert person.session.activity.state.name == "waiting"
    person.press("y", "enter")
    await person.sees("(2/2) Stage this hunk")
    person.press("n", "enter")
    await person.session.activity.settled(within=DEADLINE)
    await person.enter("git --no-pager diff --cached --shortstat")
    await person.sees("1 insertion(+)")


@needs("fzf")
@pytest.mark.requirement("terminal:programs")
async def test_fzf_narrows_and_chooses(person: Person) -> None:
    await person.enter("seq 100 199 | fzf > chosen")
    await person.sees("100/100")
    person.type("77")
    await person.sees("1/100")
    person.press("enter")
    await person.session.activity.settled(within=DEADLINE)
    await person.enter("echo =$(cat chosen)=")
    await person.sees("=177=")


@needs("htop")
@pytest.mark.requirement("terminal:programs")
async def test_htop_shows_processes_and_is_driven_by_function_keys(person: Person) -> None:
    person.session.resize(100, 30)
    # Not waited for as others are: a program that draws by the clock never waits for a key.
    person.session.write(b"HTOPRC=/dev/null htop -d 5\r")
    await person.sees("F10")
    person.press("f1")
    await person.sees("htop 3")
    person.press("q")
    await person.sees("F10")
    person.press("f10")
    assert (await person.session.activity.settled(within=DEADLINE)).name == "finished"
    assert not person.session.screen.alternate


@needs("nano")
@pytest.mark.requirement("terminal:programs")
async def test_nano_edits_a_file(person: Person, workspace: Path) -> None:
    await person.enter("nano -I note.txt")
    await person.sees("^X")
    person.type("hello")
    person.press("ctrl+o", "enter")
    await person.sees("Wrote 1 line")
    person.press("ctrl+x")
    await person.session.activity.settled(within=DEADLINE)
    assert (workspace / "note.txt").read_text() == "hello\n"
