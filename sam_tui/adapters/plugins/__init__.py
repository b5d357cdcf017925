"""Tools and reminders that other packages add, found by their entry points."""

from sam_tui.adapters.plugins.discovery import Plugins, discover

__all__ = ["Plugins", "discover"]
