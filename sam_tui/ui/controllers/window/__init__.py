"""The model's context window: what the next request contains, compaction, pins, and past model calls."""
