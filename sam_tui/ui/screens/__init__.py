"""Whole screens and the dialogs over them: composition only."""

from pathlib import Path

STYLES = Path(__file__).with_name("screens.tcss")
"""Of all but the screen to work in: read with the first of them, not before the first frame."""
