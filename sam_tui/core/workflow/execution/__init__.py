"""One execution as it changes: steps, attempts, tokens, guards and failures."""
