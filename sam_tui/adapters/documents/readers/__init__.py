"""Readers of each format, which return Markdown or plain text, bounded and without hidden text."""
