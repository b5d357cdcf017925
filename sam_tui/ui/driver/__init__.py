"""The surrounding terminal: reading its keys, and writing to it."""
