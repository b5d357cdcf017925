"""How each kind of content becomes rows of strips; nothing here knows a widget."""
