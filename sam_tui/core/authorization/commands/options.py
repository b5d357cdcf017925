"""The words behind a program: its options and their values, operands, and the hosts that these name."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Literal

from sam_tui.core.ports.policy import Word

_ANY = frozenset(("*",))
_HOSTS = re.compile(r"\[[^\[\]]{1,45}\]|[^:,\s+*][^:,\s]*")
"""Hosts and ports in a list with colons, commas or spaces."""
Assignment = tuple[str, Word]
"""A variable of the environment before a command: its name and value."""


def known_words(words: Sequence[Word]) -> bool:
    """Whether every word is known, and none is a pattern that a file called like an option fits."""
    return all(word.static and not (word.pattern and word.text[:1] in "*?[-") for word in words)


def has_flag(text: str, flags: Collection[str]) -> bool:
    """Whether a word is one of the flags: alone, abbreviated, with a value, or among short ones."""
    if text.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 2 and any(
            flag.startswith("--") and flag.startswith(name) for flag in flags
        )
    if text.startswith("-") and len(text) > 1:
        return any(flag == text or (len(flag) == 2 and flag[1] in text[1:]) for flag in flags)
    return False


def operand_path(word: Word) -> Word:
    """The path in ``--file=x``, ``if=x``, ``@x`` and plain words."""
    text = word.text
    if text.startswith("-") or ("=" in text and not text.startswith(("/", "~", "."))):
        _, _, tail = text.partition("=")
        return replace(word, text=tail)
    return replace(word, text=text[1:]) if text[:1] == "@" else word


_PLAIN_SECRETS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials")


def pathlike(word: Word) -> bool:
    """Whether a word looks like the path of a file."""
    text = word.text
    if not text or "://" in text or "\n" in text or len(text) > 4096:
        return False
    return (
        "/" in text
        or text[0] in ".~"
        or text.startswith("$")
        or text.startswith(_PLAIN_SECRETS)
        or text.endswith((".pem", ".key", ".env"))
    )


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a program that do not change its class.

    ``flags`` stand alone, ``valued`` take the rest of their word or the next one for their value. With
    ``*`` among the flags every word is one.
    """

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    _letters: str = field(default="", repr=False)

    @classmethod
    def of(cls, flags: str, valued: str = "") -> "Options":
        """Options from two lists of words."""
        alone = frozenset(flags.split())
        return cls(alone, frozenset(valued.split()), "".join(f[1] for f in alone if len(f) == 2))

    def __or__(self, other: "Options") -> "Options":
        """Both together."""
        both = (" ".join(self.flags | other.flags), " ".join(self.valued | other.valued))
        return Options.of(*both)

    def know(self, words: Sequence[Word]) -> bool:
        """Whether all options among words are known. A word that is not static counts for none."""
        if self.flags >= _ANY:
            return True
        remaining = iter(words)
        for word in remaining:
            text = word.text if word.static else ""
            if text == "--":
                return True
            if not text.startswith("-") or text == "-":
                continue
            takes_next = self._takes_next(text)
            if takes_next is None:
                return False
            if takes_next:
                next(remaining, None)
        return True

    def _takes_next(self, text: str) -> bool | None:
        """Whether an option takes the next word as its value; None for an unknown option."""
        name = text.partition("=")[0]
        if name in self.flags or name in self.valued:
            return text in self.valued and len(text) == 2
        return None if text.startswith("--") else self._cluster(text)

    def _cluster(self, text: str) -> bool | None:
        """Whether short options in one word take the next word; None where one is not known."""
        for at, letter in enumerate(text[1:], 2):
            if f"-{letter}" in self.valued:
                return at == len(text)
            if letter not in self._letters and not letter.isdigit():
                return None
        return False

    def operands(self, words: Sequence[Word]) -> list[Word]:
        """The words that are neither options nor values of known ones; of an unknown option the value in
        the same word, if it may be an address."""
        operands: list[Word] = []
        remaining = iter(words)
        for word in remaining:
            if word.text == "--":
                return [*operands, *remaining]
            if not word.text.startswith("-") or word.text == "-":
                operands.append(word)
            elif (value := self._value(word.text)) is None:
                next(remaining, None)
            elif "." in value or ":" in value:
                operands.append(replace(word, text=value))
        return operands

    def values(self, words: Sequence[Word], names: Collection[str]) -> list[str]:
        """The values of the options ``names``, in the same word or the next; a long name may be cut."""
        texts = [word.text for word in words]
        values = ((self._joined_value(a, names), b) for a, b in pairwise([*texts, ""]))
        return [joined or following for joined, following in values if joined is not None]

    def _joined_value(self, text: str, names: Collection[str]) -> str | None:
        """What a word has behind one of the options; empty for none, None for another word."""
        if text in names:
            return ""
        if text.startswith("--"):
            option, _, value = text.partition("=")
            named = len(option) > 2 and any(name.startswith(option) for name in names)
            return value if named else None
        for at, letter in enumerate(text[1:] if text.startswith("-") else "", 2):
            if f"-{letter}" in names:
                return text[at:]
            if letter not in self._letters:
                break
        return None

    def _value(self, option: str) -> str | None:
        """Return the value in an unknown option's own word; None if a known one takes the next word."""
        name, _, value = option.partition("=")
        if option.startswith("--"):
            return None if option in self.valued else "" if name in self.valued else value
        takes_next = self._cluster(option)
        return None if takes_next else "" if takes_next is False else value or option[2:]


@dataclass(frozen=True, slots=True)
class HostWords:
    """The operands of a program that name a host without a scheme: all, or the first.

    ``within`` finds the names in an operand; what ``skips`` matches is none. The values of the options
    ``named`` and of the ``variables`` are lists of hosts with commas. Those of the options ``mapped`` have
    hosts among ports, as in ``-L 80:a.org:80``, where ``mapping`` matches: in its group. With ``restricts``
    the hosts count for rules that deny or ask alone: who may reach a host may not therefore run what such a
    program runs there.
    """

    words: Literal["all", "first"]
    options: Options
    within: re.Pattern[str]
    skips: re.Pattern[str]
    named: frozenset[str]
    variables: frozenset[str]
    mapped: frozenset[str]
    mapping: re.Pattern[str]
    restricts: bool

    def of(self, words: Sequence[Word], assignments: Sequence[Assignment] = ()) -> list[str]:
        """The texts that name hosts, among the words behind the program and the variables before it."""
        values = [word.text for name, word in assignments if name in self.variables]
        listed = chain(self.options.values(words, self.named), values)
        named = [host for value in listed for host in value.split(",")]
        parts = self._of_operands(self.options.operands(words))
        return [*named, *self._of_mappings(words), *(parts[:1] if self.words == "first" else parts)]

    def _of_mappings(self, words: Sequence[Word]) -> Iterator[str]:
        for match in map(self.mapping.fullmatch, self.options.values(words, self.mapped)):
            if match:
                hosts: list[str] = _HOSTS.findall(match[match.lastindex or 0])
                yield from (host for host in hosts if not host.isdigit())

    def _of_operands(self, operands: Sequence[Word]) -> list[str]:
        parts: list[str] = [p for word in operands for p in self.within.findall(word.text)]
        if self.restricts:
            parts = [host for part in parts for host in part.split(",")]
        return [part for part in parts if not self.skips.fullmatch(part)]
