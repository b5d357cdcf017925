"""All terminal sessions of one runtime: one per conversation, and the person's own."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sam_tui.adapters.terminal.confinement.limits import restrain
from sam_tui.adapters.terminal.confinement.run import Wanted
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.holders.client import Holders, SessionOrigin
from sam_tui.adapters.terminal.processes.environment import session_environment
from sam_tui.adapters.terminal.pty.parented_shell import ParentedShell
from sam_tui.adapters.terminal.pty.pty import Child, PtyLaunch, require_folder
from sam_tui.adapters.terminal.sessions.pty_session import PtySession, side, start_folder
from sam_tui.adapters.terminal.shell_integration.marks import Integration, integrate
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId, SessionId, mint
from sam_tui.core.local_files.temporary_folders import Scratch
from sam_tui.core.ports.processes.sandbox import AskOutside, OutsideAccess, OutsideAnswer
from sam_tui.core.ports.processes.terminals import CommandRecord, SessionSpec, TerminalSession

_LONGEST = 10.0
"""Seconds after which accesses are asked about even if the shell has not reported its first prompt."""
_AGAIN = 1.0
"""Seconds for which a refusal is valid; then the same access is asked about."""


class AskAfterStart:
    """Calls ``ask``, but only once ``starts`` returns False."""

    def __init__(self, ask: AskOutside) -> None:
        self._ask = ask
        self._until = time.monotonic() + _LONGEST
        self.starts: Callable[[], bool] = lambda: True

    async def __call__(self, access: OutsideAccess) -> bool | OutsideAnswer:
        """Ask about one access; while the shell reads its start files, deny it with a hint."""
        if time.monotonic() < self._until and self.starts():
            return OutsideAnswer(False, _AGAIN)
        return await self._ask(access)


class PtyTerminals:
    """The ``Terminals`` port: every session of one runtime, at most one per conversation.

    With ``holders``, holder processes keep the agents' sessions: they outlive this program, and the next
    program that opens their conversation takes them over.
    """

    def __init__(self, sandbox: Sandbox, holders: Holders | None = None) -> None:
        self._sandbox = sandbox
        self._holders = holders if sys.platform == "linux" else None
        self._sessions: dict[SessionId, PtySession] = {}
        self._closing: set[PtySession] = set()
        self._locks: dict[ConversationId, asyncio.Lock] = {}

    async def open(self, spec: SessionSpec) -> tuple[TerminalSession, bool]:
        """The conversation's session, made if needed: (session, made now).

        Raises ``ToolError`` when the folder does not exist or no shell can be started.
        """
        if spec.conversation is None:
            return self._start(spec), True
        async with self._lock(spec.conversation):
            present = self._of(spec.conversation) or await self._resume(spec.conversation)
            if present is not None:
                if present.serves(spec) and not present.looser(
                    spec, self._sandbox.reached(spec.network)
                ):
                    present.attend(spec)
                    return present, False
                await self.close(present.id)
            if self._holders is None or self._sandbox.confinement.kind == "seatbelt":
                return self._start(spec), True
            return await self._hold(spec, self._holders), True

    async def resume(self, conversation: ConversationId) -> TerminalSession | None:
        """The session that a conversation had in an earlier run of the program, if it still lives."""
        async with self._lock(conversation):
            return self._of(conversation) or await self._resume(conversation)

    def find(self, session: SessionId) -> TerminalSession | None:
        """The session of that id, running or ended, until it is closed."""
        return self._sessions.get(session)

    def of(self, conversation: ConversationId | None) -> Sequence[TerminalSession]:
        """The sessions of a conversation (at most one), or the person's own (None)."""
        return [s for s in self._sessions.values() if s.conversation == conversation]

    def missed(self, session: TerminalSession, record: CommandRecord) -> tuple[str, ...]:
        """Withheld variables that a command of a session may have wanted, if it failed."""
        if session.conversation is None or not record.exit_code:
            return ()
        output = session.output(record.start).text
        return self._sandbox.misses.of(self._sandbox.passed, record.command, output)

    async def close(self, session: SessionId) -> None:
        """End it with its process groups and forget it; nothing for an unknown id."""
        session_open = self._sessions.pop(session, None)
        if session_open is not None:
            self._closing.add(session_open)
            await session_open.pty.close()
            # Not where that was cancelled: close_all still waits for it then.
            self._closing.discard(session_open)

    async def close_all(self) -> None:
        """Detach from sessions with a holder, and end all others at the same time."""
        sessions, closing = list(self._sessions.values()), list(self._closing)
        self._sessions.clear()
        self._closing.clear()
        async with asyncio.TaskGroup() as group:
            for session in closing:
                group.create_task(session.pty.close())
            for session in sessions:
                if not session.leave():
                    group.create_task(session.pty.close())

    def leaders(self) -> Sequence[int]:
        """The shells of the confined sessions of this program, each the leader of its session."""
        return [s.pid for s in self._sessions.values() if s.confined and s.running]

    def _lock(self, conversation: ConversationId) -> asyncio.Lock:
        return self._locks.setdefault(conversation, asyncio.Lock())

    def _of(self, conversation: ConversationId) -> PtySession | None:
        return next((s for s in self._sessions.values() if s.conversation == conversation), None)

    def _start(self, spec: SessionSpec) -> PtySession:
        # Before the sandbox: a folder that comes after it, beside secrets, could not be read in it.
        integration = integrate(_shell())
        ask = _ask_after_start(spec, integration)
        try:
            ruleset, prefix = None, ()
            if spec.confined:
                ruleset = self._sandbox.ruleset(_wanted(spec, ask, integration))
                prefix = self._sandbox.prefix(spec.writable, spec.network)
            scratch = self._sandbox.scratch if prefix or ruleset is not None else None
            launch = self._launch(spec, integration, ruleset, scratch)
            launch = replace(launch, argv=(*prefix, *integration.argv))
            child = self._spawn(spec, launch)
            self._sandbox.tracking.report_group(child.pid, child.group)
            if spec.conversation is not None:
                limits = self._sandbox.tracking.limits
                counted = child.group is not None or self._is_supervised(spec)
                restrain(child.pid, limits, counted=counted)
            opened = PtySession(
                _origin(spec, integration, self._sandbox.reached(spec.network)),
                child,
                integration,
                size=_size(spec),
            )
        except BaseException:
            integration.discard()
            raise
        return self._made(opened, ask)

    def _is_supervised(self, spec: SessionSpec) -> bool:
        return spec.confined and self._sandbox.supervises

    def _spawn(self, spec: SessionSpec, launch: PtyLaunch) -> Child | ParentedShell:
        """Start a shell; below a parent of its own if it is an agent's and no supervisor follows it."""
        agent = spec.conversation is not None and sys.platform == "linux"
        alone = agent and not self._is_supervised(spec)
        parent = self._sandbox.tracking.parent() if alone else None
        if parent is None:
            return Child(launch)
        return ParentedShell(launch, parent)

    async def _hold(self, spec: SessionSpec, holders: Holders) -> PtySession:
        """Start a session in a holder, so that it outlives this process."""
        require_folder(start_folder(spec))
        integration = integrate(_shell())
        origin = _origin(spec, integration, self._sandbox.reached(spec.network))
        ask = _ask_after_start(spec, integration)
        folder = holders.make_folder(origin.id)
        scratch = _scratch()
        entry = None
        try:
            if spec.confined:
                entry = self._sandbox.apart(_wanted(spec, ask, integration), scratch)
            descriptor, watched = entry or (None, None)
            launch = self._launch(
                spec, integration, descriptor, scratch if entry is not None else None
            )
            process = await holders.start(origin, launch, watched, scratch)
            limits = self._sandbox.tracking.limits
            restrain(process.pid, limits, counted=watched is not None)
        except BaseException:
            integration.discard()
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        finally:
            if entry is not None and entry[1] is not None:
                entry[1][1].close()
        return self._made(PtySession(origin, process, integration, size=_size(spec)), ask)

    def _made(self, opened: PtySession, ask: AskOutside | None) -> PtySession:
        if isinstance(ask, AskAfterStart):
            ask.starts = lambda: opened.starts
        self._sessions[opened.id] = opened
        return opened

    def _launch(
        self, spec: SessionSpec, integration: Integration, entry: int | None, scratch: str | None
    ) -> PtyLaunch:
        environment = session_environment(
            scratch, personal=spec.conversation is None, passed=self._sandbox.passed
        )
        environment.update(self._sandbox.variables(spec.network, scratch))
        columns, rows = _size(spec)
        most = self._sandbox.tracking.limits.processes if sys.platform == "linux" else 0
        return PtyLaunch(
            argv=integration.argv,
            cwd=start_folder(spec),
            environment={**environment, **integration.environment},
            columns=columns,
            rows=rows,
            ruleset=entry,
            locks=(integration.scratch.descriptor,) if integration.scratch else (),
            processes=0 if spec.confined or spec.conversation is None else most,
        )

    async def _resume(self, conversation: ConversationId) -> PtySession | None:
        """Attach to the session that a holder keeps for a conversation."""
        for terminal in await self._holders.sessions() if self._holders is not None else ():
            if terminal.origin.conversation != conversation or terminal.attached:
                continue
            assert self._holders is not None
            try:
                process = await self._holders.attach(terminal)
            except ToolError:
                continue
            origin = terminal.origin
            scratch = Scratch.adopted(origin.snippet) if origin.snippet else None
            integration = Integration((origin.shell,), nonce=origin.nonce, scratch=scratch)
            resumed = PtySession(origin, process, integration, size=process.size())
            resumed.resumed = True
            self._sessions[resumed.id] = resumed
            return resumed
        return None


