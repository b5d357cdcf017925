"""Rendering of each kind of content as rows of strips; nothing here knows a widget."""
