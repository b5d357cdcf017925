"""``!command`` in the prompt: run in the person's own shell, its output offered for the next prompt."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sam_tui.core.display import Terminal
from sam_tui.core.events import ToolFinished
from sam_tui.core.ids import NO_CONVERSATION, CallId
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.terminals.requests import fenced
from sam_tui.ui.controllers.terminals.shells import Shells
from sam_tui.ui.plain import one_line
from sam_tui.ui.transcript.render.safe_text import clean_output

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.terminals import CommandRecord, TerminalSession

_SILENCE, _WITHIN = 2.0, 30.0
"""A shell that prints no marks counts as finished after so many seconds without output, or in all."""
_MARK = "\x1b]133;"
"""The sequences by which a shell marks the beginning and end of its commands (OSC 133)."""
_KILL_LINE = b" \x15"
"""A space and Ctrl+U: cuts the typed line, which can be yanked back; Ctrl+U rings on an empty line."""


@dataclass(frozen=True, slots=True)
class _Output:
    """The result of a shell command. ``code`` is None if the shell did not report it."""

    text: str
    code: int | None
    seconds: float


class ShellEscape:
    """Types a command into the shell of the side column, and waits for its end."""

    def __init__(self, context: Context, shells: Shells) -> None:
        self._context = context
        self._shells = shells
        self._count = 0

    def run(self, command: str) -> None:
        """Run a command in the shell; without a command put ``!`` into the prompt."""
        if command:
            self._context.app.run_worker(self._run(command), group="shell-escape")
        else:
            self._context.screen.prompt.area.put("!")
            self._context.screen.focus_bottom()

    async def _run(self, command: str) -> None:
        panel = self._context.screen.terminals
        view = panel.current if panel.owned(panel.current) else panel.shell
        session = await self._shells.ready(view)
        if session is None:
            return
        if session.activity.state.name != "finished":
            program = one_line(session.activity.program, 40) or "a command"
            words = f"The shell is busy with {program}: the command did not run."
            self._context.notify(words, warning=True)
            self._context.screen.prompt.area.put(f"!{command}")
            return
        self._count += 1
        call = CallId(f"shell-{self._count}")
        transcript, summary = self._context.screen.transcript, f"Running: {one_line(command)}"
        transcript.jump_to_end()
        transcript.add_command(call, summary)
        start = session.end
        view.type(_KILL_LINE + session.screen.input.paste(command) + b"\r")
        output = await self._output(session, start)
        display = Terminal(command, output.text, output.code, output.seconds)
        ok = output.code in (0, None)
        transcript.finish_tool(
            ToolFinished(
                NO_CONVERSATION, call, "shell", summary, ok, "", (display,), output.seconds
            )
        )
        self._offer(command, output)

    async def _output(self, session: "TerminalSession", start: int) -> _Output:
        """The output of the command once it, or its shell, has ended."""
        changed = asyncio.Event()
        stop = session.watch(changed.set)
        try:
            if _MARK not in session.output(0, start).text:
                await session.activity.quiet(silence=_SILENCE, within=_WITHIN)
            else:
                while session.running and not _ended(session, start):
                    changed.clear()
                    await changed.wait()
        finally:
            stop()
        record = _record(session, start)
        if record is None:
            return _Output(clean_output(session.output(start).text), None, 0.0)
        text = clean_output(session.output(record.start, record.end).text)
        return _Output(text, record.exit_code, record.seconds or 0.0)

    def _offer(self, command: str, output: _Output) -> None:
        """Put the output as a chip before the prompt's text, unless that is another command."""
        area = self._context.screen.prompt.area
        if area.text.startswith(("/", "!")):
            self._context.notify_briefly("Alt+O puts its output into the prompt.")
            return
        code = f"(exit {output.code})" if output.code else ""
        text = f"$ {command}\n{output.text.rstrip()}\n{code}"
        chip = area.chip(fenced(text), "output", counted=output.text)
        area.insert(f"{chip} ", (0, 0))


def _ended(session: "TerminalSession", start: int) -> bool:
    record = _record(session, start)
    return record is not None and record.end is not None


def _record(session: "TerminalSession", start: int) -> "CommandRecord | None":
    """The command that began behind an index, as the shell reported it."""
    return next((record for record in session.commands if record.start >= start), None)
