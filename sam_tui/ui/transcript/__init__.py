"""The conversation pane."""

from sam_tui.ui.transcript.view import Transcript

__all__ = ["Transcript"]
