"""The source of the prompt: the argument, standard input, or both, without waiting for nothing.

Standard input is read to its end only if the prompt is ``-``, there is no prompt, it is a regular
file, or it was forced. Beside a prompt, a pipe gets half a second to say something: an inherited
pipe that nobody writes to or closes is then left alone, with a warning.
"""

import os
import select
import stat
from dataclasses import dataclass

from sam_tui.core.errors import UsageError

LARGEST = 10 * 1024 * 1024
"""The most bytes of standard input; more is refused."""
PROBE_SECONDS = 0.5
_PIECE = 65536
_HINT = 'For example: sam-tui run "explain this project", or: git diff | sam-tui run "review this"'


@dataclass(frozen=True, slots=True)
class PromptInput:
    """The text to run, and notes for the person about where it came from."""

    text: str
    warnings: tuple[str, ...] = ()


def _has_input(descriptor: int, probe: float) -> bool:
    """Whether it is a file, or says something before ``probe`` seconds are over."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode) or _says_something(descriptor, probe)


def read_prompt(
    argument: str | None,
    descriptor: int | None,
    *,
    forced: bool = False,
    probe: float = PROBE_SECONDS,
) -> PromptInput:
    """The prompt. ``descriptor`` is standard input's, or None when it is closed.

    ``forced`` waits for the end of any standard input. Raises ``UsageError`` when there is no prompt,
    or more than 10 MB of it.
    """
    if argument is None or argument == "-":
        if descriptor is None or (argument is None and os.isatty(descriptor)):
            raise UsageError("There is no prompt.", hint=_HINT)
        text = _worded(read_input(descriptor))
        return PromptInput(text, _odd(text))
    _worded(argument)
    if descriptor is None:
        return PromptInput(argument)
    if not forced:
        if os.isatty(descriptor):
            return PromptInput(argument)
        if not _has_input(descriptor, probe):
            warning = (
                f"Standard input is open but sent nothing for {probe:g} s, so it was not read. "
                "Use --stdin to wait for it, or </dev/null to avoid this warning."
            )
            return PromptInput(argument, (warning,))
    attached = read_input(descriptor)
    if not attached.strip():
        return PromptInput(argument)
    return PromptInput(f"{argument}\n\n<stdin>\n{attached.rstrip()}\n</stdin>", _odd(attached))


def _odd(text: str) -> tuple[str, ...]:
    """A warning about input that is not text."""
    if "\0" not in text and "\ufffd" not in text:
        return ()
    return ("Standard input is not valid UTF-8: the model reads U+FFFD in place of invalid bytes.",)


def _worded(text: str) -> str:
    if not text.strip():
        raise UsageError("The prompt is empty.", hint=_HINT)
    return text


def _says_something(descriptor: int, seconds: float) -> bool:
    """Whether a byte or the end comes within the time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(seconds * 1000))


def read_input(descriptor: int) -> str:
    """All of it as text; bytes that are no UTF-8 are replaced."""
    pieces: list[bytes] = []
    size = 0
    while piece := _read(descriptor):
        size += len(piece)
        if size > LARGEST:
            raise UsageError(
                "Standard input is larger than 10 MB.",
                hint="Put it in a file of the workspace and name the file in the prompt.",
            )
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8-sig", "replace")


def _read(descriptor: int) -> bytes:
    """The next piece. A descriptor left in non-blocking mode by its owner is waited for."""
    while True:
        try:
            return os.read(descriptor, _PIECE)
        except BlockingIOError:
            select.select([descriptor], [], [])
        except OSError as error:
            raise UsageError(f"Standard input could not be read: {error.strerror}.") from error
