"""Serving HTTP to programs of this machine: access, and the end of serving."""
