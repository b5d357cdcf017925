"""Records what tmux sends for keys, as data for a test: ``python scripts/record_keys.py FILE``.

Each key of ``keys`` goes to a program that asked for nothing, and to one that asked for modifyOtherKeys 2.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

TMUX_NAMES = {
    **{"up": "Up", "down": "Down", "left": "Left", "right": "Right", "home": "Home", "end": "End"},
    **{"pageup": "PgUp", "pagedown": "PgDn", "insert": "IC", "delete": "DC", "tab": "Tab"},
    **{"enter": "Enter", "escape": "Escape", "backspace": "BSpace", "space": "Space"},
    **{"left_square_bracket": "[", "right_square_bracket": "]", "backslash": "\\"},
    **{"circumflex_accent": "^", "underscore": "_", "slash": "/", "full_stop": ".", "comma": ","},
    **{"minus": "-", "plus": "+", "question_mark": "?"},
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
PREFIXES = {"ctrl": "C-", "alt": "M-", "shift": "S-"}
READER = """
import os, sys, tty
out, meeting, asked = sys.argv[1:]
tty.setraw(0)
os.write(1, asked.encode().decode("unicode_escape").encode() + b"\\x1b[6n")
os.read(0, 4096)  # the answer: what was asked for holds
open(meeting, "w").close()
with open(out, "wb", buffering=0) as file:
    while not (data := os.read(0, 4096)).endswith(b"END"):
        file.write(data)
    file.write(data)
open(meeting, "w").close()
"""
MODES = {"legacy": "", "other": "\\x1b[>4;2m"}


def keys() -> list[str]:
    """120 keys by Textual's names."""
    named = [name for name in TMUX_NAMES if len(name) > 1 and TMUX_NAMES[name].isalnum()]
    held = ("ctrl", "shift", "alt", "ctrl+shift")
    moved = ("up", "left", "home", "pageup", "delete", "f1", "f5")
    found = [*named, *(f"{mods}+{name}" for name in moved for mods in held)]
    found += [f"ctrl+{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    signs = [name for name, sign in TMUX_NAMES.items() if len(sign) == 1 and not sign.isalnum()]
    found += [f"alt+{name}" for name in (*signs, "a", "z", "1", "9", "shift+a", "enter", "tab")]
    found += [f"alt+{name}" for name in ("backspace", "space")]
    found += [f"alt+ctrl+{letter}" for letter in "aehz"]
    other = (
        "space",
        "right_square_bracket",
        "backslash",
        "circumflex_accent",
        "underscore",
        "slash",
    )
    return [
        *found,
        "shift+tab",
        *(f"ctrl+{name}" for name in other),
        *"a1x9",
        "plus",
        "minus",
        "comma",
        "question_mark",
    ]


def tmux_name(key: str) -> str:
    """What tmux calls a key."""
    if key == "shift+tab":
        return "BTab"
    *held, name = key.split("+")
    if "shift" in held and len(name) == 1:
        held.remove("shift")
        name = name.upper()
    return "".join(PREFIXES[one] for one in held) + TMUX_NAMES.get(name, name)


def record(mode: str, wanted: Sequence[str]) -> dict[str, str]:
    """What a program in a mode gets for each key, in hexadecimal."""
    folder = Path(tempfile.mkdtemp())
    server = [shutil.which("tmux") or "tmux", "-S", str(folder / "socket"), "-f", os.devnull]

    def tmux(*words: str) -> str:
        return subprocess.run([*server, *words], check=True, capture_output=True, text=True).stdout

    os.mkfifo(folder / "meeting")
    program = [sys.executable, "-c", READER, *(str(folder / x) for x in ("out", "meeting"))]
    try:
        tmux("new-session", "-d", "-x", "80", "-y", "24", "sleep 1000")
        tmux("set", "-s", "extended-keys", "on")
        tmux("respawn-pane", "-k", *program, MODES[mode])
        (folder / "meeting").read_bytes()
        pressed = (
            ("send-keys", tmux_name(key), ";", "send-keys", "-l", "|", ";") for key in wanted
        )
        tmux(*[word for words in pressed for word in words][:-1])
        tmux("send-keys", "-l", "END")
        (folder / "meeting").read_bytes()
        data = (folder / "out").read_bytes()
    finally:
        subprocess.run([*server, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(folder)
    return {key: sent.hex() for key, sent in zip(wanted, data.split(b"|"), strict=False)}


def version() -> str:
    """Which tmux that is."""
    words = [shutil.which("tmux") or "tmux", "-V"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]


def main() -> None:
    """Write the file."""
    recorded = {"tmux": version()} | {mode: record(mode, keys()) for mode in MODES}
    Path(sys.argv[1]).write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
