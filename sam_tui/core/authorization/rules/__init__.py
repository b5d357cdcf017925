"""Rules of a policy, and the patterns and times that they name."""
