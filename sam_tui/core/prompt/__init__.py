"""What the model reads: system prompt, reminders, and the builder of a request."""
