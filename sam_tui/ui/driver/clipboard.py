"""The system clipboard, by the terminal around (OSC 52), also from within tmux."""

import base64
import os

LARGEST = 75_000
"""Bytes that terminals commonly take at once; more is cut off by many, or dropped."""


def sequences(text: str) -> list[str]:
    """What to write to the terminal to set its clipboard."""
    plain = f"\x1b]52;c;{base64.b64encode(text.encode(errors='replace')).decode()}\a"
    if not os.environ.get("TMUX"):
        return [plain]
    # tmux takes the plain form where it keeps the clipboard itself, and passes on what is wrapped.
    wrapped = plain.replace("\x1b", "\x1b\x1b")
    return [plain, f"\x1bPtmux;{wrapped}\x1b\\"]


def copied_words(text: str) -> str:
    """What was copied, in words."""
    lines = text.count("\n") + 1
    size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
    if len(text.encode(errors="replace")) > LARGEST:
        return f"Copied {size}. Your terminal may not take so much."
    return f"Copied {size}."
