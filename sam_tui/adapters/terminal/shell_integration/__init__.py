"""What a shell is started with so that it tells its prompts and commands, and the record of them."""
