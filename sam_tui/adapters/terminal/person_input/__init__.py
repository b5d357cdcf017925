"""A person's input to a session: turns with the agent, the typed text, and its redaction."""
