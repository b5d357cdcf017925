"""The operations on a conversation's terminal session, and on its visible part."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sam_tools.terminal_operations.answers import (
    holder_data,
    json_result,
    refused_data,
    short,
    state_words,
    status,
    working_directory,
)
from sam_tools.terminal_operations.arguments import (
    CreateSession,
    GetOutput,
    GetTerminalBuffer,
    SendInput,
    SessionOnly,
    send_accesses,
)
from sam_tools.terminal_operations.commands import Ran
from sam_tools.terminal_operations.hand_over import HandingOver
from sam_tools.terminal_operations.rehearsal import refuse_rehearsal
from sam_tools.terminal_operations.session_output import lines, screen_data, session_result, view_of
from sam_tui.core.accesses import Access, Type
from sam_tui.core.display import Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Event, TerminalClosed, TerminalOpened, TerminalPassed
from sam_tui.core.ids import ConversationId, SessionId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports.processes.sandbox import AskOutside, OutsideAccess, OutsideAnswer
from sam_tui.core.ports.processes.terminals import (
    CommandRecord,
    SessionSpec,
    Terminals,
    TerminalSession,
)
from sam_tui.core.text.plain import escaped, gist, plain
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import ToolContext, ToolResult

_STATES: Mapping[str, str] = {
    "created": "open",
    "existing": "still open",
    "restarted": "open; the one before it was ended",
}
_LONGEST_SELECTION = 20_000
_START = 5.0
"""Seconds that a new shell has to show its prompt."""
_MOST_REFUSED = 1000
_HIDDEN = "(hidden input)"
"""Replaces keys for a password prompt on the card."""


class OutsideRequests:
    """The outside accesses of one session's programs: open questions and refusals."""

    def __init__(self, ask: AskOutside | None) -> None:
        self.refused: list[OutsideAccess] = []
        self._ask = ask
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def ask(self, access: OutsideAccess) -> OutsideAnswer:
        """Pass a question on; denied if nobody can be asked."""
        self._open += 1
        self._idle.clear()
        allowed, seconds = False, math.inf
        try:
            if self._ask is not None:
                reply = await self._ask(access)
                detailed = isinstance(reply, OutsideAnswer)
                allowed, seconds = (reply.allowed, reply.seconds) if detailed else (reply, math.inf)
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()
            if not allowed and len(self.refused) < _MOST_REFUSED:
                self.refused.append(access)
        return OutsideAnswer(allowed, seconds)

    async def answered(self) -> bool:
        """Wait until every open question is answered. False if none was open."""
        waiting = bool(self._open)
        await self._idle.wait()
        return waiting


