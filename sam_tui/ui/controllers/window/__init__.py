"""The model's context window: the content of the next request, compaction, pins, and past model calls."""
