"""Confinement of one command or session: its sandbox, its limits, and the accesses denied to it."""
