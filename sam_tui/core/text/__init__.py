"""Text from outside: what it hides, how wide and how deep it is, what it agrees to."""
