"""The conversation pane. The first block imports the code that draws blocks: the first frame has none."""

from sam_tui.ui.transcript.view import Transcript

__all__ = ["Transcript"]
