"""Recorded conversations, played again and compared."""
