"""What a person types into a session: whose turn it is, the text of it, and its redaction."""
