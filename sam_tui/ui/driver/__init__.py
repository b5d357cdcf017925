"""The terminal around the workbench: the keys that it sends, and what is written to it."""
