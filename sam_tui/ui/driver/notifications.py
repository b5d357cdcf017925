"""Notifications by the terminal around: OSC 9, 777 and 99, and which of them a terminal takes."""

import os
import re
from collections.abc import Mapping
from typing import Literal

from sam_tui.ui.driver.sequences import passed_through_tmux
from sam_tui.ui.plain import one_line

Channel = Literal["auto", "bell", "osc9", "osc777", "osc99", "off"]
_BY_VARIABLE: tuple[tuple[str, Channel], ...] = (
    ("KITTY_WINDOW_ID", "osc99"),
    ("GHOSTTY_RESOURCES_DIR", "osc777"),
    ("WEZTERM_PANE", "osc777"),
    ("ITERM_SESSION_ID", "osc9"),
    ("WT_SESSION", "osc9"),
    ("ConEmuPID", "osc9"),
)
"""Variables that terminals set for programs in them; tmux passes them on."""
_BY_NAME: Mapping[str, Channel] = {
    "foot": "osc777",
    "foot-extra": "osc777",
    "rxvt-unicode": "osc777",
    "rxvt-unicode-256color": "osc777",
    "xterm-kitty": "osc99",
    "xterm-ghostty": "osc777",
    "ghostty": "osc777",
    "WezTerm": "osc777",
    "iTerm.app": "osc9",
    "iTerm2": "osc9",
    "mintty": "osc9",
    "kitty": "osc99",
}
"""By ``TERM``, ``TERM_PROGRAM``, ``LC_TERMINAL``, or the terminal's answer to XTVERSION."""
BEHIND_TMUX = "#{client_termtype} #{client_termname}"
"""The format for tmux's answer: the name and ``TERM`` of the terminal around it."""
_NAME = re.compile(r"[^\s(]+")
_LONGEST = 200


def channel_of(environ: Mapping[str, str]) -> Channel:
    """The kind of notification that the terminal around supports; ``bell`` if unknown."""
    for name, channel in _BY_VARIABLE:
        if environ.get(name):
            return channel
    names = (environ.get(name, "") for name in ("LC_TERMINAL", "TERM_PROGRAM", "TERM"))
    known: list[Channel] = [_BY_NAME[name] for name in names if name in _BY_NAME]
    return known[0] if known else "bell"


def channel_behind_tmux(answer: str, environ: Mapping[str, str]) -> Channel:
    """The kind of the terminal around tmux, from tmux's output for ``BEHIND_TMUX``.

    The variables describe the terminal in which tmux was started: they count if its answer is unknown.
    """
    channels: list[Channel] = [_BY_NAME[name] for name in _NAME.findall(answer) if name in _BY_NAME]
    return channels[0] if channels else channel_of(environ)


def notification_sequences(channel: Channel, title: str, body: str) -> list[str]:
    """The sequences that notify, also from within tmux; none for a terminal that only has its bell.

    Neither text can end a sequence or begin a field of its own.
    """
    title, body = (one_line(text, _LONGEST).replace(";", ",") for text in (title, body))
    match channel:
        case "osc9":
            sequences = [f"\x1b]9;{title}: {body}\x07"]
        case "osc777":
            sequences = [f"\x1b]777;notify;{title};{body}\x07"]
        case "osc99":
            sequences = [f"\x1b]99;i=sam:d=0;{title}\x1b\\", f"\x1b]99;i=sam:p=body;{body}\x1b\\"]
        case _:
            return []
    if not os.environ.get("TMUX"):
        return sequences
    return [passed_through_tmux(sequence) for sequence in sequences]
