"""Control sequences for the terminal around: its clipboard (OSC 52), and its window's title."""

import base64
import os
from collections.abc import Mapping

KEEP_TITLE = "\x1b[22;2t"
"""Has the terminal store its title (XTWINOPS 22) for ``RESTORE_TITLE``."""
RESTORE_TITLE = "\x1b[23;2t"
LARGEST = 75_000
"""The most bytes of a sequence; many terminals cut or drop longer ones."""


def title_sequence(title: str) -> str:
    """The sequence that sets the window's title."""
    return f"\x1b]2;{title}\x07"


def clipboard_sequences(text: str) -> list[str]:
    """Set the system's clipboard, also from within tmux."""
    plain = f"\x1b]52;c;{base64.b64encode(text.encode(errors='replace')).decode()}\a"
    if not os.environ.get("TMUX"):
        return [plain]
    # tmux takes the plain form if it keeps the clipboard itself, and passes the wrapped form on.
    return [plain, passed_through_tmux(plain)]


def passed_through_tmux(sequence: str) -> str:
    """A sequence as tmux hands it to the terminal around it, where ``allow-passthrough`` is on."""
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"


def tmux_question(environment: Mapping[str, str], formats: str) -> tuple[str, ...]:
    """Return the command that prints tmux's knowledge of the terminal around it, in tmux's formats."""
    pane = environment.get("TMUX_PANE")
    target = ("-t", pane) if pane else ()
    return ("tmux", "display-message", "-p", *target, formats)


def copied_words(text: str) -> str:
    """Return a sentence about what was copied."""
    lines = text.count("\n") + 1
    size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
    if len(text.encode(errors="replace")) > LARGEST:
        return f"Copied {size}. Your terminal may not accept that much."
    return f"Copied {size}."
