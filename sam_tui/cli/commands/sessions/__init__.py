"""``sam-tui sessions`` and ``edits``: the stored conversations and what they changed."""
