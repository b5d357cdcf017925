"""Accesses, grants and modes -> allow, ask or deny."""
