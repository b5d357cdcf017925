"""What the core asks of the outside, a module a port. Adapters implement these; tests drive the real ones.

This package imports none of its modules: code that reads files loads ``ports.files`` alone.
"""
