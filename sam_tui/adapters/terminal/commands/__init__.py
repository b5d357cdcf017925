"""Shell commands that run to their end, beside the conversation, or with a pipe for each stream."""
