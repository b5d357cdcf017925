"""One shell on one pseudo-terminal, how its output is read, and whether it waits for input."""
