"""Results of the terminal operations: JSON, states and notes in words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from sam_tui.core.authorization.policy.judgement import CHANGE
from sam_tui.core.display import Display
from sam_tui.core.ports.processes.sandbox import OutsideAccess, allowance
from sam_tui.core.ports.processes.terminals import CommandResult, LeftRunning, TerminalSession
from sam_tui.core.text.plain import escaped
from sam_tui.core.tooling.contract import ToolContext, ToolResult

_MOST_REFUSALS = 10
_MOST_NAMED = 10
_SIGNS: Mapping[str, tuple[str, ...]] = {
    "memory": ("Cannot allocate memory", "MemoryError", "out of memory", "bad_alloc"),
    "processes": ("fork: retry", "Resource temporarily unavailable", "can't start new thread"),
    "file_size": ("File size limit exceeded", "File too large"),
    "open_files": ("Too many open files",),
}
"""Messages of programs that reached a limit (of the C library, shells and runtimes), by limit."""


def json_result(data: dict[str, object], *display: Display, ok: bool = True) -> ToolResult:
    """Data as the model reads it: JSON."""
    text = json.dumps(data, ensure_ascii=False)
    return ToolResult(text, ok, display=display, data=data, mime_type="application/json")


def status(session: TerminalSession) -> str:
    """Whether its shell runs, in a word or two."""
    return "running" if session.running else f"exited({session.exit_code})"


def holder_data(session: TerminalSession) -> dict[str, object]:
    """Return the ``holder`` field of an answer: who may type into the session; empty if the agent may."""
    return {} if session.turns.holder == "agent" else {"holder": session.turns.holder}


def state_words(session: TerminalSession) -> str:
    """The state of the session in words."""
    if not session.running:
        return f"exited({session.exit_code})"
    state = session.activity.state
    match state.name:
        case "finished":
            return "finished: at the prompt"
        case "waiting":
            return "waiting for hidden input" if state.secret else "waiting for input"
        case "quiet":
            return f"running, quiet for {state.seconds:.0f} s"
        case "running":
            return "running"


def refused_notes(refused: Sequence[OutsideAccess]) -> list[str]:
    """Return what the sandbox refused and to which process, a line each."""
    lines = [refused_note(access) for access in refused]
    if len(lines) > _MOST_REFUSALS:
        more = len(lines) - _MOST_REFUSALS
        lines = [*lines[:_MOST_REFUSALS], f"[refused by the sandbox: {more} more]"]
    planted = next((access.to or access.path for access in refused if access.planted), "")
    if planted:
        rule = f'effect = "allow", operation = "{CHANGE}", path = "{escaped(planted)}"'
        lines.append(
            f"[it would later run or instruct; a [[rule]] of the person allows it: {rule}]"
        )
    return lines


def refused_note(access: OutsideAccess) -> str:
    """A denied access with its process, and the setting that would allow it."""
    words = "; ".join(filter(None, (access.words, allowance(access))))
    return f"[refused by the sandbox: {escaped(words)}]"


def left_notes(left: LeftRunning | None, terminal: str) -> list[str]:
    """The processes that a command left running, and how to end them, as a note; empty for none."""
    running = "" if left is None else left_words(left)
    if not running:
        return []
    how = f"get_terminal_output with id {terminal} and end ends it, " if terminal else ""
    return [f"[left running: {running}; {how}the end of the program does as well]"]


def left_words(left: LeftRunning) -> str:
    """The processes, by name and number."""
    processes = left.processes()
    named = [f"{escaped(process.name)} (pid {process.pid})" for process in processes[:_MOST_NAMED]]
    if len(processes) > _MOST_NAMED:
        named.append(f"{len(processes) - _MOST_NAMED} more")
    return ", ".join(named)


def limit_notes(result: CommandResult, words: Mapping[str, str]) -> list[str]:
    """The limits that ended the command, and limits that its output hints at."""
    named = list(result.exceeded)
    if result.exit_code != 0 and not result.timed_out:
        text = f"{result.output}{result.errors}"
        named += [name for name, signs in _SIGNS.items() if any(sign in text for sign in signs)]
        named += ["file_size"] if result.signal == "SIGXFSZ" else []
    limits = dict.fromkeys(words[name] for name in named if name in words)
    return [f"[limit of commands here: {limit}; see docs/sandbox.md]" for limit in limits]


def refused_data(refused: Sequence[OutsideAccess]) -> list[dict[str, object]]:
    """The refused accesses of ``refused_notes`` as data for programs."""
    dropped = ("planted", "change")
    return [
        {name: value for name, value in asdict(access).items() if name not in dropped}
        for access in refused
    ]


def working_directory(directory: str | None, context: ToolContext) -> str:
    """The real path of the folder that was named, else of the workspace."""
    return context.workspace if directory is None else context.location("working_directory").real


def short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, nothing in it hidden."""
    line = escaped(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
