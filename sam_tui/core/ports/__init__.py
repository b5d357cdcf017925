"""What the core asks of the outside, a module a port. Adapters implement these; tests drive the real ones.

Nothing is gathered here: whoever reads files loads ``ports.files`` and none of the others.
"""
