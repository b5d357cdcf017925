"""Starting processes, their groups, their environment, and their output."""
