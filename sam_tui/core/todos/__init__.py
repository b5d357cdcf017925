"""Todo lists: an item, the rules of a list, and what a person changes about it."""
