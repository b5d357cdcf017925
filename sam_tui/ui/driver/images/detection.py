"""Finds out from a terminal's answers about itself which image protocol it has."""

import re
from collections.abc import Mapping

from sam_tui.ui.driver.images.marks import Protocol

ASK_TERMINAL = "\x1b[>q\x1b[c"
"""Asks for a terminal's name (XTVERSION), which many do not report, and attributes (DA1), which all do."""
BEHIND_TMUX = "#{client_termtype} #{allow-passthrough}"
"""The format for tmux's answer: the terminal around it, and whether it passes sequences through."""
_SIXEL = "4"
_KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
_PASSES = ("on", "all", "1", "2")
_FIRST_KITTY = (0, 28)
"""The first version of kitty that draws images over cells."""


def answers_safely(environment: Mapping[str, str]) -> bool:
    """Whether the terminal can be asked: some print parts of a question that they do not know."""
    if environment.get("TMUX") or environment.get("STY"):
        return False  # tmux and screen would answer for themselves
    programs = environment.get("TERM_PROGRAM"), environment.get("TERM")
    return not {"Apple_Terminal", "linux", "dumb"}.intersection(programs)


def protocol_of(name: str, attributes: frozenset[str]) -> Protocol | None:
    """Return how a terminal of this name and with these attributes takes images; None if it does not."""
    if version := _KITTY.match(name):
        return "kitty" if (int(version[1]), int(version[2])) >= _FIRST_KITTY else None
    if name.startswith("ghostty"):
        return "kitty"
    if name.startswith(("iTerm2", "WezTerm")):
        return "iterm"
    return "sixel" if _SIXEL in attributes else None


def protocol_behind_tmux(answer: str) -> Protocol | None:
    """The protocol of the terminal around tmux, from tmux's output for ``BEHIND_TMUX``."""
    name, _, passes = answer.strip().rpartition(" ")
    kitty = passes in _PASSES and protocol_of(name, frozenset()) == "kitty"
    return "kitty" if kitty else None
