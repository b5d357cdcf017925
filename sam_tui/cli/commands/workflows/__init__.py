"""``sam-tui workflow`` and ``sam-tui plan``."""
