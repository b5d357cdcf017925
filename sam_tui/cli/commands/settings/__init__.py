"""Settings and what is written from the tables of the program: config, completion, manual page."""
