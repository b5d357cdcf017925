"""The log of model calls in the database."""
