"""Keys with Alt as terminals without the kitty protocol send them: an escape before the key.

Textual takes some of them for others (Alt+B for Ctrl+Left, Alt+1 for ``¡``) and loses the Alt of most
that are no letters, so that programs in a terminal would never hear them.
"""

import importlib
import os
import string
import unicodedata
from dataclasses import dataclass
from typing import Any

_OPENERS = frozenset("[]OPX^_\\")
"""What begins a sequence after an escape, and thus is no key."""
ESCAPE_WITHIN = 0.025
"""Seconds for which an escape may be the start of more, unless ``$ESCDELAY`` (milliseconds) is set."""
_NAMED = {
    "\x7f": "backspace",
    "\r": "enter",
    "\t": "tab",
    " ": "space",
    "-": "minus",
    "+": "plus",
} | {
    "@": "at",
    "/": "slash",
}


@dataclass(frozen=True, slots=True)
class _Key:
    """A key as the parser's table holds it."""

    value: str


def _name(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if character.isalnum():
        return character
    return unicodedata.name(character).lower().replace(" ", "_").replace("-", "_")


def with_alt() -> dict[str, str]:
    """What is sent for a key with Alt, and what it is called."""
    plain = [c for c in string.punctuation + string.digits if c not in _OPENERS]
    names = {f"\x1b{c}": f"alt+{_name(c)}" for c in (*plain, *_NAMED)}
    for letter in string.ascii_lowercase:
        names[f"\x1b{letter}"] = f"alt+{letter}"
        if letter.upper() not in _OPENERS:
            names[f"\x1b{letter.upper()}"] = f"alt+shift+{letter}"
        # Tab and Enter are the control characters of these, and mean themselves.
        if letter not in "imj":
            names[f"\x1b{chr(ord(letter) & 0x1F)}"] = f"alt+ctrl+{letter}"
    return names


def tell_alt() -> None:
    """Let the parser of keys tell them."""
    if not os.environ.get("ESCDELAY"):
        constants: Any = importlib.import_module("textual.constants")
        constants.ESCAPE_DELAY = ESCAPE_WITHIN
    table: Any = importlib.import_module("textual._ansi_sequences").ANSI_SEQUENCES_KEYS
    for sequence, name in with_alt().items():
        table[sequence] = (_Key(name),)
