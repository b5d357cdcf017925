"""The code of a workspace: its index, its symbols, its checkers, and edits that can be undone."""
