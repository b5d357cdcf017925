"""Keys reach programs as tmux sends them (``scripts/record_keys.py`` recorded it), or by kitty's protocol.

tmux 3.3 does not speak that protocol, so its specification is asked instead:
https://sw.kovidgoyal.net/kitty/keyboard-protocol/ (progressive enhancement 1, functional key definitions).
"""

import json
import re
import runpy
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from textual import constants, events

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.ports.processes.screens import KeyPress
from sam_tui.ui.driver.keys import KeyParser, name_alt_keys, pressed

ROOT = Path(__file__).parents[2]
RECORDED: dict[str, dict[str, str]] = json.loads(
    (ROOT / "tests/terminal/keys_of_tmux.json").read_text()
)
VERSION = str(RECORDED["tmux"])
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
    name_alt_keys()
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
        made = passed_on(bytes.fromhex(sent), screen)
        right = OTHERWISE.get((mode, key), bytes.fromhex(wanted[key]))
        if right not in (made, as_csi_u(made)):
            wrong[key] = (right, made)
    assert not wrong


def passed_on(data: bytes, screen: EmulatedScreen) -> bytes:
    """What a program gets for what the terminal around sends."""
    parser = KeyParser()
    told = map(pressed, [*parser.feed(data.decode()), *parser.tick()])
    keys = (event for event in told if isinstance(event, events.Key))
    return b"".join(screen.input.key(KeyPress(key.key, key.character)) for key in keys)


def installed() -> str:
    """Which tmux there is, if any."""
    found = shutil.which("tmux")
    if found is None:
        return ""
    told = subprocess.run([found, "-V"], capture_output=True, text=True, check=True)
    return told.stdout.split()[1]


@pytest.mark.requirement("ui:terminal-alt")
@pytest.mark.parametrize("mode", ASKED)
def test_what_is_recorded_is_what_tmux_sends(mode: str) -> None:
    if installed() != VERSION:
        pytest.skip(f"tmux {VERSION} is not installed")
    script = runpy.run_path(str(ROOT / "scripts/record_keys.py"))
    assert script["record"](mode, script["keys"]()) == RECORDED[mode]


LETTERS = dict(zip(("up", "down", "right", "left", "home", "end"), "ABCDHF", strict=True)) | {
    **{"f1": "P", "f2": "Q", "f4": "S"}
}
TILDES = {"insert": 2, "delete": 3, "pageup": 5, "pagedown": 6, "f3": 13, "f5": 15, "f6": 17} | {
    **{"f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24}
}
CODES = {"escape": 27, "enter": 13, "tab": 9, "backspace": 127, "space": 32}
PLAIN = {"enter": b"\r", "tab": b"\t", "backspace": b"\x7f", "space": b" "}
SIGNS = {"left_square_bracket": "[", "right_square_bracket": "]", "backslash": "\\"} | {
    **{"slash": "/", "full_stop": ".", "comma": ",", "minus": "-"},
}
SHIFTED = {"circumflex_accent": "6", "underscore": "-", "plus": "=", "question_mark": "/"}
"""Signs that lie behind shift, and the key they are on."""
HELD = {"shift": 1, "alt": 2, "ctrl": 4}


def in_kitty(key: str) -> bytes:
    """A key as a terminal with kitty's protocol sends it to a program that asked to disambiguate."""
    *held, name = key.split("+")
    mods = sum(HELD[one] for one in held)
    if name in SHIFTED:
        mods, code = mods | HELD["shift"], ord(SHIFTED[name])
    else:
        code = CODES.get(name) or (
            ord(SIGNS.get(name, name)) if name in SIGNS or len(name) == 1 else 0
        )
    number = f"1;{mods + 1}" if mods else ""
    if name in LETTERS:
        return f"\x1b[{number}{LETTERS[name]}".encode()
    if name in TILDES:
        return f"\x1b[{TILDES[name]}{number[1:]}~".encode()
    if not mods and name in PLAIN:
        return PLAIN[name]
    if not mods & ~HELD["shift"] and name not in CODES:
        return {"plus": b"+", "question_mark": b"?"}.get(name, chr(code).encode())
    return f"\x1b[{code}{number[1:]}u".encode()


def in_xterm(key: str) -> bytes:
    """A character with Alt in xterm's modifyOtherKeys 2; nothing for other keys."""
    found = re.fullmatch(rb"\x1b\[(\d+);([34])u", in_kitty(key))
    if found is None:
        return b""
    code, held = int(found[1]), int(found[2])
    capital = held - 1 & HELD["shift"] and chr(code).isalpha()
    return b"\x1b[27;%d;%d~" % (held, ord(chr(code).upper()) if capital else code)


@pytest.mark.requirement("ui:terminal-alt")
@pytest.mark.parametrize("mode", [*ASKED, "kitty"])
def test_120_keys_of_a_terminal_with_kittys_protocol_reach_programs(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_alt_keys()
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.0)
    screen = EmulatedScreen(80, 24)
    screen.feed(ASKED.get(mode, b"\x1b[>1u"))
    wrong: dict[str, tuple[bytes, bytes]] = {}
    for key in RECORDED["legacy"]:
        came = in_kitty(key)
        right = came if mode == "kitty" else bytes.fromhex(RECORDED[mode][key])
        right = OTHERWISE.get((mode, key), right)
        if mode == "other":
            # Nothing has two meanings here: programs get what xterm sends, tmux has Alt as an escape.
            right = {"ctrl+slash": b"\x1f"}.get(key, in_xterm(key) or right)
        elif mode == "legacy" and key.startswith("alt+") and key[4:] in SHIFTED:
            # What shift makes of a key the terminal around does not tell: it depends on the layout.
            right = b"\x1b" + SHIFTED[key[4:]].encode()
        made = passed_on(came, screen)
        if right not in (made, as_csi_u(made)):
            wrong[key] = (right, made)
    assert not wrong


SENT = [f"{number}~" for number in (25, 26, 28, 29, 31, 32, 33, 34)] + ["1;2R", "1;5R", "1;8R"]
"""F13 to F20, which consoles send for F1 to F8 with Shift, and F3 with modifiers."""


@pytest.mark.requirement("ui:terminal-alt")
@pytest.mark.parametrize("sent", SENT)
def test_a_numbered_key_is_no_character_and_f3_with_a_modifier_no_place(
    sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_alt_keys()
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.0)
    screen = EmulatedScreen(80, 24)
    assert passed_on(f"\x1b[{sent}".encode(), screen) == f"\x1b[{sent}".encode()
    assert passed_on(b"\x1b[9~\x1b[27~\x1b[35;2~\x1b[99~\x1b[5;9R", screen) == b""
    screen.feed(b"\x1b[>1u")
    held = sent.removeprefix("1;").rstrip("~R")
    wanted = f"13;{held}~" if sent.endswith("R") else f"{57376 + SENT.index(sent)}u"
    assert passed_on(f"\x1b[{sent}".encode(), screen) == f"\x1b[{wanted}".encode()


def as_csi_u(data: bytes) -> bytes:
    """A key in xterm's form of modifyOtherKeys in the other, which tmux uses."""
    found = re.fullmatch(rb"\x1b\[27;(\d+);(\d+)~", data)
    return b"\x1b[%s;%su" % (found[2], found[1]) if found else data
