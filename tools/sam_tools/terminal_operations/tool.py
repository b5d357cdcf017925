"""terminal_operations: commands, background commands, and one shell that stays per conversation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sam_tools.terminal_operations.answers import json_result, short
from sam_tools.terminal_operations.arguments import (
    CreateDirectory,
    CreateSession,
    GetOutput,
    GetTerminalBuffer,
    GetTerminalOutput,
    RunCommand,
    SendInput,
    SessionOnly,
    create_accesses,
    directory_accesses,
    run_accesses,
)
from sam_tools.terminal_operations.commands import CommandOperations
from sam_tools.terminal_operations.sessions import SessionOperations
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Event
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.processes.background import BackgroundCommands
from sam_tui.core.ports.processes.rehearsal import Rehearsals
from sam_tui.core.ports.processes.terminals import Commands, Terminals
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult


class FolderOperations:
    """Makes folders where the guard allowed it."""

    def __init__(self, files: Files | None) -> None:
        self._files = files

    async def create(self, arguments: CreateDirectory, context: ToolContext) -> ToolResult:
        """Make a folder; an existing one is no error."""
        if self._files is None:
            raise ToolError("Folders cannot be made here.")
        where = context.location("dirPath")
        created = self._files.make_directory(where)
        return json_result({
            "success": True,
            "path": where.display_path,
            "created": created,
            "message": "The folder was made." if created else "The folder was there already.",
        })


_ABOUT = (
    "Shell commands and a terminal. Use run_command for whatever ends by itself: it returns the"
    " command's own output and exit code; each call is a new shell. isBackground is for servers and"
    " long builds. Use a session for what is interactive (REPLs, prompts): this conversation has one."
)
_SUMMARY_COMMAND = 80
_SUMMARY_INPUT = 50
_SUMMARY_NAME = 40


@dataclass(frozen=True, slots=True)
class TerminalParts:
    """The parts of the tool. ``files`` makes folders, ``background`` runs background commands,
    ``rehearsals`` try commands on a copy of the workspace, and ``inquiries`` ask the person to type.
    """

    commands: Commands
    terminals: Terminals
    publish: Callable[[Event], None]
    files: Files | None = None
    background: BackgroundCommands | None = None
    rehearsals: Rehearsals | None = None
    inquiries: Inquiries | None = None


class TerminalOperations:
    """terminal_operations (seed 004) without its 30 s result cache, guessed ends and shared shells.

    Sessions and background commands belong to the conversation that opened them; for every other one
    they do not exist.
    """

    def __init__(self, parts: TerminalParts) -> None:
        self._commands = CommandOperations(
            parts.commands, parts.terminals, parts.background, parts.rehearsals
        )
        self._sessions = SessionOperations(
            parts.terminals, parts.publish, self._commands.last, parts.inquiries
        )
        self._folders = FolderOperations(parts.files)

    def tool(self) -> Tool:
        """The tool, ready to register; its operations in the seed's order."""
        return Tool(
            "terminal_operations",
            _ABOUT,
            (*self._command_operations(), *self._session_operations()),
            local=True,
        )

    def _command_operations(self) -> tuple[Operation[Any], ...]:
        commands, sessions = self._commands, self._sessions
        return (
            Operation(
                "run_command",
                "run a shell command to its end",
                RunCommand,
                commands.run,
                lambda a: f"Running: {short(a.command, _SUMMARY_COMMAND)}",
                run_accesses,
                Schedule.BLOCKING,
                rehearsable=lambda a: commands.rehearsals is not None and not a.isBackground,
            ),
            Operation(
                "get_terminal_output",
                "read, await or end a background command; lists them without id",
                GetTerminalOutput,
                commands.output,
                _output_summary,
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "get_terminal_buffer",
                "what the session's screen shows",
                GetTerminalBuffer,
                sessions.buffer,
                lambda _: "Reading the terminal screen",
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "get_last_command",
                "the last command: exit code, duration, cwd, output",
                NoArguments,
                sessions.last_command,
                lambda _: "Getting last command",
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "get_terminal_selection",
                "the text the person selected in a terminal",
                NoArguments,
                sessions.selection,
                lambda _: "Getting terminal selection",
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "create_directory",
                "make a folder and those above it",
                CreateDirectory,
                self._folders.create,
                lambda a: f"Creating directory: {short(_name(a.dirPath), _SUMMARY_NAME)}",
                directory_accesses,
                Schedule.SERIAL,
            ),
        )

    def _session_operations(self) -> tuple[Operation[Any], ...]:
        sessions = self._sessions
        return (
            Operation(
                "create_session",
                "open this conversation's shell, or return it; another folder restarts it",
                CreateSession,
                sessions.create,
                lambda _: "Creating terminal session",
                create_accesses,
                Schedule.SERIAL,
                lasting=True,
            ),
            Operation(
                "send_input",
                "type into the session; returns what it printed once the command ended, asks for"
                " input, or timeout is up",
                SendInput,
                sessions.send,
                lambda a: sessions.sending(a, _SUMMARY_INPUT),
                sessions.touched,
                Schedule.SERIAL,
            ),
            Operation(
                "get_output",
                "what the session printed from an index on",
                GetOutput,
                sessions.output,
                lambda _: "Reading terminal output",
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "get_history",
                "all that is kept of the session",
                SessionOnly,
                sessions.history,
                lambda _: "Reading terminal history",
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "close_session",
                "end the session and what runs in it",
                SessionOnly,
                sessions.close,
                lambda _: "Closing terminal session",
                schedule=Schedule.SERIAL,
            ),
        )


def _output_summary(arguments: GetTerminalOutput) -> str:
    if not arguments.id:
        return "Listing background commands"
    doing = "Ending" if arguments.end else "Waiting for" if arguments.wait else "Reading"
    return f"{doing} terminal: {short(arguments.id, _SUMMARY_NAME)}"


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path