class SessionOperations:
    """Opens, reads and types into sessions; each conversation sees its own alone."""

    def __init__(
        self,
        terminals: Terminals,
        publish: Callable[[Event], None],
        last_run: Mapping[ConversationId, Ran],
        inquiries: Inquiries | None = None,
    ) -> None:
        self._terminals = terminals
        self._publish = publish
        self._last_run = last_run
        self._opened: set[ConversationId] = set()
        self._outside: dict[SessionId, OutsideRequests] = {}
        self._handing = HandingOver(inquiries)

    async def create(self, arguments: CreateSession, context: ToolContext) -> ToolResult:
        """Open the conversation's session, or return it; another folder restarts it."""
        refuse_rehearsal(context, "A terminal session")
        conversation = context.conversation
        if arguments.conversation_id not in (None, "", conversation):
            raise ToolError(
                "A session can only be opened for this conversation.",
                hint="Leave conversation_id out.",
            )
        outside = OutsideRequests(context.permit.ask_outside)
        session, fresh = await self._terminals.open(
            SessionSpec(
                conversation,
                working_directory(arguments.working_directory, context),
                confined=context.permit.confined,
                writable=context.permit.writable,
                ask=outside.ask,
                network=context.permit.network(),
            )
        )
        name = "existing"
        if session.id not in self._outside:
            # A session that came over from an earlier run is new to this one.
            self._outside[session.id] = outside
            name = (
                "existing"
                if not fresh
                else "restarted"
                if conversation in self._opened
                else "created"
            )
            self._adopt(session, conversation)
            await session.activity.settled(within=_START)
        return json_result({
            "session_id": session.id,
            "tty_name": session.tty_name,
            "status": name,
            "working_directory": session.cwd,
            "message": f"The terminal session is {_STATES[name]}.",
        })

    def touched(self, arguments: SendInput) -> Sequence[Access]:
        """The accesses of a call; ``hidden`` marks keys that are not echoed, which no log stores."""
        session = self._named(arguments.session_id)
        if session is None:
            return send_accesses(arguments)
        return tuple(
            replace(access, session=session.id, hidden=session.activity.state.secret)
            if isinstance(access, Type)
            else access
            for access in send_accesses(arguments)
        )

    def sending(self, arguments: SendInput, most: int) -> str:
        """The line on the card, without keys that are typed where nothing is echoed."""
        if arguments.hand_over and not arguments.input:
            return f"Handing the terminal over: {short(arguments.hand_over, most)}"
        session = self._named(arguments.session_id)
        hidden = session is not None and session.activity.state.secret
        return f"Sending to terminal: {_HIDDEN if hidden else short(arguments.input, most)}"

    async def send(self, arguments: SendInput, context: ToolContext) -> ToolResult:
        """Type, then wait until the command ends, asks something, or the time is up."""
        session = self._own(arguments.session_id, context)
        if not session.confined and context.permit.confined:
            raise ToolError(
                "This session was opened without the sandbox, which now applies.",
                hint="Close it and create a new one.",
            )
        if arguments.hand_over and not arguments.input:
            return await self._handing.ask(session, arguments.hand_over, context, None)
        if (takeover := await self._handing.yielded(session, arguments.timeout)) is not None:
            return takeover
        await session.turns.tidied()
        hidden = session.activity.state.secret
        commands_before = session.commands[-1:]
        start = session.end
        # A terminal's enter key is \r alone; the pair would be two of them.
        session.write(arguments.input.replace("\r\n", "\r").encode(errors="replace"))
        outside = self._outside.get(session.id) or OutsideRequests(None)
        before = len(outside.refused)
        context.emit("Typed; waiting for the end of the command\n")
        await session.activity.settled(within=arguments.timeout)
        if arguments.hand_over:
            first = view_of(session, session.output(start).text)
            return await self._handing.ask(session, arguments.hand_over, context, first)
        if await outside.answered():
            # The person took their time, which is not the command's.
            await session.activity.settled(within=arguments.timeout)
        printed = session.output(start)
        view = view_of(session, printed.text)
        data: dict[str, Any] = {
            "session_id": session.id,
            "status": status(session),
            "state": state_words(session),
            **view,
            "end_index": printed.end,
            **holder_data(session),
            **self._handing.news(session),
        }
        if outside.refused[before:]:
            data["refused"] = refused_data(outside.refused[before:])
        if session.commands[-1:] != commands_before:
            data |= self._finished_command(session)
        keys = _HIDDEN if hidden else escaped(arguments.input.rstrip("\r\n"))
        return session_result(session, data, _card(session, keys, view))

    async def output(self, arguments: GetOutput, context: ToolContext) -> ToolResult:
        """The output of the session from an index on."""
        session = self._own(arguments.session_id, context)
        piece = session.output(arguments.from_index)
        return session_result(
            session,
            {
                "session_id": session.id,
                "status": status(session),
                "state": state_words(session),
                **view_of(session, piece.text),
                "from_index": piece.start,
                "end_index": piece.end,
                "truncated": piece.start > arguments.from_index,
                **holder_data(session),
                **self._handing.news(session),
            },
        )

    def _finished_command(self, session: TerminalSession) -> dict[str, object]:
        """The exit code of the last command, and the variables that were withheld from it."""
        record = session.commands[-1]
        data: dict[str, object] = {
            "exitCode": record.exit_code,
            "working_directory": session.directory,
        }
        if missed := self._terminals.missed(session, record):
            data["withheld"] = list(missed)
        return data

    async def history(self, arguments: SessionOnly, context: ToolContext) -> ToolResult:
        """The whole stored output of the session."""
        session = self._own(arguments.session_id, context)
        piece = session.output(0)
        return session_result(
            session,
            {
                "session_id": session.id,
                "status": status(session),
                "history": lines(session, piece.text),
                "truncated": piece.start > 0,
            },
        )

    async def close(self, arguments: SessionOnly, context: ToolContext) -> ToolResult:
        """End the session and all its processes."""
        session = self._own(arguments.session_id, context)
        if session.turns.holder != "agent" and session.running:
            does = "types in" if session.turns.holder == "person" else "only lets you watch"
            raise ToolError(f"The person {does} this terminal now, so it stays open.")
        await self._terminals.close(session.id)
        self._opened.discard(context.conversation)
        return json_result({"session_id": session.id, "status": "closed"})

    async def buffer(self, arguments: GetTerminalBuffer, context: ToolContext) -> ToolResult:
        """The text on the session's screen."""
        if arguments.id:
            session = self._own(arguments.id, context)
        else:
            sessions = self._terminals.of(context.conversation)
            if not sessions:
                raise ToolError(
                    "This conversation has no terminal session.", hint="create_session opens one."
                )
            session = sessions[0]
        if session.turns.holder == "person":
            raise ToolError("The person types in this terminal now; what it shows is theirs.")
        seen = screen_data(session)
        text = seen.pop("text")
        return session_result(
            session,
            {"session_id": session.id, "state": state_words(session), **seen, "buffer": text},
            Terminal(seen["title"], text, session.exit_code, 0.0),
        )

    async def last_command(self, _: NoArguments, context: ToolContext) -> ToolResult:
        """Return the last command of the session, by either party, and the last one that ended."""
        data: dict[str, Any] = {"session": None, "run_command": None}
        for session in self._terminals.of(context.conversation):
            if session.commands:
                data["session"] = _recorded(session, session.commands[-1])
        ran = self._last_run.get(context.conversation)
        if ran is not None:
            data["run_command"] = {
                "command": ran.command,
                "exitCode": ran.result.exit_code,
                "durationMs": round(ran.result.seconds * 1000),
                "cwd": ran.cwd,
                "output": ran.output,
            }
        if ran is None and data["session"] is None:
            data["message"] = "No command has run in this conversation yet."
        return json_result(data)

    async def selection(self, _: NoArguments, context: ToolContext) -> ToolResult:
        """Return the selection in a terminal of the workbench: this conversation's, or the person's."""
        for owner, name in ((context.conversation, "agent"), (None, "person")):
            for session in self._terminals.of(owner):
                if session.selection:
                    text = session.turns.redacted(plain(session.selection))[:_LONGEST_SELECTION]
                    return json_result({"selection": text, "terminal": name})
        return json_result({"selection": "", "message": "Nothing is selected in a terminal."})

    def _named(self, identifier: str) -> TerminalSession | None:
        """The session of an id. A conversation's id names its session: seed 004, PTY sessions."""
        session = self._terminals.find(SessionId(identifier))
        if session is None and identifier:
            session = next(iter(self._terminals.of(ConversationId(identifier))), None)
        return session

    def _own(self, identifier: str, context: ToolContext) -> TerminalSession:
        """The conversation's session of this id; other conversations' sessions count as missing."""
        session = self._named(identifier)
        if session is None or session.conversation != context.conversation:
            raise ToolError(
                f"There is no terminal session {gist(identifier, 100)!r} in this conversation.",
                hint="create_session returns the id of this conversation's session.",
            )
        return session

    def _adopt(self, session: TerminalSession, conversation: ConversationId) -> None:
        """Announce a new session, and its end whenever that comes."""
        self._opened.add(conversation)
        self._publish(TerminalOpened(conversation, session.id))

        holder = (session.turns.holder, session.turns.reason)

        def changed() -> None:
            nonlocal holder
            if holder != (now := (session.turns.holder, session.turns.reason)):
                holder = now
                self._publish(TerminalPassed(conversation, session.id, *now))
            if not session.running:
                stop()
                self._outside.pop(session.id, None)
                self._publish(TerminalClosed(conversation, session.id, session.exit_code))

        stop = session.watch(changed)


def _card(session: TerminalSession, keys: str, view: Mapping[str, Any]) -> Terminal:
    """The display: typed input, the screen, and the end of the newest command."""
    text = view["screen"]["text"] if "screen" in view else view["output"]
    if not session.commands:
        return Terminal(keys, text, session.exit_code, 0.0)
    record = session.commands[-1]
    return Terminal(keys, text, record.exit_code, record.seconds or 0.0)


def _recorded(session: TerminalSession, record: CommandRecord) -> dict[str, Any]:
    """A command record as the model reads it."""
    printed = session.output(record.start, record.end)
    return {
        "session_id": session.id,
        "command": escaped(record.command),
        "isRunning": record.end is None,
        "exitCode": record.exit_code,
        "durationMs": None if record.seconds is None else round(record.seconds * 1000),
        "cwd": record.cwd,
        "output": lines(session, printed.text),
        "truncated": printed.start > record.start,
    }
