"""What a person allowed for a while, and the scopes that a question offers."""
