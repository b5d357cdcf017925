"""A model's own notes on what leaves its context: asked for, read, prepared, and planned by hand."""
