"""``sam-tui hooks``, ``skills``, ``prompts`` and ``bundles``: what others wrote, and what counts of it."""
