"""One supervised run: its permissions, its processes, and the places that it writes to."""
