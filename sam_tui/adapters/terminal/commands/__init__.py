"""Shell commands: in the foreground to their end, in the background, or with a pipe for each stream."""
