"""Whole screens and the dialogs over them: composition only."""

from pathlib import Path

STYLES = Path(__file__).with_name("screens.tcss")
"""The styles of all screens but the main one; loaded with the first of these, which saves time at the
start."""
