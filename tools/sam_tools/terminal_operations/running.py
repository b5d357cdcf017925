"""run_command: one shell command, and the account of how it went."""

from collections.abc import Mapping
from typing import Any

from sam_tools.terminal_operations.arguments import RunCommand
from sam_tools.terminal_operations.plain import PlainStream, plain
from sam_tui.core.display import Terminal
from sam_tui.core.ports import CommandRequest, CommandResult, Commands
from sam_tui.core.tooling.contract import ToolContext, ToolResult

_REFUSALS = ("Permission denied", "Read-only file system", "Operation not permitted", "EACCES")
_SANDBOX_NOTE = (
    "[the sandbox refuses writing outside the workspace; a private temporary folder is in $TMPDIR]"
)


async def run_command(
    commands: Commands, arguments: RunCommand, context: ToolContext
) -> ToolResult:
    """Run it in the workspace, or in the folder that was located for it, and tell its own output.

    A call is ok when the command ended with exit code 0.
    """
    cwd = working_directory(arguments.working_directory, context)
    confined = context.permit.confined
    result = await commands.run(
        CommandRequest(
            command=arguments.command,
            cwd=cwd,
            confined=confined,
            writable=context.permit.writable,
            timeout=arguments.timeout,
            on_output=PlainStream(context.emit),
        )
    )
    output = plain(result.output)
    held = confined and commands.confinement.kind != "none"
    return ToolResult(
        text=_account(output, result, arguments.timeout, held=held),
        ok=result.exit_code == 0 and not result.timed_out,
        display=(Terminal(arguments.command, output, result.exit_code, result.seconds),),
        data=_data(output, result, cwd),
    )


def working_directory(given: str | None, context: ToolContext) -> str:
    """The real path of the folder that was named, else of the workspace."""
    return context.workspace if given is None else context.location("working_directory").real


def _account(output: str, result: CommandResult, timeout: float, *, held: bool) -> str:
    """The output as the model reads it, and below it whatever was not as it should be."""
    notes: list[str] = []
    failed = result.exit_code != 0
    if result.timed_out:
        notes.append(f"[timed out after {timeout:g} s: the command and all it started were ended]")
    elif result.exit_code is None:
        notes.append(f"[killed by {result.signal}]")
    elif failed:
        notes.append(f"[exit code {result.exit_code}]")
    if held and failed and any(words in output for words in _REFUSALS):
        notes.append(_SANDBOX_NOTE)
    body = output.rstrip("\n")
    return "\n".join([body if body.strip() else "(no output)", *notes])


def _data(output: str, result: CommandResult, cwd: str) -> Mapping[str, Any]:
    return {
        "exitCode": result.exit_code,
        "signal": result.signal,
        "durationMs": round(result.seconds * 1000),
        "cwd": cwd,
        "timedOut": result.timed_out,
        "droppedBytes": result.dropped,
        "output": output,
    }
