"""run_command and get_terminal_output: commands in the foreground or the background."""

from dataclasses import asdict, dataclass

from sam_tools.terminal_operations import answers
from sam_tools.terminal_operations.arguments import GetTerminalOutput, RunCommand
from sam_tools.terminal_operations.rehearsal import RehearsedCommand, refuse_rehearsal, rehearse
from sam_tools.terminal_operations.session_output import session_result, view_of
from sam_tui.core.display import Table, Terminal, Text
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId, SessionId
from sam_tui.core.ports.processes.background import BackgroundCommand, BackgroundCommands, Waited
from sam_tui.core.ports.processes.rehearsal import Rehearsals
from sam_tui.core.ports.processes.terminals import (
    CommandRequest,
    CommandResult,
    Commands,
    Terminals,
)
from sam_tui.core.text.plain import PlainStream, escaped, gist, plain
from sam_tui.core.tooling.contract import ToolContext, ToolResult

_REFUSALS = ("Permission denied", "Read-only file system", "Operation not permitted", "EACCES")
_SANDBOX_NOTE = (
    "[the sandbox refuses writing outside the workspace and reading secrets;"
    " a private temporary folder is in $TMPDIR]"
)
_ABANDONED = (
    "[ended, because the process that supervises its sandbox had ended; it can be run again]"
)
_NO_LIMIT = 365 * 24 * 3600.0
_LISTED_COMMAND = 70
_HOW = "get_terminal_output reads it, waits for it (wait) or ends it (end)."
_MOVED = (
    "The person moved this command to the background: it goes on, without a time limit."
    " Go on with something else, or wait for it if nothing can be done without it."
)
_LET_GO = "The person does not want this call to wait any longer; the command goes on."
_FIRST_LOOK = 0.3
"""Seconds to watch a background command, so that the call reports one that fails at once."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command of a conversation that ran to its end."""

    command: str
    output: str
    result: CommandResult
    cwd: str


