"""Standard output and error of a run, and its end when nobody reads any more."""

import json
import os
import re
from collections.abc import Callable
from typing import Any, TextIO

from sam_tui.core.text.invisible import show_invisible
from sam_tui.core.text.plain import without_sequences
from sam_tui.headless.outcome import Subtype

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters except tab and newline."""

_MODES = {
    "ask": "default",
    "ask-all": "default",
    "accept-edits": "acceptEdits",
    "auto": "dontAsk",
    "bypass": "bypassPermissions",
}
_SUBTYPES: dict[Subtype, str] = {
    "success": "success",
    "error_blocked": "success",
    "error_max_turns": "error_max_turns",
    "error_max_cost": "error_max_budget_usd",
    "error_max_structured_output_retries": "error_max_structured_output_retries",
}
_CODES: dict[Subtype, int] = {
    "success": 0,
    "error_blocked": 0,
    "cancelled": 130,
    "terminated": 143,
}


class HeadlessOutput:
    """Writes to one stream. After a failure it writes nothing more and says so once."""

    def __init__(self, stream: TextIO) -> None:
        self.failure: OSError | None = None
        self._stream = stream
        self._on_failure: Callable[[], None] | None = None
        _wait_when_full(stream)

    def on_failure(self, call: Callable[[], None]) -> None:
        """Whom to tell when the stream breaks."""
        self._on_failure = call

    def line(self, value: dict[str, Any]) -> None:
        """One object on one line, flushed. Plain ASCII, so no reader can split or misread it."""
        self._write(json.dumps(value, separators=(",", ":")) + "\n")

    def text(self, text: str) -> None:
        """Write text and a newline. Nothing in it moves a cursor or changes a mode, also in a pipe: its
        reader may be a pager, or a file that is printed later."""
        self._write(terminal_safe(text) + "\n")

    def _write(self, text: str) -> None:
        if self.failure is not None:
            return
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                encoding = self._stream.encoding or "ascii"
                self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        except OSError as error:
            self.failure = error
            silence(self._stream)
            if self._on_failure is not None:
                self._on_failure()


def claude_code(subtype: Subtype) -> int:
    """The exit code: a run that was refused something and answered ends with 0, a failed one with 1."""
    return _CODES.get(subtype, 1)


def claude_line(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line with Claude Code's field names added, and its values where programs check them."""
    named = {**line, "uuid": _uuid()}
    match line["type"]:
        case "assistant":
            identity = {"id": f"msg_{os.urandom(12).hex()}", "type": "message"}
            named["message"] = {**identity, **line["message"]}
        case "system" if line["subtype"] == "init":
            mode = line["permission_mode"]
            named["permissionMode"] = _MODES.get(mode, mode)
        case "result":
            code = claude_code(line["subtype"])
            subtype = _SUBTYPES.get(line["subtype"], "error_during_execution")
            named |= {"subtype": subtype, "is_error": code != 0, "exit_code": code}
        case _:
            pass
    return named


def _uuid() -> str:
    """A random UUID, without the module that Python has for them: runs start fast."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


class ClaudeOutput(HeadlessOutput):
    """Standard output, each line so."""

    def line(self, value: dict[str, Any]) -> None:
        """Write one object as a line of JSON."""
        super().line(claude_line(value))


def silence(stream: TextIO) -> None:
    """Let the rest of a broken stream go nowhere, so that leaving Python does not complain."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _wait_when_full(stream: TextIO) -> None:
    """A pipe that its maker set to non-blocking would lose lines once it is full."""
    try:
        os.set_blocking(stream.fileno(), True)
    except (OSError, ValueError):
        pass


def terminal_safe(text: str) -> str:
    """Return text from outside that is safe on a terminal. Invisible characters are written out."""
    text = without_sequences(text).replace("\r\n", "\n")
    return show_invisible(_CONTROL.sub("", text))[0]
