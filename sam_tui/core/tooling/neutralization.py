"""Text from tools and models, made unable to pass for the host's own words."""

import re
from typing import Any, cast

_ROLES = (
    "im_start|im_end|im_sep|system|user|assistant|tool|developer|start_header_id|end_header_id|eot_id"
    "|eom_id|begin_of_text|end_of_text|endoftext|endofprompt|start|end|channel|message|return|call"
    "|constrain|startoftext|pad"
)
_LOOK_ALIKE = re.compile(
    rf"<(?P<tag>\s*/?\s*system-reminder)|<(?P<token>\|(?:{_ROLES})\|>)|<(?P<llama><SYS>>|</SYS>>)"
    r"|\[(?P<inst>/?INST\])|<(?P<turn>(?:start|end)_of_turn>)"
    r"|(?<=\n\n)(?P<role>Human|Assistant)(?=:)",
    re.IGNORECASE,
)
"""The reminder tag, and the marks that chat templates of present models put around a turn."""
_HINTS = ("<", "[", "\n\n")
_OPENER = re.compile(r"<\s*system-reminder\s*>", re.IGNORECASE)
_CLOSER = re.compile(r"<\s*/\s*system-reminder\s*>\s*", re.IGNORECASE)
_STRAY = re.compile(r"<\s*/?\s*system-reminder\s*>", re.IGNORECASE)
_NAME = "system-reminder"
_BEGUN = re.compile(
    r"<\s*(?:/\s*)?(?:" + "|".join(_NAME[:n] for n in range(len(_NAME), 0, -1)) + r")?\s*\Z",
    re.IGNORECASE,
)
_LONGEST_TAG = 80
"""The most characters of a tag that is split over two pieces, white space included."""
_MOST_LAYERS = 32
"""How often the rest is searched for tags that the removal of others has formed."""
_SLICE = 4096
"""The characters that are searched at once, because the cost of a tag grows with the text after it."""


def neutralise(text: str, broken: set[str] | None = None) -> str:
    """Text with every look-alike of a reminder or of a turn broken: ``<system-reminder>`` becomes
    ``<\\system-reminder>``, ``<|im_start|>`` becomes ``<\\|im_start|>``. Broken forms are added to
    ``broken``, for ``mended``.
    """
    if not any(hint in text for hint in _HINTS):
        return text

    def spoil(match: re.Match[str]) -> str:
        whole = match[0]
        form = f"{whole}\\" if match["role"] else f"{whole[0]}\\{whole[1:]}"
        if broken is not None:
            broken.add(form)
        return form

    return _LOOK_ALIKE.sub(spoil, text)


def mended(data: object, broken: set[str]) -> Any:
    """Arguments with the changes of ``neutralise`` undone, so that edits match the file."""
    if not broken:
        return data
    if isinstance(data, str):
        for form in broken if "\\" in data else ():
            data = data.replace(form, form.replace("\\", "", 1))
        return data
    if isinstance(data, list):
        return [mended(item, broken) for item in cast("list[Any]", data)]
    if isinstance(data, dict):
        items = cast("dict[Any, Any]", data).items()
        return {key: mended(value, broken) for key, value in items}
    return data


def scrub_echoes(text: str) -> str:
    """A model's answer without reminders it repeated: whole ones, then stray tags."""
    for _ in range(_MOST_LAYERS):
        if _NAME not in text.lower():
            return text
        shorter = _STRAY.sub("", _without_echoes(text))
        if shorter == text:
            return text
        text = shorter
    return re.sub(_NAME, _NAME.replace("-", "_"), text, flags=re.IGNORECASE)


def _without_echoes(text: str) -> str:
    parts: list[str] = []
    done = 0
    while opener := _OPENER.search(text, done):
        closer = _CLOSER.search(text, opener.end())
        if closer is None:
            break
        parts.append(text[done : opener.start()])
        done = closer.end()
    return "".join([*parts, text[done:]])


class EchoFilter:
    """``scrub_echoes`` for an answer that comes in pieces: what may be a tag waits for its rest."""

    def __init__(self) -> None:
        self._held = ""
        self._after_echo = False
        self._reminder: list[str] = []
        """The pieces of a reminder whose end has not come yet, which may be an echo."""
        self._seam = ""
        """The last characters of that reminder, in which its end may begin."""

    def __call__(self, piece: str) -> str:
        """Return the text that can be shown now; often the piece itself."""
        if not self._held and not self._after_echo and not self._reminder and "<" not in piece:
            return piece
        slices = range(0, len(piece), _SLICE)
        return "".join(self._next(piece[start : start + _SLICE]) for start in slices)

    def _next(self, piece: str) -> str:
        if self._reminder:
            piece = self._after_reminder(piece)
            if self._reminder:
                return ""
        text, visible = self._held + piece, list[str]()
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
            visible.append(before[: len(before) - waiting])
            head, tail = before[len(before) - waiting :], text[tag.end() :]
            if _OPENER.fullmatch(tag[0]):
                self._reminder = [tag[0]]
                tail = self._after_reminder(tail)
                if self._reminder:
                    text, end = head, 0
                    break
            text = head + tail
        self._held = text[end:]
        return "".join([*visible, text[:end]])

    def remainder(self) -> str:
        """Return the text that was held back at the end of the answer; it was no echo."""
        remainder = scrub_echoes("".join((self._held, *self._reminder)))
        self._held, self._after_echo, self._seam = "", False, ""
        self._reminder.clear()
        return remainder

    def _after_reminder(self, piece: str) -> str:
        """Return the text after the end of the reminder; empty until that came."""
        self._reminder.append(piece)
        near = self._seam + piece
        closer = _CLOSER.search(near)
        if closer is None:
            self._seam = near[-_LONGEST_TAG:]
            return ""
        self._reminder, self._seam = [], ""
        self._after_echo = closer.end() == len(near)
        return near[closer.end() :]


def _begun(text: str) -> int:
    """Return how many characters at the end may be the beginning of a reminder's tag."""
    match = _BEGUN.search(text, max(0, len(text) - _LONGEST_TAG))
    return len(text) - match.start() if match else 0
