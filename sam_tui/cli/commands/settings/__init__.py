"""Settings and texts made from the program's tables: config, completion, manual page."""
