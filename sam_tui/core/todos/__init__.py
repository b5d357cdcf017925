"""Todo lists: an item, the rules of a list, and a person's changes."""
