"""The reading of commands: a text is parsed, wrappers are taken off, each program is judged."""
