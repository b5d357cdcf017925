"""Terminal sessions: a shell, its output and commands, and the turns of agent and person."""
