"""Terminal sessions: a shell, what it printed and ran, and the turns of its agent and its person."""
