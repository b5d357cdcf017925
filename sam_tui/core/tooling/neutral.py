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
"""The reminder tag, and what chat templates of models in use put before and after a turn."""
_HINTS = ("<", "[", "\n\n")
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


def mended(data: Any, broken: set[str]) -> Any:
    """Arguments of a call in which what ``neutralise`` broke stands as it was, so that edits fit."""
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
