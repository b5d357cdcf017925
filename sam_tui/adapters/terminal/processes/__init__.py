"""Starting processes, their groups, their environment, and what they print."""
