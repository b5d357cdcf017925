"""Invisible characters: zero width, direction marks, tags. Written out, so that they cannot hide."""

import json
import re
import unicodedata

INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef\U0001d173-\U0001d17a]"
)
_INVISIBLE = re.compile(INVISIBLE)
_NOT_IN_JSON = re.compile(rf"[\x7f-\x9f]|{INVISIBLE}")
_LABEL = re.compile(r"[^\s/.:@?&=]+")
_LOOKALIKES = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0501\u04bb\u051b\u051d\u04cf"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0405\u0406\u0408"
    "\u03bf\u03bd\u03c1\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0578\u057d\u0585"
)
"""Cyrillic, Greek and Armenian letters that look like Latin ones."""
_WRITTEN = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")
_JOINERS = "\u200c\u200d"


def show_invisible(text: str, seen: set[str] | None = None) -> tuple[str, int]:
    """``⟨U+202E⟩`` for every invisible character, and their number; those written are added to ``seen``.

    Joiners inside emoji and inside words of scripts that need them are left alone, and so is a byte
    order mark at the very start.
    """
    if text.isascii() or not _INVISIBLE.search(text):
        return text, 0
    count = 0

    def written(match: re.Match[str]) -> str:
        nonlocal count
        character = match[0]
        if character in _JOINERS and _joins(text, match.start()):
            return character
        if character == "\ufeff" and match.start() == 0:
            return character
        count += 1
        if seen is not None:
            seen.add(character)
        return f"⟨U+{ord(character):04X}⟩"

    return _INVISIBLE.sub(written, text), count


def shown_again(text: str, seen: set[str]) -> str:
    """The characters themselves, where ``show_invisible`` wrote them out before."""

    def character(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16)) if int(match[1], 16) < 0x110000 else ""
        return character if character in seen else match[0]

    return _WRITTEN.sub(character, text) if "⟨U+" in text else text


def json_visible(text: str) -> str:
    """JSON that means the same, without control and invisible characters: those are escapes."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _NOT_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _joins(text: str, at: int) -> bool:
    """Whether a joiner is at a position where scripts and emoji use it."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or not after:
        return False
    return all(_joinable(character) for character in (before, after))


def _joinable(character: str) -> bool:
    code = ord(character)
    if (
        code in (0xFE0F, 0x2640, 0x2642, 0x2695, 0x2696, 0x2708, 0x2764)
        or 0x1F000 <= code <= 0x1FAFF
    ):
        return True
    return 0x0590 <= code <= 0x1BFF and unicodedata.category(character)[0] in "LM"


def foreign_letters(text: str) -> tuple[str, ...]:
    """Letters of another script in the names of a path or host that look Latin, each in words.

    A name that is wholly in another script looks like what it is, and counts as harmless.
    """
    names: dict[str, None] = {}
    for match in () if text.isascii() else _LABEL.finditer(text):
        letters = [letter for letter in match[0] if letter.isalpha()]
        foreign = [c for c in letters if not unicodedata.name(c, "LATIN").startswith("LATIN")]
        mixed = len(foreign) < len(letters)
        if foreign and (mixed or _LOOKALIKES.issuperset(foreign)):
            for letter in foreign:
                words = f"{letter} in {match[0]} is {unicodedata.name(letter).lower()}"
                names[f"{words} (U+{ord(letter):04X})"] = None
    return tuple(names)
