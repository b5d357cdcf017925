"""Secrets become stable placeholders on every way to the model and the logs, and values again."""
