"""The conversation pane."""

from sam_tui.ui.transcript.render.content import warm_up
from sam_tui.ui.transcript.view import Transcript

__all__ = ["Transcript", "warm_up"]
