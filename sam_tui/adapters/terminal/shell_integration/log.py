"""The commands that a session's shell reported: records, the prompt, and the present folder."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from sam_tui.adapters.terminal.shell_integration.marks import Mark
from sam_tui.core.ports.processes.terminals import CommandRecord, SessionOutput

_KEPT_RECORDS = 200
_NUMBERED = re.compile(r"\s*(\d+)\*?\s{1,2}(.*)", re.DOTALL)
_EDIT = re.compile(
    r"\x1b(?:\[([0-9]*)([@PKDC])|\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])|."
)
_LONGEST_ECHO = 8192
_COMPLETED = re.compile(r"(?:\x1b\[[0-9;]*m)*[^\s\x1b]{0,8}(?:\x1b\[[0-9;]*m)* +\r \r\Z")
"""The end that zsh adds to an incomplete last line: a mark, spaces to the edge, and back."""


@dataclass(slots=True)
class _Running:
    """The command that runs now, and when it began, in seconds of the log's clock."""

    record: CommandRecord
    began: float | None


class ShellLog:
    """Turns a shell's marks into command records. ``trusted`` says whether there were any marks.

    bash reports the last line of its history, which lacks commands that are not stored there; those are
    read from the terminal's echo, through ``printed``. zsh completes an unfinished last line before it
    reports the end; that is no output of the command.
    """

    def __init__(
        self,
        printed: Callable[[int, int], SessionOutput],
        clock: Callable[[], float],
        *,
        shell: str,
    ) -> None:
        self.trusted = self.integrated = False
        """Whether the last mark is valid; whether there was any."""
        self.past = False
        """Whether the output being read was printed earlier, so that its times are unknown."""
        self.directory = ""
        self._printed = printed
        self._clock = clock
        self._shell = shell
        self._records: deque[CommandRecord] = deque(maxlen=_KEPT_RECORDS)
        self._running: _Running | None = None
        self._prompt_end = 0
        self._number = -1
        self._numbered_text = ""

    @property
    def at_prompt(self) -> bool:
        """Whether no command runs, according to the shell's marks."""
        return self.trusted and self._running is None

    @property
    def records(self) -> tuple[CommandRecord, ...]:
        """The newest commands, oldest first; a running one is the last."""
        running = () if self._running is None else (self._running.record,)
        return (*self._records, *running)

    def marked(self, mark: Mark, index: int) -> None:
        """Process a mark from the output at ``index``."""
        if mark.kind == "L":
            self.lost(index)
            return
        self.trusted = self.integrated = True
        if mark.kind == "B":
            self._prompt_end = index
        elif mark.kind == "C":
            self.began(self._command(mark.text, index), index)
        else:
            self._finish(index, mark.code)
            self.directory = mark.text

    def began(self, command: str, index: int) -> None:
        """A command starts, with its output at ``index``."""
        began = None if self.past else self._clock()
        self._running = _Running(CommandRecord(command, self.directory, index), began)

    def lost(self, index: int) -> None:
        """Marks were lost: until the next one, the state of the shell is unknown."""
        self._finish(index, None)
        self.trusted, self.directory = False, ""

    def ended(self, index: int, code: int | None) -> None:
        """The shell ended, and with it the running command."""
        self._finish(index, code)

    def _finish(self, index: int, code: int | None) -> None:
        running, self._running = self._running, None
        if running is not None:
            timed = running.began is not None and not self.past
            seconds = self._clock() - (running.began or 0.0) if timed else None
            if self._shell == "zsh":
                tail = self._printed(max(running.record.start, index - _LONGEST_ECHO), index).text
                index -= len(tail) - len(_COMPLETED.sub("", tail))
            self._records.append(
                replace(running.record, end=index, exit_code=code, seconds=seconds)
            )

    def _command(self, text: str, index: int) -> str:
        if self._shell != "bash":
            return text.strip("\n")
        match = _NUMBERED.fullmatch(text)
        number = int(match[1]) if match else -1
        if match and number != self._number:
            self._number, self._numbered_text = number, match[2].rstrip("\n")
            return self._numbered_text
        start = max(self._prompt_end, index - _LONGEST_ECHO)
        return _typed(self._printed(start, index).text)


def told_command(text: str) -> str:
    """The command that a shell reported, without the number that bash puts before it."""
    match = _NUMBERED.fullmatch(text)
    return (match[2] if match else text).strip("\n")


def _typed(echoed: str) -> str:
    """Return the line that a terminal's echo shows, with the line editor's moves and changes applied."""
    lines: list[str] = []
    for line in echoed.replace("\r\n", "\n").split("\n"):
        cells: list[str] = []
        at = 0
        for match in _EDIT.finditer(line):
            sequence, count, final = match[0], int(match[1] or 1), match[2]
            if final:
                at = _edited(cells, at, count, final)
            elif sequence == "\r":
                at = 0
            elif sequence == "\b":
                at = max(0, at - 1)
            elif sequence >= " " and len(sequence) == 1:
                cells[at : at + 1] = sequence
                at += 1
        lines.append("".join(cells))
    return "\n".join(lines).strip()


def _edited(cells: list[str], at: int, count: int, final: str) -> int:
    """Apply a control sequence to a line; returns the new position of the cursor."""
    match final:
        case "@":
            cells[at:at] = " " * count
        case "P":
            del cells[at : at + count]
        case "K":
            del cells[at:]
        case "D":
            return max(0, at - count)
        case "C":
            return min(len(cells), at + count)
        case _:
            pass
    return at
