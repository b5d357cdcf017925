"""``sam-tui sessions`` and ``edits``: the stored conversations and their changes."""
