"""Text from tools and models, made unable to pass for the host's own words."""

import re

_HOST_TAG = re.compile(r"<(\s*/?\s*system-reminder)", re.IGNORECASE)
_OPENER = re.compile(r"<\s*system-reminder\s*>", re.IGNORECASE)
_CLOSER = re.compile(r"<\s*/\s*system-reminder\s*>\s*", re.IGNORECASE)
_ECHO = re.compile(rf"{_OPENER.pattern}.*?{_CLOSER.pattern}", re.I | re.S)
_STRAY = re.compile(r"<\s*/?\s*system-reminder\s*>", re.IGNORECASE)
_NAME = "system-reminder"
_BEGUN = re.compile(
    r"<\s*(?:/\s*)?(?:" + "|".join(_NAME[:n] for n in range(len(_NAME), 0, -1)) + r")?\s*\Z",
    re.IGNORECASE,
)
_LONGEST_TAG = 80
"""Characters of a tag that is cut between two pieces; more white space than that is no tag."""


def neutralise(text: str) -> str:
    """Text with look-alikes of the reminder tag broken: ``<system-reminder>`` -> ``<\\system-…``."""
    return _HOST_TAG.sub(r"<\\\1", text) if "<" in text else text


def scrub_echoes(text: str) -> str:
    """A model's answer without reminders it repeated: whole ones, then stray tags."""
    while "system-reminder" in text.lower():
        shorter = _STRAY.sub("", _ECHO.sub("", text))
        if shorter == text:
            break
        text = shorter
    return text


class EchoFilter:
    """``scrub_echoes`` for an answer that comes in pieces: what may be a tag waits for its rest."""

    def __init__(self) -> None:
        self._held = ""
        self._after_echo = False

    def __call__(self, piece: str) -> str:
        """What can be shown now of everything that came; often the piece itself."""
        if not self._held and not self._after_echo and "<" not in piece:
            return piece
        text, shown = self._held + piece, list[str]()
        while True:
            if self._after_echo:
                text = text.lstrip()
                self._after_echo = not text
            tag = _STRAY.search(text)
            if tag is None:
                end = len(text) - _begun(text)
                break
            before = text[: tag.start()]
            waiting = _begun(before)
            shown.append(before[: len(before) - waiting])
            head, rest = before[len(before) - waiting :], text[tag.end() :]
            if _OPENER.fullmatch(tag[0]):
                closer = _CLOSER.search(rest)
                if closer is None:
                    # A reminder without its end so far: it may still be an echo.
                    text, end = head + text[tag.start() :], 0
                    break
                rest, self._after_echo = rest[closer.end() :], closer.end() == len(rest)
            text = head + rest
        self._held = text[end:]
        return "".join([*shown, text[:end]])

    def rest(self) -> str:
        """What was held back when the answer ended; it was no echo."""
        held, self._held, self._after_echo = scrub_echoes(self._held), "", False
        return held


def _begun(text: str) -> int:
    """How many characters at the end may be the beginning of a reminder's tag."""
    found = _BEGUN.search(text, max(0, len(text) - _LONGEST_TAG))
    return len(text) - found.start() if found else 0
