"""One shell on one PTY: its output in pieces, and whether a program waits for input."""
