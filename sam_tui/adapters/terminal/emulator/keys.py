"""Converts Textual's key names to the input of a key encoder."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

SHIFT, CTRL, ALT, SUPER = 1, 2, 4, 8

_MODIFIERS = {"shift": SHIFT, "ctrl": CTRL, "alt": ALT, "meta": ALT, "super": SUPER}

_NAMED = {
    "up": "ARROW_UP",
    "down": "ARROW_DOWN",
    "left": "ARROW_LEFT",
    "right": "ARROW_RIGHT",
    "home": "HOME",
    "end": "END",
    "pageup": "PAGE_UP",
    "pagedown": "PAGE_DOWN",
    "insert": "INSERT",
    "delete": "DELETE",
    "tab": "TAB",
    "backtab": "TAB",
    "enter": "ENTER",
    "return": "ENTER",
    "escape": "ESCAPE",
    "backspace": "BACKSPACE",
    **{f"f{n}": f"F{n}" for n in range(1, 25)},
}

# Textual's own names where they are not the Unicode name in lower case.
_CHARACTERS = {
    "space": " ",
    "at": "@",
    "minus": "-",
    "plus": "+",
    "slash": "/",
    "backslash": "\\",
    "underscore": "_",
    "hyphen_minus": "-",
    "less_than_sign": "<",
    "greater_than_sign": ">",
}

_PUNCTUATION = {
    "`": "BACKQUOTE",
    "\\": "BACKSLASH",
    "[": "BRACKET_LEFT",
    "]": "BRACKET_RIGHT",
    ",": "COMMA",
    "=": "EQUAL",
    "-": "MINUS",
    ".": "PERIOD",
    "'": "QUOTE",
    ";": "SEMICOLON",
    "/": "SLASH",
    " ": "SPACE",
}

# The keys of shifted characters on the layout that key codes are named after.
_SHIFTED = dict(zip('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./", strict=True))


@dataclass(frozen=True, slots=True)
class Stroke:
    """One key press: ``code`` completes ``GHOSTTY_KEY_``; ``text`` is the text it types, or empty.

    ``unshifted`` is the codepoint of the key without modifiers (0 unknown), ``consumed`` the
    modifiers that went into ``text``.
    """

    code: str
    modifiers: int
    text: str
    unshifted: int
    consumed: int


@lru_cache(maxsize=512)
def stroke(key: str, character: str | None) -> Stroke | None:
    """The stroke behind a Textual key name such as ``ctrl+shift+up`` and its character, if known."""
    name, modifiers = _split(key)
    if key == "backtab":
        modifiers |= SHIFT
    if name in _NAMED:
        return Stroke(_NAMED[name], modifiers, "", 0, 0)
    typed = _character(name, character)
    if typed is None:
        return None
    if modifiers & CTRL and typed == "@":
        typed = " "  # the NUL byte reads as ctrl+@, and the key that makes it is ctrl+space
    return _typing(typed, modifiers)


def _split(key: str) -> tuple[str, int]:
    """The bare name and the modifiers of a key."""
    *modifier_names, name = key.split("+") if len(key) > 1 else [key]
    modifiers = 0
    for modifier in modifier_names:
        modifiers |= _MODIFIERS.get(modifier, 0)
    return name, modifiers


def _character(name: str, character: str | None) -> str | None:
    """The character of a key, by its name or by the text that came with it."""
    if len(name) == 1:
        return name
    if name in _CHARACTERS:
        return _CHARACTERS[name]
    try:
        return unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return character if character and character.isprintable() else None


def _typing(typed: str, modifiers: int) -> Stroke:
    base = _SHIFTED.get(typed, typed.lower() if typed.isascii() else typed)
    consumed = 0
    if base != typed:
        modifiers |= SHIFT
    elif modifiers & SHIFT and typed.isascii() and typed.isalpha():
        typed = typed.upper()
    if modifiers & SHIFT and base != typed:
        consumed = SHIFT
    text = "" if modifiers & (CTRL | SUPER) else typed
    return Stroke(_code(base), modifiers, text, ord(base) if len(base) == 1 else 0, consumed)


def _code(base: str) -> str:
    if len(base) == 1 and base.isascii():
        if base.isalpha():
            return base.upper()
        if base.isdigit():
            return f"DIGIT_{base}"
    return _PUNCTUATION.get(base, "UNIDENTIFIED")


def control_byte(key_stroke: Stroke) -> bytes:
    """The ASCII control character that ctrl makes of a key (ECMA-48: bits 6 and 7 cleared), if any.

    For strokes an encoder has nothing for, because its protocol tells them from enter, tab, escape.
    """
    if not key_stroke.modifiers & CTRL or key_stroke.modifiers & SUPER or not key_stroke.unshifted:
        return b""
    shifted = next((s for s, base in _SHIFTED.items() if ord(base) == key_stroke.unshifted), "")
    character = shifted if key_stroke.modifiers & SHIFT and shifted else chr(key_stroke.unshifted)
    if not "@" <= character.upper() <= "_":
        return b""
    control = bytes([ord(character.upper()) & 0x1F])
    return b"\x1b" + control if key_stroke.modifiers & ALT else control