class CommandOperations:
    """Runs commands for the conversations of one runtime, and reads those in the background."""

    def __init__(
        self,
        commands: Commands,
        terminals: Terminals,
        background: BackgroundCommands | None,
        rehearsals: Rehearsals | None,
    ) -> None:
        self._commands = commands
        self.rehearsals = rehearsals
        """Runs commands on a copy of the workspace; None if that is impossible."""
        self._terminals = terminals
        self._background = background
        self.last: dict[ConversationId, Ran] = {}
        """The last foreground command of each conversation."""

    async def run(self, arguments: RunCommand, context: ToolContext) -> ToolResult:
        """Run a command in the workspace, or in the folder of the call, and return its output.

        A call is ok when the command ended with exit code 0, or started in the background.
        """
        if arguments.isBackground:
            refuse_rehearsal(context, "A background command")
            return await self._start(arguments, context)
        cwd = answers.working_directory(arguments.working_directory, context)
        request = _request(arguments, context, cwd, PlainStream(context.emit))
        tried: RehearsedCommand | None = None
        if context.permit.ask_rehearsed is not None:
            tried = await rehearse(self.rehearsals, request, context)
        result = await self._wait_for(request, context) if tried is None else tried.result
        if not isinstance(result, CommandResult):
            return _released(result)
        output = plain(result.output)
        self.last[context.conversation] = Ran(arguments.command, output, result, cwd)
        why = (Text(plain(arguments.explanation)),) if arguments.explanation else ()
        confined = context.permit.confined and self._commands.confinement.kind != "none"
        account = [_account(output, result, arguments.timeout, confined=confined)]
        account += answers.limit_notes(result, self._commands.limits)
        account += answers.left_notes(result.left, result.left_id)
        return ToolResult(
            text="\n".join([*account, *(tried.notes if tried else ())]),
            ok=result.exit_code == 0 and not result.timed_out,
            display=(
                *why,
                Terminal(arguments.command, output, result.exit_code, result.seconds),
                *(tried.displays if tried else ()),
            ),
            data=_data(output, result, cwd) | (tried.data if tried else {}),
        )

    async def _wait_for(
        self, request: CommandRequest, context: ToolContext
    ) -> CommandResult | BackgroundCommand:
        """The command's result, or the command itself if the person sends it to the background."""
        if self._background is None:
            return await self._commands.run(request)
        return await self._background.run(context.conversation, request)

    async def output(self, arguments: GetTerminalOutput, context: ToolContext) -> ToolResult:
        """The output of a background command or of the session; without an id a list of all."""
        if not arguments.id:
            return self._list(context)
        session = self._terminals.find(SessionId(arguments.id))
        if session is not None and session.conversation == context.conversation:
            if arguments.end:
                if session.turns.holder != "agent":
                    raise ToolError("The person has this terminal now; what runs in it goes on.")
                await session.activity.end_command(lambda name: context.emit(f"Sent {name}\n"))
            elif arguments.wait:
                context.emit("Waiting for the command\n")
                await session.activity.settled(within=arguments.wait)
            read = session.output(arguments.from_index)
            return session_result(
                session,
                {
                    "terminalId": session.id,
                    **view_of(session, read.text),
                    "isRunning": session.running,
                    "exitCode": session.exit_code,
                    "truncated": read.start > arguments.from_index,
                    "end_index": read.end,
                    "state": answers.state_words(session),
                },
            )
        command = self._own(arguments.id, context)
        if arguments.end:
            await self._port().stop(command.id)
        elif arguments.wait and await _follow(command, arguments.wait, context) == "released":
            return _report(command, arguments.from_index, message=_LET_GO)
        return _report(command, arguments.from_index)

    async def _start(self, arguments: RunCommand, context: ToolContext) -> ToolResult:
        cwd = answers.working_directory(arguments.working_directory, context)
        command = await self._port().start(
            context.conversation, _request(arguments, context, cwd, None)
        )
        await command.wait(within=_FIRST_LOOK)
        command.mark_read()
        if command.failure:
            raise ToolError(command.failure)
        output = plain(command.output(0).text)
        result = command.result
        data: dict[str, object] = {
            "terminalId": command.id,
            "command": arguments.command,
            "pid": command.pid,
            "isBackground": True,
            "isRunning": command.running,
            "exitCode": result.exit_code if result else None,
            "cwd": cwd,
            "output": output,
            "end_index": command.end,
            "message": _HOW,
        }
        return answers.json_result(data, _card(command, output))

    def _list(self, context: ToolContext) -> ToolResult:
        commands = self._background.of(context.conversation) if self._background else ()
        for command in commands:
            command.mark_read()
        terminals = [
            {
                "terminalId": command.id,
                "command": command.command,
                "pid": command.pid,
                "isRunning": command.running,
                "exitCode": command.result.exit_code if command.result else None,
                "left": _left_data(command.result),
                "seconds": round(command.seconds, 1),
                "end_index": command.end,
            }
            for command in commands
        ]
        sessions = [
            {"session_id": session.id, "status": answers.status(session), "end_index": session.end}
            for session in self._terminals.of(context.conversation)
        ]
        rows = tuple(
            (command.id, answers.short(command.command, _LISTED_COMMAND), _state(command))
            for command in commands
        )
        return answers.json_result(
            {"terminals": terminals, "sessions": sessions},
            Table(("terminal", "command", "state"), rows),
        )

    def _own(self, identifier: str, context: ToolContext) -> BackgroundCommand:
        """This conversation's command of that id. Raises ``ToolError`` for another's as well."""
        command = self._background.find(SessionId(identifier)) if self._background else None
        if command is None or command.conversation != context.conversation:
            raise ToolError(
                f"There is no background command {gist(identifier, 100)!r} in this conversation.",
                hint="get_terminal_output without an id lists them.",
            )
        return command

    def _port(self) -> BackgroundCommands:
        if self._background is None:
            raise ToolError("Commands cannot run in the background here.")
        return self._background


def _released(command: BackgroundCommand) -> ToolResult:
    """Return the answer of a call whose command the person sent to the background."""
    return _report(command, 0, message=f"{_MOVED} {_HOW}")


