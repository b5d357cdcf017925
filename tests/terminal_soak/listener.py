"""A program that writes every byte it gets to a file, until the byte that ends it; prints meanwhile.

``python listener.py FILE LINES``: as often as something comes it prints so many lines.
"""

import os
import sys
import termios
import tty

END = b"\x04"


def main(path: str, lines: int) -> None:
    """Listen."""
    before = termios.tcgetattr(0)
    tty.setraw(0)
    noise = b"".join(b"noise %d \x1b[3%dmof a line\x1b[m\r\n" % (n, n % 8) for n in range(lines))
    try:
        with open(path, "ab", buffering=0) as log:
            os.write(1, b"\x1b[?2004hto %s: \r\n" % os.fsencode(os.path.basename(path)))
            while data := os.read(0, 65536):
                log.write(data)
                if data.endswith(END):
                    break
                os.write(1, noise)
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)
        os.write(1, b"\x1b[?2004l")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
