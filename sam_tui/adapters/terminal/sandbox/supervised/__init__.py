"""One supervised run: what it may do, what it made, and what can be seen of its processes."""
