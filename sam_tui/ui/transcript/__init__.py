"""The conversation pane. What draws its blocks is imported with the first block: no first frame has one."""

from sam_tui.ui.transcript.view import Transcript

__all__ = ["Transcript"]
