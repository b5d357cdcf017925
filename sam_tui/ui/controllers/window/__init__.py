"""What the model's window holds: what the next request is made of, compaction, pins, and calls."""
