"""Documents of many formats: read into text, written from Markdown."""

from sam_tui.adapters.documents.local import LocalDocuments

__all__ = ["LocalDocuments"]
