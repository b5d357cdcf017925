"""Searching folders with ripgrep."""

from sam_tui.adapters.search.ripgrep import RipgrepSearch

__all__ = ["RipgrepSearch"]
