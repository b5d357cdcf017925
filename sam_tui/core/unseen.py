"""Characters nobody sees: zero width, direction marks, tags. Written out, so that they cannot hide."""

import re
import unicodedata

UNSEEN = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef\U0001d173-\U0001d17a]"
)
_UNSEEN = re.compile(UNSEEN)
_WRITTEN = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")
_JOINERS = "\u200c\u200d"


def show_unseen(text: str, shown: set[str] | None = None) -> tuple[str, int]:
    """``⟨U+202E⟩`` for every unseen character, and how many; those written are added to ``shown``.

    Joiners inside emoji and inside words of scripts that need them are left alone, and so is a byte
    order mark at the very start.
    """
    if text.isascii() or not _UNSEEN.search(text):
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
        if shown is not None:
            shown.add(character)
        return f"⟨U+{ord(character):04X}⟩"

    return _UNSEEN.sub(written, text), count


def shown_again(text: str, shown: set[str]) -> str:
    """The characters themselves, where ``show_unseen`` wrote them out before."""

    def character(match: re.Match[str]) -> str:
        found = chr(int(match[1], 16)) if int(match[1], 16) < 0x110000 else ""
        return found if found in shown else match[0]

    return _WRITTEN.sub(character, text) if "⟨U+" in text else text


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands where scripts and emoji use it."""
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
