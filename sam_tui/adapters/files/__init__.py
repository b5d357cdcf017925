"""Files on this machine, reached component by component so that no link is ever followed."""

from sam_tui.adapters.files.local import LocalFiles

__all__ = ["LocalFiles"]
