"""What the terminal around answers to the question what it is, and which images it takes."""

import re
from collections.abc import Callable, Mapping

from textual.message import Message

from sam_tui.ui.driver.images.marks import Protocol

ASK_TERMINAL = "\x1b[>q\x1b[c"
"""For its name (XTVERSION), which many do not tell, and its attributes (DA1), which all do."""
_ANSWER = re.compile(r"\x1bP>\|([^\x07\x1b]{0,99})(?:\x07|\x1b\\)|\x1b\[\?([0-9;]{1,99})c")
_BEGUN = re.compile(r"\x1b(?:P>\|[^\x07\x1b]{0,99}\x1b?|\[\?[0-9;]{0,99}|P>?|\[)\Z")
_SHORT = 3
"""Characters of the start of an answer that may be keys as well."""
_SIXEL = "4"
_KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
_PASSES = ("on", "all", "1", "2")
_FIRST_KITTY = (0, 28)
"""The first to draw images over cells."""


class TerminalTold(Message):
    """The terminal reported its name, empty where it did not, and its attributes."""

    def __init__(self, name: str, attributes: frozenset[str]) -> None:
        super().__init__()
        self.name = name
        self.attributes = attributes


class TerminalAnswers:
    """Takes the answers out of the input, also late ones: they are no keys."""

    def __init__(self, pass_on: Callable[[Message], None]) -> None:
        self._pass_on = pass_on
        self._partial = ""
        self._name = ""
        self.expected = False
        """Whether the terminal was asked, so that the start of an answer waits for its rest."""

    def without(self, text: str) -> str:
        """The rest of a piece of input."""
        text, self._partial = self._partial + text, ""
        if not self.expected or "\x1b" not in text:
            return text
        text = _ANSWER.sub(self._answer, text)
        if begun := _BEGUN.search(text):
            self._partial, text = begun[0], text[: begun.start()]
        return text

    def overdue(self) -> str:
        """What waited, but has turned out to be keys as nothing followed."""
        if not 0 < len(self._partial) <= _SHORT:
            return ""
        keys, self._partial = self._partial, ""
        return keys

    def _answer(self, match: re.Match[str]) -> str:
        if match[2] is None:
            self._name = match[1]
        else:
            self._pass_on(TerminalTold(self._name, frozenset(match[2].split(";"))))
        return ""


def answers_safely(environment: Mapping[str, str]) -> bool:
    """Whether a terminal may be asked: some write parts of what they do not know."""
    if environment.get("TMUX") or environment.get("STY"):
        return False  # these would answer for themselves
    programs = environment.get("TERM_PROGRAM"), environment.get("TERM")
    return not {"Apple_Terminal", "linux", "dumb"}.intersection(programs)


def protocol_of(name: str, attributes: frozenset[str]) -> Protocol | None:
    """How a terminal of this name and with these attributes takes images."""
    if version := _KITTY.match(name):
        return "kitty" if (int(version[1]), int(version[2])) >= _FIRST_KITTY else None
    if name.startswith("ghostty"):
        return "kitty"
    if name.startswith(("iTerm2", "WezTerm")):
        return "iterm"
    return "sixel" if _SIXEL in attributes else None


def tmux_question(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The command that tells the terminal around tmux, and whether tmux passes on what is wrapped."""
    pane = environment.get("TMUX_PANE")
    target = ("-t", pane) if pane else ()
    return ("tmux", "display-message", "-p", *target, "#{client_termtype} #{allow-passthrough}")


def protocol_behind_tmux(told: str) -> Protocol | None:
    """The same of the terminal around tmux, by what ``tmux_question`` prints."""
    name, _, passes = told.strip().rpartition(" ")
    kitty = passes in _PASSES and protocol_of(name, frozenset()) == "kitty"
    return "kitty" if kitty else None
