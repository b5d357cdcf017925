"""Whole screens and the dialogs over them: composition only."""

from pathlib import Path

STYLES = Path(__file__).with_name("screens.tcss")
"""The styles of all screens but the main one, loaded with the first of these to save time at the start."""
