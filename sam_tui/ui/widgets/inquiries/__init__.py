"""Questions in place of the prompt."""
