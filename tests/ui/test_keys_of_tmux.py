"""Keys of a plain terminal reach programs as tmux sends them (``scripts/record_keys.py`` recorded it)."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from textual import constants, events

from sam_tui.adapters.terminal.screen import EmulatedScreen
from sam_tui.core.ports.screens import KeyPress
from sam_tui.ui import keyboard
from sam_tui.ui.incoming import KeyParser

RECORDED: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "terminal/keys_of_tmux.json").read_text()
)
ASKED = {"legacy": b"", "other": b"\x1b[>4;2m"}
OTHERWISE = {
    # Programs are told of xterm-256color, whose Home and End these are; tmux tells of a screen.
    ("legacy", "home"): b"\x1b[H",
    ("legacy", "end"): b"\x1b[F",
    ("other", "home"): b"\x1b[H",
    ("other", "end"): b"\x1b[F",
    ("other", "shift+tab"): b"\x1b[27;2;9~",  # as xterm does
}
"""What is sent otherwise, and why."""


@pytest.mark.requirement("ui:terminal-alt")
@pytest.mark.parametrize("mode", ASKED)
def test_120_keys_reach_programs_as_tmux_sends_them(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard.tell_alt()
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.0)
    screen = EmulatedScreen(80, 24)
    screen.feed(ASKED[mode])
    plain, wanted = RECORDED["legacy"], RECORDED[mode]
    assert len(wanted) == 120
    several = Counter(plain.values())
    wrong: dict[str, tuple[bytes, bytes]] = {}
    for key, sent in plain.items():
        if mode == "other" and several[sent] > 1:
            continue  # a plain terminal does not tell which of them it was
        parser = KeyParser()
        told = [*parser.feed(bytes.fromhex(sent).decode()), *parser.tick()]
        made = b"".join(
            screen.encode_key(KeyPress(event.key, event.character))
            for event in told
            if isinstance(event, events.Key)
        )
        right = OTHERWISE.get((mode, key), bytes.fromhex(wanted[key]))
        if right not in (made, as_csi_u(made)):
            wrong[key] = (right, made)
    assert not wrong


def as_csi_u(data: bytes) -> bytes:
    """A key in xterm's form of modifyOtherKeys in the other, which tmux uses."""
    found = re.fullmatch(rb"\x1b\[27;(\d+);(\d+)~", data)
    return b"\x1b[%s;%su" % (found[2], found[1]) if found else data
