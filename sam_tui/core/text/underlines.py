"""Underlines of other kinds and colours: how they are written, and which terminals draw them."""

import re
from collections.abc import Mapping

KINDS = {"double": "4:2", "curly": "4:3", "dotted": "4:4", "dashed": "4:5"}
"""The parameter of SGR for each attribute of cells that goes with ``underline``."""

_NUMBERED = re.compile(r"\d{1,9}")
_BY_TERM = re.compile(
    r"(?:xterm-)?(?:kitty|ghostty)|foot.*|wezterm|alacritty.*|contour.*|mintty.*|rio|tmux.*"
)
_BY_PROGRAM = (
    (re.compile(r"(?:screen|tmux).*"), re.compile("tmux")),
    (re.compile(r"xterm.*"), re.compile(r"WezTerm|iTerm\.app|ghostty|kitty|vscode|mintty|rio")),
)
"""Patterns of ``TERM`` and ``TERM_PROGRAM``; both must match, as one terminal may have started another."""
_BY_VERSION = {"VTE_VERSION": 5102, "KONSOLE_VERSION": 220400}
"""The first version of a library or terminal with such underlines; its ``TERM`` is that of xterm."""
_CAPABILITIES = ("Su", "Smulx")
"""The terminfo capabilities for them: a flag, and the sequence."""


def codes(
    attributes: frozenset[str], colour: "int | tuple[int, int, int] | None"
) -> tuple[str, ...]:
    """The parameters of SGR for kind and colour of an underline; none for a plain one.

    They follow ``4``: a terminal that knows no such kind draws a plain underline.
    """
    parameters = [KINDS[name] for name in KINDS if name in attributes]
    if isinstance(colour, int):
        parameters.append(f"58:5:{colour}")
    elif colour is not None:
        parameters.append("58:2::{}:{}:{}".format(*colour))
    return tuple(parameters)


def drawn_by(environment: Mapping[str, str]) -> bool:
    """Whether the terminal of an environment draws kinds and colours of underlines.

    Variables are read first, then terminfo. An unknown terminal gets plain underlines.
    """
    term = environment.get("TERM", "")
    program = environment.get("TERM_PROGRAM", "")
    if _BY_TERM.fullmatch(term):
        return True
    if any(names.fullmatch(term) and by.fullmatch(program) for names, by in _BY_PROGRAM):
        return True
    if term.startswith("xterm") and any(
        _number(environment.get(name, "")) >= first for name, first in _BY_VERSION.items()
    ):
        return True
    return bool(term) and _in_terminfo(term)


def _number(text: str) -> int:
    return int(text) if _NUMBERED.fullmatch(text) else 0


def _in_terminfo(term: str) -> bool:
    try:
        import curses
    except ImportError:  # not every Python has it
        return False
    try:
        curses.setupterm(term, 1)
    except curses.error:  # no entry of this name
        return False
    flag, sequence = _CAPABILITIES
    return curses.tigetflag(flag) > 0 or curses.tigetstr(sequence) is not None
