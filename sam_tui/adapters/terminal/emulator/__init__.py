"""The terminal emulator: a program's output in, a screen of cells out, and keys encoded for the program."""
