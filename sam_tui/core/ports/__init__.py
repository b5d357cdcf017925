"""Protocols that the core requires, a module a port. Adapters implement them; tests drive the real ones.

This package imports none of its modules: code that reads files loads ``ports.files`` alone.
"""