async def _follow(command: BackgroundCommand, wait: float, context: ToolContext) -> Waited:
    """Wait for the end of a command, and pass its output on to the person meanwhile."""
    stream = PlainStream(context.emit)
    at = command.end
    context.emit("Waiting for its end\n")

    def more() -> None:
        nonlocal at
        piece = command.output(at)
        at = piece.end
        stream(piece.text)

    return await command.wait(within=wait, on_output=more)


def _report(command: BackgroundCommand, start: int, *, message: str = "") -> ToolResult:
    """The command's output from index ``start`` on, and its state."""
    command.mark_read()
    read = command.output(start)
    output = plain(read.text)
    result = command.result
    data: dict[str, object] = {
        "terminalId": command.id,
        "command": command.command,
        # Before the output, which may be cut.
        **({"message": message} if message else {}),
        "output": output,
        "isRunning": command.running,
        "exitCode": result.exit_code if result else None,
        "truncated": read.start > start,
        "from_index": read.start,
        "end_index": read.end,
        "seconds": round(command.seconds, 1),
        "state": _state(command),
    }
    if left := _left_data(result):
        data["left"] = left
    if result is not None and result.refused:
        data["refused"] = answers.refused_data(result.refused)
    noted = (Text(f"{message.partition('.')[0]}: {command.id}"),) if message else ()
    return answers.json_result(data, *noted, _card(command, output))


def _state(command: BackgroundCommand) -> str:
    """The state of a command in words."""
    if command.running:
        return "running"
    result = command.result
    if result is None:
        return command.failure or "ended"
    if result.timed_out:
        return "timed out"
    ended = f"killed by {result.signal}"
    if result.exit_code is not None:
        ended = f"exited({result.exit_code})"
    left = "" if result.left is None else answers.left_words(result.left)
    return f"{ended}, left running: {left}" if left else ended


def _card(command: BackgroundCommand, output: str) -> Terminal:
    result = command.result
    code = result.exit_code if result else None
    return Terminal(command.command, output, code, command.seconds, running=command.running)


def _request(
    arguments: RunCommand, context: ToolContext, cwd: str, stream: PlainStream | None
) -> CommandRequest:
    return context.command(
        arguments.command,
        cwd,
        timeout=arguments.limit or _NO_LIMIT,
        on_output=stream or _nobody,
    )


def _nobody(_: str) -> None:
    """Ignore output while it arrives; callers read it by index later."""


def _ending(result: CommandResult, timeout: float) -> str:
    """Return how a command ended that did not end by itself with exit code 0."""
    if result.timed_out:
        return f"[timed out after {timeout:g} s: the command and all it started were ended]"
    if result.abandoned:
        return _ABANDONED
    if result.exit_code is None:
        return f"[killed by {result.signal}]"
    return f"[exit code {result.exit_code}]" if result.exit_code != 0 else ""


def _account(output: str, result: CommandResult, timeout: float, *, confined: bool) -> str:
    """The output for the model, with notes on time-outs, refusals and withheld variables below."""
    notes = list(filter(None, (_ending(result, timeout),)))
    if result.runs > 1:
        notes.append(f"[run {result.runs} times: the person widened what it may write to]")
    notes += answers.refused_notes(result.refused)
    if result.withheld:
        notes.append(f"[not in its environment, because they look like secrets: {_names(result)}]")
    if confined and result.exit_code != 0 and any(words in output for words in _REFUSALS):
        notes.append(_SANDBOX_NOTE)
    body = output.rstrip("\n")
    return "\n".join([body if body.strip() else "(no output)", *notes])


def _names(result: CommandResult) -> str:
    return escaped(", ".join(result.withheld))


def _data(output: str, result: CommandResult, cwd: str) -> dict[str, object]:
    return {
        "exitCode": result.exit_code,
        "signal": result.signal,
        "durationMs": round(result.seconds * 1000),
        "cwd": cwd,
        "timedOut": result.timed_out,
        "droppedBytes": result.dropped,
        "output": output,
        "refused": answers.refused_data(result.refused),
        "withheld": list(result.withheld),
        "runs": result.runs,
        "exceeded": list(result.exceeded),
        "left": _left_data(result),
    }


def _left_data(result: CommandResult | None) -> list[dict[str, object]]:
    left = None if result is None else result.left
    return [] if left is None else [asdict(process) for process in left.processes()]
