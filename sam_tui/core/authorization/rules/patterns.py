"""Patterns by which rules name paths, commands and hosts, and what each covers."""

import fnmatch
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Paths: a file or folder with all below it, or a pattern of ``*``, ``?``, ``[…]`` and ``**``.

    ``text`` is as written. ``fixed`` is the absolute part before the first pattern, links resolved;
    ``tail`` the pattern after it. With ``fixed`` empty the pattern is a name at any depth.
    """

    text: str
    fixed: str
    tail: str = ""

    @classmethod
    def of(cls, text: str, *, root: str, home: str) -> "PathPattern":
        """From a rule: ``~/x``, ``/x``, ``sub/x`` (in ``root``), or a name such as ``*.pem``."""
        if not text.strip() or "\0" in text:
            raise ValueError("a path cannot be empty or contain NUL")
        if "/" not in text and text not in ("~", ".", ".."):
            return cls(text, "", text)
        bare = home + text[1:] if text == "~" or text.startswith("~/") else text
        full = os.path.normpath(os.path.join(root, bare))
        parts = full.split("/")
        at = next((i for i, part in enumerate(parts) if _GLOB.search(part)), len(parts))
        fixed = os.path.realpath("/".join(parts[:at]) or "/")
        return cls(text, fixed, "/".join(parts[at:]))

    def covers(self, real: str) -> bool:
        """Whether a real path is one of the named paths or below one."""
        if not self.fixed:
            return any(fnmatch.fnmatchcase(part, self.tail) for part in real.split("/"))
        below = self.fixed if self.fixed.endswith("/") else self.fixed + "/"
        if not self.tail:
            return real == self.fixed or real.startswith(below)
        return real.startswith(below) and _below(
            self.tail.split("/"), real[len(below) :].split("/")
        )

    def within(self, other: "PathPattern") -> bool:
        """Whether everything this names is surely named by ``other``."""
        if self == other:
            return True
        if not other.fixed:
            fixed = self.fixed if self.fixed or _GLOB.search(self.tail) else "/" + self.tail
            return bool(fixed) and other.covers(fixed)
        return bool(self.fixed) and not other.tail and other.covers(self.fixed)


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """Commands that begin with these words; each word may be a pattern, ``**`` is any words.

    With ``exact`` no words may follow.
    """

    words: tuple[str, ...]
    exact: bool = False

    @classmethod
    def of(cls, text: str, *, exact: bool = False) -> "CommandPattern":
        """From a rule; raises ``ValueError`` for text that is not words, or several commands."""
        words = tuple(shlex.split(text))
        if not words:
            raise ValueError("a command cannot be empty")
        if any(word in (";", "&", "&&", "|", "||", ">", "<") for word in words):
            raise ValueError("a rule names one simple command, without operators")
        return cls(words, exact)

    @property
    def text(self) -> str:
        """The pattern as a person would write it."""
        if any(map(_GLOB.search, self.words)):
            return " ".join(self.words)
        return shlex.join(self.words)

    def covers(self, words: Sequence[str]) -> bool:
        """Whether a command's words (the program by its bare name first) are named."""
        return _fits(self.words, words, exact=self.exact)

    def names(self, words: Sequence[str]) -> bool:
        """Tell whether this covers the command, also with a path or options before the words.

        ``git -C x push`` is ``git push``. Rules that deny or ask use this."""
        if not words:
            return False
        name = words[0].rpartition("/")[2]
        return self.covers(words) or any(
            _fits(self.words, (name, *words[start:]), exact=self.exact) for start in _starts(words)
        )

    def within(self, other: "CommandPattern") -> bool:
        """Whether everything this names is surely named by ``other``."""
        if self.words == other.words:
            return self.exact or not other.exact
        if any(map(_GLOB.search, self.words)):
            return False
        return _fits(other.words, self.words, exact=other.exact) and (not other.exact or self.exact)


def host_covered(pattern: str, host: str) -> bool:
    """Whether a rule's host names a host: itself, or with ``*.`` or ``.`` all below it."""
    pattern, host = pattern.lower().rstrip("."), host.lower().rstrip(".")
    if pattern == "*":
        return True
    if pattern.startswith(("*.", ".")):
        return host.endswith(pattern.lstrip("*")) and host != pattern.lstrip("*.")
    return host == pattern


def _fits(pattern: Sequence[str], words: Sequence[str], *, exact: bool) -> bool:
    """Whether words begin with a pattern, or with ``exact`` are it.

    In steps that grow with both lengths alone: a folder that nobody trusts yet may have rules, too.
    """
    ends = {0}
    for head in pattern:
        if head == "**":
            ends = set(range(min(ends), len(words) + 1))
        else:
            ends = {at + 1 for at in ends if at < len(words) and _named(head, words[at])}
        if not ends:
            return False
    return len(words) in ends if exact else True


def _named(head: str, word: str) -> bool:
    return head == word or bool(_GLOB.search(head) and fnmatch.fnmatchcase(word, head))


def _starts(words: Sequence[str]) -> list[int]:
    """Return where the words after a program may begin: at 1, and after each leading option and value."""
    starts, index = [1], 1
    while index < len(words) and words[index].startswith("-"):
        starts += [index + 1, index + 2]
        index += 1 if words[index + 1 : index + 2] and words[index + 1].startswith("-") else 2
    return starts


def _below(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether names match a path pattern or are below a match; a last ``**`` matches only below."""
    if pattern[-1] != "**":
        return _fits(pattern, names, exact=False)
    return _fits(pattern[:-1], names[:-1], exact=False)
