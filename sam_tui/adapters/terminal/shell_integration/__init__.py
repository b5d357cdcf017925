"""Start files that make a shell mark its prompts and commands, and the record of commands."""
