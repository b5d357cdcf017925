"""Markdown blocks written as documents of each format."""
