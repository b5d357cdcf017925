"""Recordings of terminal sessions: written, kept, drawn and played."""
