"""Classes of commands, and how the words of one are looked through."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from sam_tui.core.ports.policy import Word

CommandClass = Literal["read-only", "workspace-write", "network", "destructive", "privileged"]
COMMAND_CLASSES: tuple[CommandClass, ...] = (
    "read-only",
    "workspace-write",
    "network",
    "destructive",
    "privileged",
)
"""From the lightest to the heaviest."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a program does. ``exact`` says that it touches nothing but the paths it names."""

    classes: frozenset[CommandClass]
    why: str
    exact: bool = True


def traits(kind: CommandClass, why: str, *more: CommandClass, exact: bool = True) -> Traits:
    """Traits of one or more classes."""
    return Traits(frozenset((kind, *more)), why, exact)


def known_words(words: Sequence[Word]) -> bool:
    """Whether every word is known, and none is a pattern that a file called like an option fits."""
    return all(word.static and not (word.pattern and word.text[:1] in "*?[-") for word in words)


def has_flag(text: str, flags: Sequence[str]) -> bool:
    """Whether a word is one of the flags: alone, abbreviated, with a value, or among short ones."""
    if text.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 2 and any(
            flag.startswith("--") and flag.startswith(name) for flag in flags
        )
    if text.startswith("-") and len(text) > 1:
        return any(flag == text or (len(flag) == 2 and flag[1] in text[1:]) for flag in flags)
    return False


def hides_path(texts: Sequence[str]) -> bool:
    """Whether a short option has a path for its value in one word with it: ``-C/etc``."""
    return any(
        text[:1] == "-" and text[1:2] != "-" and any(c in text for c in "/.~") for text in texts
    )


def only_given(words: Sequence[Word], allowed: Collection[str], *, valued: str = "") -> bool:
    """Whether all options among known words are allowed ones. A letter of ``valued`` takes the rest
    of its word, or the next one, for its value."""
    if not known_words(words):
        return False
    letters = {flag[1] for flag in allowed if len(flag) == 2}
    index = 0
    while index < len(words):
        text = words[index].text
        index += 1
        if text == "--":
            return True
        if not text.startswith("-") or text == "-" or text.partition("=")[0] in allowed:
            continue
        if text.startswith("--"):
            return False
        for at, letter in enumerate(text[1:], 2):
            if letter in valued:
                index += at == len(text)
                break
            if letter not in letters and not letter.isdigit():
                return False
    return True
