"""terminal_operations: commands that run to their end, and one shell that stays per conversation."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from sam_tools.terminal_operations.arguments import (
    CreateSession,
    GetOutput,
    RunCommand,
    SendInput,
    SessionOnly,
    create_accesses,
    run_accesses,
    send_accesses,
)
from sam_tools.terminal_operations.plain import escaped, plain
from sam_tools.terminal_operations.running import run_command, working_directory
from sam_tui.core.display import Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Event, TerminalClosed, TerminalOpened
from sam_tui.core.ids import ConversationId, SessionId
from sam_tui.core.ports import Commands, SessionSpec, Terminals, TerminalSession
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult

_ABOUT = (
    "Shell commands and a terminal. Use run_command for whatever ends by itself: it returns the"
    " command's own output and exit code; each call is a new shell. Use a session for what stays or"
    " is interactive (servers, REPLs, prompts): this conversation has one."
)
_SILENCE = 0.15
_LONGEST_WAIT = 2.0
_SUMMARY_COMMAND = 80
_SUMMARY_INPUT = 50


class TerminalOperations:
    """terminal_operations (seed 004) without its 30 s result cache, guessed ends and shared shells.

    Sessions belong to the conversation that opened them; every other one is told there is no such.
    """

    def __init__(
        self, commands: Commands, terminals: Terminals, publish: Callable[[Event], None]
    ) -> None:
        self._commands = commands
        self._terminals = terminals
        self._publish = publish
        self._last: dict[ConversationId, SessionId] = {}
        self._unconfined: set[SessionId] = set()

    def tool(self) -> Tool:
        """The tool, ready to register."""
        return Tool(
            "terminal_operations",
            _ABOUT,
            (
                Operation(
                    "run_command",
                    "run a shell command to its end",
                    RunCommand,
                    self._run,
                    lambda a: f"Running: {_short(a.command, _SUMMARY_COMMAND)}",
                    run_accesses,
                    Schedule.BLOCKING,
                ),
                Operation(
                    "create_session",
                    "open this conversation's shell, or return it; another folder restarts it",
                    CreateSession,
                    self._create,
                    lambda _: "Creating terminal session",
                    create_accesses,
                    Schedule.SERIAL,
                ),
                Operation(
                    "send_input",
                    "type into the session; returns what it printed since, once it is quiet",
                    SendInput,
                    self._send,
                    lambda a: f"Sending to terminal: {_short(a.input, _SUMMARY_INPUT)}",
                    send_accesses,
                    Schedule.SERIAL,
                ),
                Operation(
                    "get_output",
                    "what the session printed from an index on",
                    GetOutput,
                    self._output,
                    lambda _: "Reading terminal output",
                    schedule=Schedule.SERIAL,
                ),
                Operation(
                    "get_history",
                    "all that is kept of the session",
                    SessionOnly,
                    self._history,
                    lambda _: "Reading terminal history",
                    schedule=Schedule.SERIAL,
                ),
                Operation(
                    "close_session",
                    "end the session and what runs in it",
                    SessionOnly,
                    self._close,
                    lambda _: "Closing terminal session",
                    schedule=Schedule.SERIAL,
                ),
            ),
        )

    async def _run(self, arguments: RunCommand, context: ToolContext) -> ToolResult:
        return await run_command(self._commands, arguments, context)

    async def _create(self, arguments: CreateSession, context: ToolContext) -> ToolResult:
        own = context.conversation
        if arguments.conversation_id not in (None, "", own):
            raise ToolError(
                "A session can only be opened for this conversation.",
                hint="Leave conversation_id out.",
            )
        session, made = await self._terminals.open(
            SessionSpec(
                own,
                working_directory(arguments.working_directory, context),
                confined=context.permit.confined,
                writable=context.permit.writable,
            )
        )
        status = "existing"
        if made:
            status = "restarted" if own in self._last else "created"
            self._adopt(session, own, confined=context.permit.confined)
        return _json({
            "session_id": session.id,
            "tty_name": session.tty_name,
            "status": status,
            "working_directory": session.cwd,
            "message": f"The terminal session is {_STATES[status]}.",
        })

    async def _send(self, arguments: SendInput, context: ToolContext) -> ToolResult:
        session = self._own(arguments.session_id, context)
        if session.id in self._unconfined and context.permit.confined:
            raise ToolError(
                "This session was opened without the sandbox, which now applies.",
                hint="Close it and create a new one.",
            )
        start = session.output(0).end
        # A terminal's enter key is \r alone; the pair would be two of them.
        session.write(arguments.input.replace("\r\n", "\r").encode(errors="replace"))
        await session.quiet(silence=_SILENCE, within=_LONGEST_WAIT)
        printed = session.output(start)
        text = plain(printed.text)
        return _json(
            {
                "session_id": session.id,
                "status": _status(session),
                "output": text,
                "end_index": printed.end,
            },
            Terminal(escaped(arguments.input.rstrip("\r\n")), text, session.exit_code, 0.0),
        )

    async def _output(self, arguments: GetOutput, context: ToolContext) -> ToolResult:
        session = self._own(arguments.session_id, context)
        found = session.output(arguments.from_index)
        return _json({
            "session_id": session.id,
            "status": _status(session),
            "output": plain(found.text),
            "from_index": found.start,
            "end_index": found.end,
            "truncated": found.start > arguments.from_index,
        })

    async def _history(self, arguments: SessionOnly, context: ToolContext) -> ToolResult:
        session = self._own(arguments.session_id, context)
        found = session.output(0)
        return _json({
            "session_id": session.id,
            "status": _status(session),
            "history": plain(found.text),
            "truncated": found.start > 0,
        })

    async def _close(self, arguments: SessionOnly, context: ToolContext) -> ToolResult:
        session = self._own(arguments.session_id, context)
        await self._terminals.close(session.id)
        self._last.pop(context.conversation, None)
        return _json({"session_id": session.id, "status": "closed"})

    def _own(self, given: str, context: ToolContext) -> TerminalSession:
        """The conversation's own session of that id; whose another one is, is nobody's business."""
        session = self._terminals.find(SessionId(given))
        if session is None or session.conversation != context.conversation:
            raise ToolError(
                f"There is no terminal session {escaped(given)[:100]!r} in this conversation.",
                hint="create_session returns the id of this conversation's session.",
            )
        return session

    def _adopt(self, session: TerminalSession, own: ConversationId, *, confined: bool) -> None:
        """Announce a new session, and its end whenever that comes."""
        self._last[own] = session.id
        if not confined:
            self._unconfined.add(session.id)
        self._publish(TerminalOpened(own, session.id))

        def changed() -> None:
            if not session.running:
                stop()
                self._unconfined.discard(session.id)
                self._publish(TerminalClosed(own, session.id, session.exit_code))

        stop = session.watch(changed)


_STATES: Mapping[str, str] = {
    "created": "open",
    "existing": "still open",
    "restarted": "open; the one before it was ended",
}


def _status(session: TerminalSession) -> str:
    """Whether its shell runs, in a word or two."""
    return "running" if session.running else f"exited({session.exit_code})"


def _json(data: dict[str, Any], *display: Terminal) -> ToolResult:
    text = json.dumps(data, ensure_ascii=False)
    return ToolResult(text, display=display, data=data, mime_type="application/json")


def _short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, nothing in it hidden."""
    line = escaped(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
