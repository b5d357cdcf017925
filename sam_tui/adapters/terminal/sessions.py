"""All terminal sessions of one runtime: one per conversation, and the person's own."""

import asyncio
import os
from collections.abc import Sequence

from sam_tui.adapters.terminal.confinement import Sandbox
from sam_tui.adapters.terminal.environment import session_environment
from sam_tui.adapters.terminal.pty import PtyLaunch
from sam_tui.adapters.terminal.pty_session import PtySession, place, side
from sam_tui.adapters.terminal.shell_integration import integrate
from sam_tui.core.ids import ConversationId, SessionId
from sam_tui.core.ports.terminals import SessionSpec, TerminalSession


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

    def of(self, conversation: ConversationId | None) -> Sequence[TerminalSession]:
        """The sessions of a conversation (at most one), or the person's own (None)."""
        return [s for s in self._sessions.values() if s.conversation == conversation]

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
        ruleset = None
        if spec.confined:
            ruleset = self._sandbox.ruleset(spec.writable, ask=spec.ask, network=spec.network)
        scratch = self._sandbox.scratch if ruleset is not None else None
        integration = integrate(_shell())
        environment = session_environment(scratch, personal=spec.conversation is None)
        launch = PtyLaunch(
            argv=integration.argv,
            cwd=place(spec),
            environment={**environment, **integration.environment},
            columns=side(spec.columns),
            rows=side(spec.rows),
            ruleset=ruleset,
        )
        try:
            session = PtySession(spec, launch, integration)
        except BaseException:
            integration.discard()
            raise
        self._sessions[session.id] = session
        return session


def _shell() -> str:
    """The person's shell where it can be run, else bash, else sh."""
    for path in (os.environ.get("SHELL", ""), "/bin/bash", "/usr/bin/bash"):
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return "/bin/sh"
