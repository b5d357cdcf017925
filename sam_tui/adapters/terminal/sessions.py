"""Terminal sessions: a shell, its history, and the emulator that is there once somebody looks."""

import asyncio
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sam_tui.adapters.terminal.confinement import Sandbox
from sam_tui.adapters.terminal.environment import session_environment
from sam_tui.adapters.terminal.history import History
from sam_tui.adapters.terminal.pty import Pty, PtyLaunch
from sam_tui.core.ids import ConversationId, SessionId, mint
from sam_tui.core.ports import Screen, SessionOutput, SessionSpec, TerminalSession

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.screen import EmulatedScreen

_LARGEST_SIDE = 1000
# Device attributes, status and cursor reports (ECMA-48, xterm): a program waits for the answer.
_QUESTION = re.compile(rb"\x1b\[(?:[>=]?0?c|\??[56]n)")


class PtySession:
    """The ``TerminalSession`` port on a real pseudo-terminal."""

    def __init__(self, spec: SessionSpec, launch: PtyLaunch) -> None:
        self._id = SessionId(mint("term"))
        self._conversation = spec.conversation
        self._cwd = launch.cwd
        self._confined = spec.confined
        self._size = (launch.columns, launch.rows)
        self._history = History()
        self._screen: EmulatedScreen | None = None
        self._watchers: list[Callable[[], None]] = []
        self._activity = asyncio.Event()
        self._pty = Pty(launch, self._heard, self._ended)

    @property
    def id(self) -> SessionId:
        """Opaque and unguessable."""
        return self._id

    @property
    def conversation(self) -> ConversationId | None:
        """Whose session this is; None for the person's own shell."""
        return self._conversation

    @property
    def tty_name(self) -> str:
        """The path of its terminal device."""
        return self._pty.tty_name

    @property
    def cwd(self) -> str:
        """The real path of the folder it was started in."""
        return self._cwd

    @property
    def running(self) -> bool:
        """Whether its shell has not ended."""
        return self._pty.running

    @property
    def exit_code(self) -> int | None:
        """The shell's code, 128 plus the signal that killed it, None while it runs."""
        return self._pty.exit_code

    @property
    def screen(self) -> Screen:
        """The emulator, made at the first look from the output that is kept."""
        if self._screen is None:
            self._screen = self._make_screen()
        return self._screen

    def write(self, data: bytes) -> None:
        """Type into it. Raises ``ToolError`` when it ended or does not read."""
        self._pty.write(data)

    def output(self, start: int) -> SessionOutput:
        """Everything kept since ``start``, in characters since the session began."""
        return self._history.since(start)

    async def quiet(self, *, silence: float, within: float) -> None:
        """Return once nothing was printed for ``silence`` seconds, it ended, or ``within`` is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while self.running and (left := deadline - loop.time()) > 0:
            self._activity.clear()
            try:
                async with asyncio.timeout(min(silence, left)):
                    await self._activity.wait()
            except TimeoutError:
                return

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program its new size."""
        columns, rows = _side(columns), _side(rows)
        if (columns, rows) == self._size:
            return
        self._size = (columns, rows)
        self._pty.resize(columns, rows)
        if self._screen is not None:
            self._screen.resize(columns, rows)

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after output or the end; returns how to stop."""
        # Wrapped, so that the same callable given twice is two watchers.
        watcher = _Watcher(changed)
        self._watchers.append(watcher)

        def stop() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return stop

    def serves(self, spec: SessionSpec) -> bool:
        """Whether it is what ``spec`` asks for: alive, from the same folder, held as tightly."""
        held = self._confined or not spec.confined
        return self.running and held and self._cwd == _place(spec)

    async def close(self) -> None:
        """End it with all that runs in it."""
        await self._pty.close()

    def _heard(self, data: bytes) -> None:
        if self._screen is None and _QUESTION.search(data):
            # Without an emulator nobody would answer, and the program would wait.
            self._screen = self._make_screen()
        self._history.add(data)
        if self._screen is not None:
            self._screen.feed(data)
        self._tell()

    def _ended(self) -> None:
        self._history.add(b"", final=True)
        self._tell()

    def _tell(self) -> None:
        self._activity.set()
        for watcher in tuple(self._watchers):
            watcher()

    def _make_screen(self) -> "EmulatedScreen":
        # The emulation library takes a tenth of a second to load, and headless runs never look.
        from sam_tui.adapters.terminal.screen import EmulatedScreen

        screen = EmulatedScreen(*self._size)
        screen.feed(self._history.since(0).text.encode(errors="replace"))
        # Only from now on: what was asked in the past waits for no answer.
        screen.reply = self._answer
        return screen

    def _answer(self, data: bytes) -> None:
        if self.running:
            self._pty.write(data)


class _Watcher:
    """One registration of a callback."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def __call__(self) -> None:
        self._changed()


class PtyTerminals:
    """The ``Terminals`` port: every session of one runtime, at most one per conversation."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._sessions: dict[SessionId, PtySession] = {}
        self._locks: dict[ConversationId, asyncio.Lock] = {}

    async def open(self, spec: SessionSpec) -> tuple[TerminalSession, bool]:
        """The conversation's session, made if needed: (session, made now).

        Raises ``ToolError`` when the folder does not exist or no shell can be started.
        """
        if spec.conversation is None:
            return self._start(spec), True
        lock = self._locks.setdefault(spec.conversation, asyncio.Lock())
        async with lock:
            present = self._of(spec.conversation)
            if present is not None:
                if present.serves(spec):
                    return present, False
                await self.close(present.id)
            return self._start(spec), True

    def find(self, session: SessionId) -> TerminalSession | None:
        """The session of that id, running or ended, until it is closed."""
        return self._sessions.get(session)

    async def close(self, session: SessionId) -> None:
        """End it with its process groups and forget it; nothing for an unknown id."""
        found = self._sessions.pop(session, None)
        if found is not None:
            await found.close()

    async def close_all(self) -> None:
        """End all, at the same time."""
        sessions = list(self._sessions.values())
        self._sessions.clear()
        async with asyncio.TaskGroup() as group:
            for session in sessions:
                group.create_task(session.close())

    def _of(self, conversation: ConversationId) -> PtySession | None:
        return next((s for s in self._sessions.values() if s.conversation == conversation), None)

    def _start(self, spec: SessionSpec) -> PtySession:
        ruleset = self._sandbox.ruleset(spec.writable) if spec.confined else None
        scratch = self._sandbox.scratch if ruleset is not None else None
        launch = PtyLaunch(
            argv=(_shell(),),
            cwd=_place(spec),
            environment=session_environment(scratch, personal=spec.conversation is None),
            columns=_side(spec.columns),
            rows=_side(spec.rows),
            ruleset=ruleset,
        )
        session = PtySession(spec, launch)
        self._sessions[session.id] = session
        return session


def _place(spec: SessionSpec) -> str:
    """Where a session starts: two spellings of one folder are one place."""
    return os.path.realpath(spec.cwd)


def _side(cells: int) -> int:
    """A width or height that terminals can have."""
    return max(1, min(cells, _LARGEST_SIDE))


def _shell() -> str:
    """The person's shell where it can be run, else bash, else sh."""
    for path in (os.environ.get("SHELL", ""), "/bin/bash", "/usr/bin/bash"):
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return "/bin/sh"
