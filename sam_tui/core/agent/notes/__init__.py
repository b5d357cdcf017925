"""A model's notes on messages that leave its context: asked for, read, prepared, planned by hand."""
