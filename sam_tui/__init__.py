"""sam-tui: a terminal agent workbench. This module holds the version and imports nothing."""

__version__ = "0.1.0"
