"""A terminal as a widget: its screen, keys, mouse, scrollback and tabs."""
