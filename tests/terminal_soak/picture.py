"""A program that fills its terminal with cells of all kinds, anew at each size, until a key.

``python picture.py FILE SEED WORD``: FILE holds the size and what is printed, which has WORD in it.
"""

import os
import random
import signal
import sys
import termios
import tty

_SIGNS = ("plain", "Grüße", "日本語", "🙂", "e\u0301", "─┼╮", "a b", "कि", "x" * 30)
_STYLES = (
    "",
    "1",
    "2",
    "3",
    "4",
    "7",
    "9",
    "31",
    "44",
    "38;5;200",
    "48;2;9;80;7",
    "1;38;2;250;9;9",
)


def main(path: str, seed: str, word: str) -> None:
    """Draw, and wait."""
    before = termios.tcgetattr(0)
    tty.setraw(0)
    signal.signal(signal.SIGWINCH, lambda _number, _frame: _draw(path, seed, word))
    try:
        _draw(path, seed, word)
        os.read(0, 1)
    finally:
        signal.signal(signal.SIGWINCH, signal.SIG_IGN)
        os.write(1, b"\x1bc")
        termios.tcsetattr(0, termios.TCSANOW, before)


def _draw(path: str, seed: str, word: str) -> None:
    """Print the whole picture and say what was printed, whole or not at all."""
    columns, rows = os.get_terminal_size(1)
    chance = random.Random(f"{seed} {columns} {rows}")
    parts = ["\x1bc\x1b[?25l"]
    for row in range(1, rows + 1):
        parts.append(f"\x1b[{row};{chance.randrange(1, columns)}H\x1b[m")
        parts += [
            f"\x1b[0;{chance.choice(_STYLES)}m{chance.choice(_SIGNS)}"
            for _ in range(chance.randrange(4))
        ]
    parts.append(f"\x1b[m\x1b[{rows};1H\x1b[2K{word} drawn")
    text = "\x1b[?7l".join(parts).encode()
    with open(f"{path}.new", "wb") as file:
        file.write(b"%d %d\n" % (columns, rows) + text)
    os.replace(f"{path}.new", path)
    view = memoryview(text)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    main(*sys.argv[1:])
