"""``sam-tui hooks``, ``skills``, ``prompts`` and ``bundles``: extensions, and whether each is in use."""
