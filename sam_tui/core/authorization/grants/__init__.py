"""Temporary permissions of a person, and the scopes that a question offers."""