def _ask_after_start(spec: SessionSpec, integration: Integration) -> AskOutside | None:
    """The function that asks: after the shell's first prompt, or at once if it reports no prompts."""
    return AskAfterStart(spec.ask) if spec.ask is not None and integration.nonce else spec.ask


def _wanted(spec: SessionSpec, ask: AskOutside | None, integration: Integration) -> Wanted:
    """Return the confinement of the session; its shell may read the files of its integration."""
    readable = (os.path.realpath(integration.folder),) if integration.folder else ()
    return Wanted(tuple(spec.writable), ask, spec.network, readable)


def _origin(spec: SessionSpec, integration: Integration, network: str) -> SessionOrigin:
    return SessionOrigin(
        mint("term"),
        spec.conversation,
        start_folder(spec),
        spec.confined,
        spec.writable,
        network,
        os.path.basename(integration.argv[0]),
        integration.nonce,
        time.time(),
        integration.folder,
    )


def _size(spec: SessionSpec) -> tuple[int, int]:
    return side(spec.columns), side(spec.rows)


def _scratch() -> str:
    """A temporary folder of a session's own, not below our data, which commands may not read."""
    return os.path.realpath(tempfile.mkdtemp(prefix="sam-tui-"))


def _shell() -> str:
    """The person's shell where it can be run, else bash, else sh."""
    for path in (os.environ.get("SHELL", ""), "/bin/bash", "/usr/bin/bash"):
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return "/bin/sh"
