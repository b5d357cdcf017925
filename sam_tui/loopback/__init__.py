"""Serving HTTP to programs of this machine: who may come in, and until when."""
