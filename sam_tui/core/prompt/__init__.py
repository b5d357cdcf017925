"""The input of the model: system prompt, reminders, and the builder of a request."""
